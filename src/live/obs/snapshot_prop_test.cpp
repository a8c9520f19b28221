// Whatever a daemon knows arrives as it was sent.
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "live/obs/snapshot.h"

namespace tempo::obs {
namespace {

template <class T>
rc::Gen<std::vector<T>> a_few(const rc::Gen<T>& one) {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 12), [one](std::size_t count) {
    return rc::gen::container<std::vector<T>>(count, one);
  });
}

// Text with the characters that JSON escapes, and some that take several bytes.
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

rc::Gen<NetworkView> some_network() {
  return rc::gen::build<NetworkView>(
      rc::gen::set(&NetworkView::name, some_text()), rc::gen::set(&NetworkView::state, some_text()),
      rc::gen::set(&NetworkView::master, some_text()),
      rc::gen::set(&NetworkView::master_id, some_text()), rc::gen::set(&NetworkView::epoch_round),
      rc::gen::set(&NetworkView::listed), rc::gen::set(&NetworkView::heir, some_text()),
      rc::gen::set(&NetworkView::root, some_text()), rc::gen::set(&NetworkView::hops),
      rc::gen::set(&NetworkView::kernel_stamps), rc::gen::set(&NetworkView::hardware_stamps));
}

rc::Gen<MemberView> some_member() {
  return rc::gen::build<MemberView>(
      rc::gen::set(&MemberView::name, some_text()), rc::gen::set(&MemberView::id, some_text()),
      rc::gen::set(&MemberView::address, some_text()), rc::gen::set(&MemberView::role, some_text()),
      rc::gen::set(&MemberView::self), rc::gen::set(&MemberView::faulty),
      rc::gen::set(&MemberView::heard_ago_s, some_number()),
      rc::gen::set(&MemberView::rate_ppm, perhaps_number()),
      rc::gen::set(&MemberView::sigma_us, perhaps_number()),
      rc::gen::set(&MemberView::bound_us, perhaps_number()),
      rc::gen::set(&MemberView::offset_us, perhaps_number()));
}

rc::Gen<GroupView> some_group() {
  return rc::gen::build<GroupView>(
      rc::gen::set(&GroupView::name, some_text()), rc::gen::set(&GroupView::leader, some_text()),
      rc::gen::set(&GroupView::term, some_text()), rc::gen::set(&GroupView::here),
      rc::gen::set(&GroupView::state, some_text()),
      rc::gen::set(&GroupView::criterion, some_text()),
      rc::gen::set(&GroupView::algorithm, some_text()), rc::gen::set(&GroupView::held, some_text()),
      rc::gen::set(&GroupView::candidates));
}

rc::Gen<Snapshot> some_snapshot() {
  return rc::gen::build<Snapshot>(
      rc::gen::set(&Snapshot::version, some_text()), rc::gen::set(&Snapshot::name, some_text()),
      rc::gen::set(&Snapshot::id, some_text()), rc::gen::set(&Snapshot::cluster, some_text()),
      rc::gen::set(&Snapshot::pid), rc::gen::set(&Snapshot::uptime_s, some_number()),
      rc::gen::set(&Snapshot::profile, some_text()), rc::gen::set(&Snapshot::authenticated),
      rc::gen::set(&Snapshot::keys), rc::gen::set(&Snapshot::clock, some_text()),
      rc::gen::set(&Snapshot::status, some_text()), rc::gen::set(&Snapshot::time_ns),
      rc::gen::set(&Snapshot::earliest_ns), rc::gen::set(&Snapshot::latest_ns),
      rc::gen::set(&Snapshot::offset_us, some_number()),
      rc::gen::set(&Snapshot::rate_ppm, some_number()), rc::gen::set(&Snapshot::scale),
      rc::gen::set(&Snapshot::exchanges), rc::gen::set(&Snapshot::reference, some_text()),
      rc::gen::set(&Snapshot::may_lead), rc::gen::set(&Snapshot::locks, some_text()),
      rc::gen::set(&Snapshot::warnings, a_few(some_text())),
      rc::gen::set(&Snapshot::networks, a_few(some_network())),
      rc::gen::set(&Snapshot::members, a_few(some_member())),
      rc::gen::set(&Snapshot::groups, a_few(some_group())),
      rc::gen::set(&Snapshot::counters, rc::gen::container<std::map<std::string, std::uint64_t>>(
                                            some_text(), rc::gen::arbitrary<std::uint64_t>())));
}

RC_GTEST_PROP(Snapshots, TravelUnchanged, ()) {
  const Snapshot sent = *some_snapshot();
  const std::string line = to_json(sent);
  RC_ASSERT(line.find('\n') == std::string::npos);
  const auto received = from_json(line);
  RC_ASSERT(received.has_value());
  RC_ASSERT(*received == sent);
}

// Showing is for whatever arrives, sensible or not.
RC_GTEST_PROP(Snapshots, CanAlwaysBeShown, ()) {
  const Snapshot snapshot = *some_snapshot();
  RC_ASSERT(!status_text(snapshot).empty());
  RC_ASSERT(!members_text(snapshot).empty());
  RC_ASSERT(!metrics_text(snapshot).empty());
}

}  // namespace
}  // namespace tempo::obs
