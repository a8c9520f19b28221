#include "daemon/control/daemon_view.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "daemon/drivers/announcer.h"
#include "platform/confinement.h"
#include "tempo_version.h"

namespace tempo::daemon {
namespace {

std::string hex_id(HostId host) {
  return host == kNoHost ? "" : fmt::format("{:016x}", std::to_underlying(host));
}

double microseconds(Nanos span) { return static_cast<double>(span.count()) * 1e-3; }

void add_keys(const DaemonView& view, obs::Snapshot& shot) {
  const auth::Keyring& keys = view.identity->keys;
  shot.authenticated = !keys.accepts_unsealed();
  shot.keys = static_cast<std::uint32_t>(keys.size());
  shot.sealing_key = auth::key_name_of(keys.sealing_id());
  shot.keys_since_s = std::chrono::duration<double>(view.now - view.keys_since).count();
  if (!keys.rotates()) return;
  shot.opening_key = auth::key_name_of(keys.other_id());
  shot.key_change = keys.lines().back().role == auth::KeyRole::seal ? "promoted" : "added";
}

// The name of the other key that a member opens; empty: there is none.
std::string other_key_name(const auth::Keyring& keys, wire::ShortKey other) {
  if (other == wire::kNoOtherKey) return "";
  for (const std::uint32_t id : {keys.sealing_id(), keys.other_id(), 0U})
    if (wire::short_key(wire::KeyId{id}) == other) return auth::key_name_of(id);
  return fmt::format("{:04x}", std::to_underlying(other));
}

void add_keys_of(const DaemonView& view, const wire::Directory::Host& host,
                 obs::MemberView& shown) {
  const auth::Keyring& keys = view.identity->keys;
  const bool self = host.node == view.codec->self();
  shown.seals = auth::key_name_of(self ? keys.sealing_id() : std::to_underlying(host.key));
  shown.opens.push_back(shown.seals);
  const std::string other = !self            ? other_key_name(keys, host.other_key)
                            : keys.rotates() ? auth::key_name_of(keys.other_id())
                                             : "";
  if (!other.empty()) shown.opens.push_back(other);
}

void add_host(const DaemonView& view, obs::Snapshot& shot) {
  const DaemonIdentity& identity = *view.identity;
  shot.version = kTempoVersion;
  shot.name = identity.name;
  shot.id = id_text(*view.codec, view.codec->self());
  shot.cluster = identity.settings.cluster;
  shot.pid = static_cast<std::uint32_t>(::getpid());
  shot.uptime_s = std::chrono::duration<double>(view.now - view.started).count();
  shot.profile = identity.settings.profile;
  add_keys(view, shot);
  shot.may_lead = identity.settings.may_lead && !view.duplicate_id;
  static const sys::Confinement confinement = sys::confinement_in_force();  // final in a worker
  shot.user = confinement.user;
  shot.capabilities = confinement.capabilities;
  shot.system_call_filter = confinement.filter;
  shot.locks = view.locks;
  if (std::string warning = key_warning(identity.keys); !warning.empty())
    shot.warnings.push_back(std::move(warning));
  if (view.duplicate_id)
    shot.warnings.push_back(fmt::format(
        "another machine has the same id, {}: neither leads or votes on locks; give one of them "
        "another machine id and restart tempod",
        shot.id));
  for (const std::string& warning : view.lock_warnings) shot.warnings.push_back(warning);
  if (!view.clock_error.empty()) shot.warnings.push_back(view.clock_error);
  for (const std::string& warning : view.utc_warnings) shot.warnings.push_back(warning);
  if (!view.disk_error.empty())
    shot.warnings.push_back(fmt::format("cannot save the state: {}", view.disk_error));
  if (!view.incompatible_peer.empty()) shot.warnings.push_back(view.incompatible_peer);
  if (std::string crowded = crowding_warning(view.codec->directory(), view.now); !crowded.empty())
    shot.warnings.push_back(std::move(crowded));
  if (!view.links->errors().empty())
    shot.warnings.push_back(fmt::format("cannot use a network: {}", view.links->errors()));
}

void add_clock(const DaemonView& view, obs::Snapshot& shot) {
  const node::Sync& sync = view.node->sync();
  const node::Reading reading = sync.reading(view.now);
  shot.clock = clock_name(view.identity->settings.clock);
  shot.status = node::name_of(reading.status);
  shot.time_ns = reading.time.time_since_epoch().count();
  shot.earliest_ns = reading.earliest.time_since_epoch().count();
  shot.latest_ns = reading.latest.time_since_epoch().count();
  shot.offset_us = microseconds(sync.error(view.now).value_or(Nanos{0}));
  shot.rate_ppm = sync.steered_clock().rate() * 1e6;
  shot.timescale_generation = sync.timescale_generation();
  shot.exchanges = sync.exchanges();
  shot.reference = name_of_node(*view.codec, sync.reference());
  if (const auto utc = sync.utc_bound(view.now)) shot.utc_bound_us = microseconds(*utc);
  if (const auto& members = view.agreed->members; members.size() > 1)
    shot.view_members = static_cast<std::uint32_t>(members.size());
  if (const auto parts = sync.bound_parts(view.now)) {
    shot.bound_age_s = std::chrono::duration<double>(parts->age).count();
    shot.bound_round_trip_us = microseconds(parts->round_trip);
    shot.bound_drift_us = microseconds(parts->drift);
    shot.bound_reference_us = microseconds(parts->reference);
    shot.bound_other_us = microseconds(parts->other);
  }
}

void add_networks(const DaemonView& view, obs::Snapshot& shot) {
  const wire::Codec& codec = *view.codec;
  for (std::uint8_t i = 0; i < view.links->count(); ++i) {
    const election::MasterElection* election = view.node->network(i);
    if (election == nullptr) continue;
    obs::NetworkView network;
    network.name = view.links->label(i);
    network.state = state_name(election->state());
    network.master = name_of_node(codec, election->master());
    network.master_id = id_text(codec, election->master());
    network.epoch_round = election->followed().round;
    network.listed = static_cast<std::uint32_t>(election->list().size());
    network.heir = name_of_node(codec, election->heir());
    network.root = name_of_node(codec, view.node->path().root);
    network.hops = view.node->path().hops;
    network.kernel_stamps = view.links->kernel_stamps(i);
    network.hardware_stamps = view.links->card_stamps(i);
    shot.networks.push_back(std::move(network));
  }
}

// The master of the network that the clock follows, else of the first network.
NodeId master_of(const node::Node& node) {
  const election::MasterElection* election =
      node.network(node.upstream() == node::kNoNetwork ? 0 : node.upstream());
  return election == nullptr ? kNobody : election->master();
}

double seconds(Nanos span) { return std::chrono::duration<double>(span).count(); }

void add_settings(const wire::AnnouncementBody& body, obs::MemberView& shown) {
  shown.version = body.version.text();
  shown.profile = body.profile.text();
  shown.timers = fmt::format("{:08x}", body.timers);
  shown.expect = body.expect;
  shown.lease_ms = body.lease_ms;
  shown.lease_max_ms = body.longest_lease_ms;
}

// What a member announces of itself.
void add_announced(const DaemonView& view, const announce::Announcements::Member& member,
                   obs::MemberView& shown) {
  const wire::AnnouncementBody& body = member.says;
  add_settings(body, shown);
  shown.status = body.status.text();
  shown.uptime_s = body.uptime_s;
  shown.hears = body.up_members;
  if (body.leads) shown.role = state_name(election::State::master);
  if (body.bound_ns != 0) {
    shown.offset_us = static_cast<double>(body.offset_ns) * 1e-3;
    shown.bound_us = static_cast<double>(body.bound_ns) * 1e-3;
  }
  if (const auto since = announce::Announcements::misses_us(view.now, member))
    shown.misses_this_host_s = seconds(view.now - *since);
}

void add_self(const DaemonView& view, const obs::Snapshot& shot, obs::MemberView& shown) {
  add_settings(announced_settings(view.identity->settings), shown);
  shown.state = announce::name_of(announce::State::up);
  shown.status = shot.status;
  shown.uptime_s = shot.uptime_s;
  if (!shot.networks.empty()) shown.role = shot.networks.front().state;
  shown.bound_us = shot.bound_us();
  if (shown.bound_us) shown.offset_us = shot.offset_us;
}

void add_members(const DaemonView& view, obs::Snapshot& shot) {
  const wire::Codec& codec = *view.codec;
  const NodeId master = master_of(*view.node);
  codec.directory().for_each([&](const wire::Directory::Host& host) {
    const bool self = host.node == codec.self();
    if (!self && !host.heard) return;
    obs::MemberView shown;
    shown.name = name_of_node(codec, host.node);
    shown.id = id_text(codec, host.node);
    shown.self = self;
    shown.role = state_name(host.node == master ? election::State::master : election::State::slave);
    shown.address = view.links->address_of(host.node);
    shown.revision = host.revision;
    add_keys_of(view, host, shown);
    const announce::Announcements::Member* const member = view.announcements->find(host.id);
    if (self) {
      add_self(view, shot, shown);
    } else {
      shown.heard_ago_s = seconds(view.now - host.last_heard);
      shown.state =
          announce::name_of(announce::Announcements::state_of(view.now, member, host.last_heard));
    }
    if (member != nullptr) add_announced(view, *member, shown);
    if (const node::Sync::Member* of_clock = view.node->sync().members().find(host.node)) {
      shown.faulty = of_clock->faulty;
      shown.rate_ppm = static_cast<double>(of_clock->rate_ppt) * 1e-6;
      shown.sigma_us = microseconds(of_clock->sigma);
      shown.bound_us = microseconds(of_clock->bound);
      shown.offset_us = microseconds(of_clock->error);
    }
    shot.members.push_back(std::move(shown));
  });
  // Members that only others know.
  for (const auto& [host, mentioned] : view.announcements->mentioned()) {
    const wire::Directory::Host* const known = codec.directory().find(host);
    const bool silent = view.now - mentioned.heard > announce::Announcements::kSilentAfter;
    if ((known != nullptr && known->heard) || (!silent && !mentioned.stopped) ||
        view.now >= mentioned.expires)
      continue;
    obs::MemberView& shown = shot.members.emplace_back();
    shown.name = mentioned.name.text();
    shown.id = hex_id(host);
    shown.state =
        announce::name_of(mentioned.stopped ? announce::State::stopped : announce::State::silent);
    shown.heard_ago_s = seconds(view.now - mentioned.heard);
    shown.only_mentioned = true;
  }
}

void add_counters(const DaemonView& view, obs::Snapshot& shot) {
  const wire::Codec& codec = *view.codec;
  shot.counters["datagrams_accepted"] = codec.accepted();
  shot.counters["datagrams_sent"] = codec.sent();
  shot.counters["hosts_known"] = codec.directory().size();
  shot.counters["hosts_evicted"] = codec.directory().evicted();
  shot.counters["messages_without_address"] = view.unsent;
  shot.counters["stalls"] = view.stalls;
  shot.counters["reelect_honoured"] = view.reelect_honoured;
  shot.counters["reelect_refused"] = view.reelect_refused;
  shot.counters["joined"] = view.joined;
  shot.counters["joins_refused"] = view.joins_refused;
  shot.counters["locks_requested"] = view.lock_counts.requested;
  shot.counters["locks_granted"] = view.lock_counts.granted;
  shot.counters["locks_lost"] = view.lock_counts.lost;
  shot.counters["locks_refused"] = view.lock_counts.refused;
  for (std::size_t i = 0; i < view.lock_counts.refused_for.size(); ++i)
    shot.counters[fmt::format("locks_refused_{}", locks::name_of(static_cast<locks::Refusal>(i)))] =
        view.lock_counts.refused_for[i];
  view.lock_counts.waits.add_to(shot.counters);
  for (const auto& [event, count] : view.events)
    shot.counters[fmt::format("event_{}", event)] = count;
  const sys::Losses losses = view.links->losses();
  shot.counters["datagrams_too_long"] = losses.too_long;
  for (const auto& [error, count] : losses.unsent) {
    const char* const name = strerrorname_np(error);
    shot.counters[fmt::format("not_sent_{}", name == nullptr ? "unknown" : name)] += count;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(wire::DropReason::count); ++i) {
    const auto reason = static_cast<wire::DropReason>(i);
    shot.counters[fmt::format("refused_{}", wire::name_of(reason))] = codec.refused(reason);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(wire::Error::count); ++i) {
    const auto error = static_cast<wire::Error>(i);
    shot.counters[fmt::format("malformed_{}", wire::name_of(error))] = codec.malformed(error);
  }
}

void add_groups(const DaemonView& view, obs::Snapshot& shot) {
  for (const groups::Known& group : view.groups)
    shot.groups.push_back({.name = group.name,
                           .leader = name_of_host(*view.codec, group.leader),
                           .term = fmt::format("{}", std::to_underlying(group.term)),
                           .here = group.here,
                           .state = std::string(group.state),
                           .criterion = std::string(groups::name_of(group.terms.criterion)),
                           .algorithm = std::string(groups::name_of(group.terms.algorithm)),
                           .held = std::string(group.held ? groups::name_of(*group.held) : ""),
                           .candidates = static_cast<std::uint32_t>(group.candidates.size()) +
                                         (group.stands ? 1U : 0U)});
}

}  // namespace

obs::Snapshot make_snapshot(const DaemonView& view) {
  obs::Snapshot shot;
  add_host(view, shot);
  add_clock(view, shot);
  add_networks(view, shot);
  add_members(view, shot);
  if (std::string warning = lease_warning(shot.members); !warning.empty())
    shot.warnings.push_back(std::move(warning));
  add_groups(view, shot);
  add_counters(view, shot);
  return shot;
}

std::string key_warning(const auth::Keyring& keys) {
  if (!keys.accepts_unsealed()) return "";
  if (keys.empty())
    return "no key: any machine on the network can become master; create a key with 'tempo keygen'";
  if (keys.sealing_id() == 0)
    return fmt::format(
        "datagrams are sent and accepted without a key: any machine on the network can become "
        "master; when all members open key {}, run 'tempo keygen --promote' on each",
        auth::key_name_of(keys.other_id()));
  return fmt::format(
      "datagrams without a key are accepted: any machine on the network can become master; when "
      "all members seal with key {}, run 'tempo keygen --drop' on each",
      auth::key_name_of(keys.sealing_id()));
}

std::string lease_warning(const std::vector<obs::MemberView>& members) {
  const auto self = std::ranges::find_if(members, &obs::MemberView::self);
  if (self == members.end() || self->expect == 0) return "";
  const auto lease_text = [](const obs::MemberView& member) {
    return fmt::format("{} ms (longest {} ms)", member.lease_ms, member.lease_max_ms);
  };
  std::string others;
  for (const obs::MemberView& member : members) {
    if (member.self || member.expect == 0 ||
        (member.lease_ms == self->lease_ms && member.lease_max_ms == self->lease_max_ms))
      continue;
    others +=
        fmt::format("{}{} has {}", others.empty() ? "" : ", ", member.name, lease_text(member));
  }
  if (others.empty()) return "";
  return fmt::format(
      "lease times differ, so that machines may get no locks: this machine has {}, {}; set the "
      "same 'lease-ms' and 'lease-max-ms' under [locks] in tempo.toml on every machine",
      lease_text(*self), others);
}

std::string_view clock_name(config::ClockKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"system", "software", "none"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view state_name(election::State state) {
  return state == election::State::slave ? "follower" : election::name_of(state);
}

std::string crowding_warning(const wire::Directory& directory, Instant now) {
  constexpr Nanos kCrowdedFor = 1h;  // after that only the counter shows it
  if (directory.evicted() == 0 || now - directory.last_evicted() >= kCrowdedFor) return "";
  return fmt::format(
      "too many hosts: tempod remembers {} and has forgotten {} that were silent longest; if this "
      "cluster has fewer machines, one that has its key invents host ids: find it by the addresses "
      "in 'tempo members' and change the key",
      wire::Directory::kMaxHosts, directory.evicted());
}

std::string name_of_host(const wire::Codec& codec, HostId host) {
  const wire::Directory::Host* known = codec.directory().find(host);
  return known == nullptr || known->name.text().empty() ? hex_id(host)
                                                        : std::string(known->name.text());
}

std::string name_of_node(const wire::Codec& codec, NodeId node) {
  return name_of_host(codec, codec.directory().host_of(node));
}

std::string id_text(const wire::Codec& codec, NodeId node) {
  return hex_id(codec.directory().host_of(node));
}

}  // namespace tempo::daemon
