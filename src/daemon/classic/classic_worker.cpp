#include "daemon/classic/classic_worker.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>
#include <variant>

#include <fmt/core.h>
#include <sys/poll.h>
#include <unistd.h>

#include "api/finding_codes.h"
#include "base/span_text.h"
#include "daemon/classic/classic_requests.h"
#include "daemon/control/daemon_view.h"
#include "daemon/log.h"
#include "daemon/worker.h"
#include "machine/overloaded.h"
#include "platform/confinement.h"
#include "protocol/classic/icmp_timestamp.h"
#include "tempo_version.h"

namespace tempo::daemon {
namespace {

using classic::ClassicHost;
using classic::Packet;

constexpr Nanos kHousekeeping = 1s;
constexpr std::size_t kMaxTraceLines = 100;       // in a second, after a Traceon
constexpr std::uint64_t kMaxRefusalsLogged = 20;  // the counter has all of them

constexpr std::string_view kNoAuthentication =
    "classic mode: TSP has no authentication; every host that can send datagrams to this machine "
    "can change its clock, and its time has no error bound";

std::string signed_text(Nanos by) {
  return (by < Nanos{0} ? "-" : "+") + span_text(std::chrono::abs(by));
}

ClassicHost make_host(const DaemonIdentity& identity, const election::Rules& rules,
                      Instruments& instruments) {
  const config::Settings& settings = identity.settings;
  return {{.self = ClassicPeers::kOwn,
           .incarnation = identity.incarnation,
           .name = wire::Name(identity.name)},
          rules,
          {.correction_limit = settings.classic_correction_limit,
           .setdate = settings.classic_setdate,
           .may_lead = settings.may_lead,
           // The kernel has another clock than this machine shows to others.
           .answers_timestamps = settings.clock == config::ClockKind::software},
          clock::SteeredClock(instruments.oscillator->now(),
                              first_time(identity, instruments.clock->read()), 0)};
}

}  // namespace

Result<std::unique_ptr<ClassicWorker>> ClassicWorker::create(const DaemonIdentity& identity,
                                                             const ParentLine* parent) {
  TRY(instruments, instruments_of(identity.settings));
  TRY(timestamps, sys::TimestampSocket::open());
  std::unique_ptr<ClassicWorker> worker(
      new ClassicWorker(identity, std::move(instruments), std::move(timestamps), parent));
  if (auto opened = worker->links_.open(identity.settings); !opened)
    return std::unexpected(opened.error());
  return worker;
}

ClassicWorker::ClassicWorker(const DaemonIdentity& identity, Instruments instruments,
                             sys::TimestampSocket timestamps, const ParentLine* parent)
    : identity_(identity),
      instruments_(std::move(instruments)),
      parent_(parent),
      loop_(*instruments_.oscillator),
      rules_{.timing = identity_.settings.timing, .repeats = 0, .variant = ClassicHost::variant()},
      links_(loop_, *instruments_.oscillator),
      timestamps_(std::move(timestamps)),
      peers_(classic::kMaxNetworks, ClassicPeers(std::string(wire::Name(identity_.name).text()))),
      host_(make_host(identity_, rules_, instruments_), RawClock{instruments_.oscillator.get()},
            draw_, {.carry_out = [this](const auto& output) { carry_out(output); }}),
      events_([this] { return time(); }, parent),
      started_(now()),
      next_housekeeping_(started_ + kHousekeeping) {
  for (const std::string& text : identity_.settings.classic_peers)
    if (const auto address = sys::Address::parse(text, 0)) allowed_.push_back(address->text());
}

Result<ControlServer> ClassicWorker::open_control_server(const std::string& path) {
  return ControlServer::open(
      {.loop = &loop_,
       .now = [this] { return now(); },
       .each_round = [this](std::function<void()> callback) { each_round_ = std::move(callback); }},
      std::make_unique<ClassicRequests>(*this), path);
}

// --- the loop ---

int ClassicWorker::run() {
  for (const int signal : {SIGTERM, SIGINT}) loop_.on_signal(signal, [this] { stop(); });
  loop_.on_signal(SIGHUP, [] {});  // for the parent
  if (parent_ != nullptr)
    loop_.watch(parent_->descriptor(), POLLIN, [this](short ready) {
      if ((ready & POLLHUP) != 0) return stop();
      (void)parent_->receive();
    });
  links_.watch_interfaces([this] { update_networks(); });
  loop_.watch(timestamps_.descriptor(), POLLIN, [this](short) { receive_timestamps(); });
  host_.start();
  std::string networks;
  for (std::uint8_t i = 0; i < links_.count(); ++i) {
    join(i);
    networks += (networks.empty() ? "" : ", ") + links_.label(i);
  }
  log_info(fmt::format(
      "tempod {} starts in classic mode: {}; name {}, networks {}, clock {}", kTempoVersion,
      identity_.configuration, identity_.name, networks.empty() ? "none" : networks,
      identity_.settings.clock == config::ClockKind::system ? "system" : "software"));
  log_warning(kNoAuthentication);
  notifier_.ready("looking for a master");

  while (!stopping_) {
    const sys::Loop::Round round = loop_.wait(std::min(host_.deadline(), next_housekeeping_));
    if (round.suspended > Nanos{0}) {
      events_.emit("slept", "the machine was suspended; rejoining as a new host");
      return kSuspended;
    }
    // Received datagrams come before timers, also after a stall.
    if (round.due || round.stalled > Nanos{0})
      for (std::uint8_t i = 0; i < links_.count(); ++i) receive(i);
    host_.wake();
    if (now() >= next_housekeeping_) housekeeping();
    if (each_round_) each_round_();
  }
  notifier_.stopping();
  host_.command(classic::Stop{});
  log_info("stopped");
  return 0;
}

void ClassicWorker::housekeeping() {
  next_housekeeping_ = now() + kHousekeeping;
  trace_lines_ = 0;
  update_networks();
  follow(false);
  notifier_.alive();
}

void ClassicWorker::join(std::uint8_t network) {
  if (network >= classic::kMaxNetworks)
    return log_warning(
        fmt::format("{}: not used, because classic mode has at most {} networks; list those to use "
                    "in 'interfaces'",
                    links_.label(network), classic::kMaxNetworks));
  links_.watch(network, [this](std::uint8_t number, bool /*departed*/) { receive(number); });
  host_.command(classic::Join{network});
}

void ClassicWorker::update_networks() {
  const Links::Changes changes = links_.rescan(identity_.settings, false);
  for (const std::uint8_t network : changes.gone)
    log_info(fmt::format("{}: network is gone", links_.label(network)));
  for (const std::uint8_t network : changes.come) join(network);
}

// --- packets ---

void ClassicWorker::receive(std::uint8_t network) {
  if (network >= classic::kMaxNetworks) return;
  for (int i = 0; i < sys::Network::kMaxAtOnce; ++i) {
    const auto arrival = links_.receive(network);
    if (!arrival) return;
    receive_datagram(network, *arrival);
  }
}

bool ClassicWorker::allowed(const sys::Address& address) const {
  return allowed_.empty() || std::ranges::find(allowed_, address.text()) != allowed_.end();
}

void ClassicWorker::receive_datagram(std::uint8_t network, const sys::Arrival& arrival) {
  if (!allowed(arrival.from)) return drop(Drop::other_address);
  const auto datagram = wire::tsp::parse(arrival.bytes);
  if (!datagram) return drop(Drop::malformed);
  ++received_[std::string(wire::tsp::name_of(datagram->type))];
  const NodeId from = sender_of(network, arrival.from, *datagram);
  const Packet packet{.network = network, .datagram = *datagram};
  trace("from", arrival.from.text(), packet);
  stranger_ = arrival.from;
  host_.receive(from, packet);
  stranger_ = {};
}

// A datagram from another port than TSP's is that of a control program. The name in a Loop that a
// submaster has forwarded, and in an own broadcast, is not the name of its sender.
NodeId ClassicWorker::sender_of(std::uint8_t network, const sys::Address& from,
                                const wire::tsp::Datagram& datagram) {
  if (from.port() != identity_.settings.port) return classic::kStranger;
  const bool own = datagram.name.text() == wire::Name(identity_.name).text();
  const bool forwarded =
      datagram.type == wire::tsp::Type::loop && datagram.hops != wire::tsp::kHops;
  const auto id = own || forwarded ? peers_[network].known(from)
                                   : peers_[network].heard(from, datagram.name.text());
  if (!id) {
    if (!own && !forwarded) drop(Drop::no_room);
    return classic::kStranger;
  }
  links_.learn(network, *id, from);
  return *id;
}

void ClassicWorker::receive_timestamps() {
  for (int i = 0; i < sys::TimestampSocket::kMaxAtOnce; ++i) {
    const auto received = timestamps_.receive();
    if (!received) return;
    receive_timestamp(*received);
  }
}

// A reply counts on the networks on which its sender is known; a request belongs to no network.
void ClassicWorker::receive_timestamp(const sys::TimestampSocket::Received& received) {
  if (!allowed(received.from)) return drop(Drop::other_address);
  const auto message = classic::parse_icmp(received.packet);
  if (!message) return drop(Drop::malformed);
  Packet packet{
      .kind = message->reply ? Packet::Kind::timestamp_reply : Packet::Kind::timestamp_request,
      .stamps = message->stamps};
  ++received_[message->reply ? "timestamp-reply" : "timestamp-request"];
  stranger_ = received.from;
  if (!message->reply) {
    host_.receive(classic::kStranger, packet);
  } else {
    for (std::uint8_t i = 0; i < classic::kMaxNetworks; ++i) {
      packet.network = i;
      if (const auto id = peers_[i].known(received.from)) host_.receive(*id, packet);
    }
  }
  stranger_ = {};
}

void ClassicWorker::carry_out(const Output<ClassicHost>& output) {
  if (output.kind == OutputKind::notice) return on_notice(output.notice);
  send(output.message.network, output.kind == OutputKind::broadcast ? kNobody : output.to,
       output.message);
}

// To nobody: a broadcast.
void ClassicWorker::send(std::uint8_t network, NodeId to, const Packet& packet) {
  std::string target = "all";
  if (packet.kind != Packet::Kind::tsp) {
    ++sent_[packet.kind == Packet::Kind::timestamp_reply ? "timestamp-reply" : "timestamp-request"];
    sys::Address address = stranger_;
    if (to != classic::kStranger) {
      const std::string* const text = peers_[network].address_of(to);
      if (text == nullptr) return;
      address = sys::Address::parse(*text, 0).value_or(sys::Address{});
    }
    if (address.none()) return;
    timestamps_.send(address,
                     classic::write_icmp({.reply = packet.kind == Packet::Kind::timestamp_reply,
                                          .stamps = packet.stamps}));
    target = address.text();
  } else {
    if (!links_.here(network)) return;
    ++sent_[std::string(wire::tsp::name_of(packet.datagram.type))];
    std::array<std::byte, wire::tsp::kBytes> bytes;
    wire::tsp::write(packet.datagram, bytes);
    if (to == kNobody) {
      links_.broadcast(network, bytes);
    } else if (to == classic::kStranger) {
      if (!stranger_.none()) links_.send(network, stranger_, bytes);
      target = stranger_.text();
    } else {
      (void)links_.send(network, to, bytes, std::nullopt);
      if (const std::string* const text = peers_[network].address_of(to)) target = *text;
    }
  }
  trace("to", target, packet);
}

// The lines that Traceon asks for.
void ClassicWorker::trace(std::string_view direction, const std::string& address,
                          const Packet& packet) {
  if (!tracing_ || ++trace_lines_ > kMaxTraceLines) return;
  log_info(fmt::format("trace: {}: {} {}: {}", links_.label(packet.network), direction, address,
                       classic::text_of(packet)));
}

// --- notices ---

void ClassicWorker::on_notice(const classic::Notice& notice) {
  std::visit(
      Overloaded{
          [this](const classic::StateChanged& changed) { on_notice(changed); },
          [this](const classic::ClockChanged& changed) {
            if (changed.stepped)
              events_.emit("clock-stepped",
                           fmt::format("clock stepped by {}", signed_text(changed.by)));
            else
              log_debug(fmt::format("clock slews by {}", signed_text(changed.by)));
            follow(changed.stepped);
          },
          [this](const classic::PeerDown& down) {
            events_.emit("host-down", fmt::format("{}: {} does not answer",
                                                  links_.label(down.network), down.peer.text()));
          },
          [this](const classic::Refused& refused) {
            ++refused_;
            if (refused_ > kMaxRefusalsLogged) return;
            const bool setdate = refused.reason == classic::Refused::Reason::setdate;
            log_warning(fmt::format(
                "refused {} of {}: {}", signed_text(refused.by), refused.peer.text(),
                setdate ? "classic.setdate does not allow a host to set the time"
                        : "above classic.correction-limit-ms; set this clock, or raise the limit"));
          },
          [this](const classic::TimeLoop& loop) {
            events_.emit("time-circle",
                         fmt::format("{}: time loop detected; not following this network",
                                     links_.label(loop.network)));
          },
          [this](const classic::Tracing& tracing) {
            tracing_ = tracing.on;
            log_info(tracing_ ? "trace: on, as a host asked" : "trace: off, as a host asked");
          }},
      notice);
}

void ClassicWorker::on_notice(const classic::StateChanged& changed) {
  const std::string& network = links_.label(changed.network);
  const auto leads = [](election::State state) {
    return state == election::State::master || state == election::State::conflict;
  };
  election::State& shown =
      shown_.try_emplace(changed.network, election::State::startup).first->second;
  if (leads(changed.state) && !leads(shown))
    events_.emit("became-master", fmt::format("{}: this machine is master", network));
  if (!leads(changed.state) && leads(shown))
    events_.emit("lost-master", fmt::format("{}: this machine is no longer master", network));
  if (changed.state == election::State::conflict && shown != election::State::conflict)
    events_.emit("two-masters",
                 fmt::format("{}: another master is active on this network", network));
  std::string& master = masters_[changed.network];
  const std::string now_master(changed.master.text());
  if (!leads(changed.state) && now_master != master && !now_master.empty())
    events_.emit("master-changed", fmt::format("{}: {} is master", network, now_master));
  log_debug(fmt::format("{}: {} -> {} (master {})", network, election::name_of(shown),
                        election::name_of(changed.state),
                        now_master.empty() ? "none" : now_master));
  shown = changed.state;
  master = leads(changed.state) ? std::string{} : now_master;
}

void ClassicWorker::follow(bool stepped) {
  if (identity_.settings.clock != config::ClockKind::system) return;
  // The steered clock stood still during a suspension.
  if (loop_.slept() > Nanos{0}) return;
  const Instant at = now();
  const clock::SteeredClock& dial = host_.machine().clock();
  const auto done = instruments_.clock->follow(at, dial.at(at), dial.rate(), stepped);
  const std::string error = done ? "" : done.error();
  if (error != clock_error_ && !error.empty()) log_error(error);
  clock_error_ = error;
}

// --- for the control server ---

std::vector<std::string> ClassicWorker::warnings() const {
  std::vector<std::string> all{std::string(kNoAuthentication)};
  if (!clock_error_.empty()) all.push_back(clock_error_);
  if (!links_.errors().empty())
    all.push_back(fmt::format("cannot use a network: {}", links_.errors()));
  return all;
}

std::vector<ipc::Finding> ClassicWorker::findings() {
  std::vector<ipc::Finding> all{
      {.level = "note",
       .what = std::string(kNoAuthentication),
       .cure = "set mode = \"tempo\" and run 'tempo keygen' once no historical daemon is left",
       .code = std::string(name_of(ipc::FindingCode::no_key))}};
  if (!clock_error_.empty())
    all.push_back({.level = "problem",
                   .what = clock_error_,
                   .cure = "grant CAP_SYS_TIME to tempod",
                   .code = std::string(name_of(ipc::FindingCode::clock_not_steerable))});
  if (!links_.errors().empty())
    all.push_back({.level = "problem",
                   .what = fmt::format("cannot use a network: {}", links_.errors()),
                   .cure = "check 'interfaces' and 'bind'",
                   .code = std::string(name_of(ipc::FindingCode::network_unusable))});
  return all;
}

obs::Snapshot ClassicWorker::snapshot() {
  const ClassicHost& host = host_.machine();
  const Instant at = now();
  obs::Snapshot shot;
  shot.version = kTempoVersion;
  shot.name = identity_.name;
  shot.id = fmt::format("{:016x}", std::to_underlying(identity_.host));
  shot.cluster = "TSP version 1";
  shot.pid = static_cast<std::uint32_t>(::getpid());
  shot.uptime_s = std::chrono::duration<double>(at - started_).count();
  shot.profile = identity_.settings.profile;
  shot.sealing_key = obs::kNoKeyName;
  shot.may_lead = identity_.settings.may_lead;
  static const sys::Confinement confinement = sys::confinement_in_force();  // final in a worker
  shot.user = confinement.user;
  shot.capabilities = confinement.capabilities;
  shot.system_call_filter = confinement.filter;
  shot.clock = clock_name(identity_.settings.clock);
  shot.status = node::name_of(node::Reading::Status::unsynchronized);
  shot.time_ns = time().time_since_epoch().count();
  shot.earliest_ns = WallTime::min().time_since_epoch().count();
  shot.latest_ns = WallTime::max().time_since_epoch().count();
  shot.rate_ppm = host.clock().rate() * 1e6;
  shot.warnings = warnings();
  if (host.upstream() != classic::kNoNetwork)
    shot.reference = host.master_of(host.upstream()).text();
  for (std::uint8_t i = 0; i < links_.count(); ++i) {
    const election::MasterElection* const election = host.network(i);
    if (election == nullptr) continue;
    obs::NetworkView& network = shot.networks.emplace_back();
    network.name = links_.label(i);
    network.state = state_name(election->state());
    network.master = host.master_of(i).text();
    network.listed = static_cast<std::uint32_t>(election->list().size());
    network.kernel_stamps = links_.kernel_stamps(i);
  }
  obs::MemberView& self = shot.members.emplace_back();
  self.name = identity_.name;
  self.self = true;
  self.state = "up";
  self.role = shot.networks.empty() ? "" : shot.networks.front().state;
  for (const auto& [type, count] : received_) shot.counters["classic_received_" + type] = count;
  for (const auto& [type, count] : sent_) shot.counters["classic_sent_" + type] = count;
  constexpr std::array kNames{"classic_dropped_other_address", "classic_dropped_malformed",
                              "classic_dropped_no_room"};
  static_assert(kNames.size() == static_cast<std::size_t>(Drop::count));
  for (std::size_t i = 0; i < kNames.size(); ++i) shot.counters[kNames[i]] = drops_[i];
  shot.counters["classic_refused"] = refused_;
  return shot;
}

}  // namespace tempo::daemon
