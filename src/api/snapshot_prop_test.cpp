// Any snapshot survives JSON unchanged, and can be shown.
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/key_report.h"
#include "api/metrics/metrics.h"
#include "api/snapshot.h"

namespace tempo::obs {
namespace {

template <class T>
rc::Gen<std::vector<T>> a_few(const rc::Gen<T>& one) {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 12), [one](std::size_t count) {
    return rc::gen::container<std::vector<T>>(count, one);
  });
}

// Text with characters that JSON escapes and characters of several bytes.
rc::Gen<std::string> some_text() {
  return rc::gen::map(a_few(rc::gen::element<std::string>("a", "Z", "\"", "\\", "\n", "\t", " ",
                                                          "/", "{", "é", "時", "\x01")),
                      [](const std::vector<std::string>& parts) {
                        std::string text;
                        for (const std::string& part : parts) text += part;
                        return text;
                      });
}

rc::Gen<double> some_number() {
  return rc::gen::map(rc::gen::pair(rc::gen::arbitrary<std::int64_t>(), rc::gen::inRange(0, 12)),
                      [](const std::pair<std::int64_t, int>& parts) {
                        return static_cast<double>(parts.first) / std::pow(10.0, parts.second);
                      });
}

rc::Gen<std::optional<double>> perhaps_number() {
  return rc::gen::map(rc::gen::pair(rc::gen::arbitrary<bool>(), some_number()),
                      [](const std::pair<bool, double>& parts) {
                        return parts.first ? std::optional(parts.second) : std::nullopt;
                      });
}

template <class T>
void draw(T& field) {
  field = *rc::gen::arbitrary<T>();
}

rc::Gen<NetworkView> some_network() {
  return rc::gen::exec([] {
    NetworkView network;
    network.name = *some_text();
    network.state = *some_text();
    network.master = *some_text();
    network.master_id = *some_text();
    draw(network.epoch_round);
    draw(network.listed);
    network.heir = *some_text();
    network.root = *some_text();
    draw(network.hops);
    draw(network.kernel_stamps);
    draw(network.hardware_stamps);
    return network;
  });
}

rc::Gen<MemberView> some_member() {
  return rc::gen::exec([] {
    MemberView member;
    member.name = *some_text();
    member.id = *some_text();
    member.address = *some_text();
    member.role = *some_text();
    draw(member.self);
    draw(member.faulty);
    member.heard_ago_s = *some_number();
    member.state = *some_text();
    draw(member.only_mentioned);
    member.status = *some_text();
    member.uptime_s = *perhaps_number();
    draw(member.revision);
    member.version = *some_text();
    member.profile = *some_text();
    member.timers = *some_text();
    draw(member.expect);
    member.lease_ms = *some_number();
    member.lease_max_ms = *some_number();
    if (*rc::gen::arbitrary<bool>()) draw(member.hears.emplace());
    member.misses_this_host_s = *perhaps_number();
    member.seals = *some_text();
    member.opens = *a_few(some_text());
    member.rate_ppm = *perhaps_number();
    member.sigma_us = *perhaps_number();
    member.bound_us = *perhaps_number();
    member.offset_us = *perhaps_number();
    return member;
  });
}

rc::Gen<GroupView> some_group() {
  return rc::gen::exec([] {
    GroupView group;
    group.name = *some_text();
    group.leader = *some_text();
    group.term = *some_text();
    draw(group.here);
    group.state = *some_text();
    group.criterion = *some_text();
    group.algorithm = *some_text();
    group.held = *some_text();
    draw(group.candidates);
    return group;
  });
}

rc::Gen<Snapshot> some_snapshot() {
  return rc::gen::exec([] {
    Snapshot snapshot;
    snapshot.version = *some_text();
    snapshot.name = *some_text();
    snapshot.id = *some_text();
    snapshot.cluster = *some_text();
    draw(snapshot.pid);
    snapshot.uptime_s = *some_number();
    snapshot.profile = *some_text();
    draw(snapshot.authenticated);
    draw(snapshot.keys);
    snapshot.sealing_key = *some_text();
    snapshot.opening_key = *some_text();
    snapshot.key_change = *some_text();
    snapshot.keys_since_s = *some_number();
    snapshot.clock = *some_text();
    snapshot.status = *some_text();
    draw(snapshot.time_ns);
    draw(snapshot.earliest_ns);
    draw(snapshot.latest_ns);
    snapshot.offset_us = *some_number();
    snapshot.rate_ppm = *some_number();
    draw(snapshot.timescale_generation);
    draw(snapshot.exchanges);
    snapshot.reference = *some_text();
    draw(snapshot.may_lead);
    snapshot.locks = *some_text();
    snapshot.warnings = *a_few(some_text());
    snapshot.networks = *a_few(some_network());
    snapshot.members = *a_few(some_member());
    snapshot.groups = *a_few(some_group());
    snapshot.counters = *rc::gen::container<std::map<std::string, std::uint64_t>>(
        some_text(), rc::gen::arbitrary<std::uint64_t>());
    return snapshot;
  });
}

RC_GTEST_PROP(Snapshots, RoundTrip, ()) {
  const Snapshot sent = *some_snapshot();
  const std::string line = to_json(sent);
  RC_ASSERT(line.find('\n') == std::string::npos);
  const auto received = from_json(line);
  RC_ASSERT(received.has_value());
  RC_ASSERT(*received == sent);
}

// Any received snapshot can be shown, even if its values make no sense.
RC_GTEST_PROP(Snapshots, CanAlwaysBeShown, ()) {
  const Snapshot snapshot = *some_snapshot();
  RC_ASSERT(!status_text(snapshot).empty());
  RC_ASSERT(!members_text(snapshot).empty());
  RC_ASSERT(!keys_text(snapshot).empty());
  RC_ASSERT(!key_report(snapshot, 1).text.empty());
  RC_ASSERT(!metrics_text(snapshot, std::nullopt).empty());
}

}  // namespace
}  // namespace tempo::obs
