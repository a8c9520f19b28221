// Whole hosts in scripts (lab/sim/world_script.h): groups, and the clock as far as an operator sets
// it. The hosts have locks with a voter each, which lock_test_script.h shows.
//
// The setting `parts` lists the parts whose output is shown: groups (the default), locks, clock.
// Commands:
//
//     host1 stand GROUP user 1 capacity 50 [criterion id] [algorithm c] [min-stay 5s] [once]
//     host1 offer user 1 capacity 80
//     host1 stopped user 1            the user has stopped acting, as requested
//     host1 withdraw user 1 [job-done]
//     host1 resign GROUP
//     host1 set-time +1h              or -90s
//
// `show` shows for each host: its groups, or with the part clock the clock's status, its difference
// from the time without any set-time, and the timescale generation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "protocol/host/host.h"
#include "protocol/lock/lock_test_script.h"

namespace tempo::host {

// "1h", "-90s", exact.
inline std::string signed_span_text(Nanos span) {
  return (span < Nanos{0} ? "-" : "+") + span_text(span < Nanos{0} ? -span : span);
}

inline std::string term_text(lock::Token term) {
  const auto held = lock::lease::Held::of(term);
  return fmt::format("term {}.{}", held.count, held.sub);
}

// "announcement web capacity 50 leads term 1.1 heir host2", "b1 web bid capacity 50".
inline std::string text_of(const wire::GroupBody& body) {
  using Kind = wire::GroupBody::Kind;
  if (body.kind == Kind::heartbeat) {
    std::string text = fmt::format("announcement {}", body.name.text());
    text += body.capacity < 0 ? " no candidate" : fmt::format(" capacity {}", body.capacity);
    if (body.leads) text += " leads " + term_text(lock::Token{body.term});
    if (body.asks) text += " asks";
    if (body.heir != kNoHost) text += " heir " + locks::scripted_name(body.heir);
    if (body.over) text += " job done";
    return text;
  }
  constexpr std::array<std::string_view, wire::GroupBody::kKinds> kNames{
      "announcement", "begin", "a", "b1", "c", "ring", "ring-anonymous", "b2"};
  std::string text = fmt::format("{} {}", kNames[std::to_underlying(body.kind)], body.name.text());
  constexpr std::array<std::string_view, 2> kB1{"bid", "alive"};
  constexpr std::array<std::string_view, 3> kC{"init", "elected", "dup"};
  if (body.kind == Kind::b1) text += fmt::format(" {}", kB1[body.phase]);
  if (body.kind == Kind::c) text += fmt::format(" {}", kC[body.phase]);
  if (body.kind == Kind::a || body.kind == Kind::b1)
    text += fmt::format(" of {} capacity {}", locks::scripted_name(body.sender), body.capacity);
  if (body.kind == Kind::c)
    text +=
        fmt::format(" {} capacity {}", locks::scripted_name(body.first.host), body.first.capacity);
  return text;
}

inline std::string text_of(const groups::LeadershipUpdate& update) {
  using Kind = groups::LeadershipUpdate::Kind;
  const std::string user = fmt::format("user {}", std::to_underlying(update.user));
  const std::string until = "until " + sim::script_time(update.deadline);
  const std::string host = update.host == kNoHost ? "no host" : locks::scripted_name(update.host);
  switch (update.kind) {
    case Kind::leads:
      return fmt::format("{} leads in {} {}", user, term_text(update.term), until);
    case Kind::extended:
      return fmt::format("{} extended {}", user, until);
    case Kind::stop:
      return fmt::format("{} must stop {}", user, until);
    case Kind::lost:
      return fmt::format("{} lost", user);
    case Kind::follows:
      return fmt::format("{} follows {}", user, host);
    case Kind::no_majority:
      return fmt::format("{} has no majority", user);
    case Kind::job_done:
      return fmt::format("{} hears that {} has done the job", user, host);
  }
  return "";
}

inline std::string text_of(const groups::GroupService::Notice& notice) {
  if (const auto* update = std::get_if<groups::LeadershipUpdate>(&notice)) return text_of(*update);
  if (const auto* refused = std::get_if<groups::Refused>(&notice))
    return "refused: " + groups::sentence_of(*refused);
  if (const auto* replaced = std::get_if<groups::AlgorithmReplaced>(&notice))
    return "reports: " + groups::sentence_of(*replaced);
  if (const auto* changed = std::get_if<groups::GroupService::LeaderChanged>(&notice))
    return fmt::format("reports: the leader of {} changed", changed->group);
  return "";
}

// Of the node's messages only set-time is shown: the scripts of the election show the others.
inline std::string text_of(const node::Node::Message& message) {
  const auto* sync = message.sync();
  const auto* set = sync != nullptr ? std::get_if<node::SetTime>(sync) : nullptr;
  if (set == nullptr) return "";
  return fmt::format("set-time {} by {} generation {}", set->number, signed_span_text(set->by),
                     set->timescale_generation);
}

inline std::string text_of(const node::Node::Notice& notice) {
  if (const auto* election = std::get_if<node::Node::ElectionNotice>(&notice)) {
    const election::Notice& news = election->notice;
    if (news.news == election::Change::leads)
      return fmt::format("leads in round {}", news.epoch.round);
    if (news.news == election::Change::follows && news.peer != kNobody)
      return fmt::format("follows {} in round {}", sim::host_name(news.peer), news.epoch.round);
  }
  if (const auto* clock = std::get_if<node::Node::ClockNotice>(&notice)) {
    if (const auto* stepped = std::get_if<node::Stepped>(&clock->notice))
      return fmt::format("steps its clock by {}", signed_span_text(stepped->by));
    if (const auto* set = std::get_if<node::NetworkTimeSet>(&clock->notice))
      return fmt::format("sets network time by {}", signed_span_text(set->by));
  }
  return "";
}

// The scripts of the membership show its output.
inline std::string text_of(const Host::ViewMessage& /*message*/) { return ""; }
inline std::string text_of(const Host::Views::Notice& /*notice*/) { return ""; }

class ScriptedHosts {
 public:
  using Machine = Host;

  Result<bool> setting(std::string_view word, std::string_view value) {
    if (word != "parts") return locks_.setting(word, value);
    parts_.clear();
    for (const std::string_view part : split_text(value, ',')) {
      if (part != "groups" && part != "locks" && part != "clock")
        return std::unexpected(fmt::format("'{}' is not a part", part));
      parts_.emplace(part);
    }
    return true;
  }
  void set_hosts(std::uint32_t hosts) {
    locks_.set_hosts(hosts);
    directories_.resize(hosts);
    for (wire::Directory& directory : directories_) locks::admit_hosts(directory, hosts);
  }
  Host make(NodeId node, Incarnation life, Instant now, const Records* record) {
    sync_rules_.interval = rules_.timing.adjtime;
    const Records saved = record != nullptr ? *record : Records{};
    return {node::Node({.self = node, .incarnation = life}, 1, rules_,
                       {.now = now, .shows = kWallStart + now.time_since_epoch()}, sync_rules_),
            Host::Views({.record = saved.membership,
                         .fresh = membership::MemberId{index(node) + 1},
                         .first = Sequence{std::to_underlying(life)}},
                        view_rules_),
            locks_.make(node, life, {}, saved.locks ? &*saved.locks : nullptr),
            groups::GroupService({.self = node, .life = life, .hosts = &directories_[index(node)]}),
            saved};
  }

  Result<Host::Command> command(Instant /*now*/, const std::vector<std::string_view>& line) {
    locks::ScriptWords words(line);
    const std::string_view verb = words.take();
    Result<Host::Command> command = std::unexpected(fmt::format("'{}' is not a command", verb));
    if (verb == "stand") {
      command = stand(words);
    } else if (verb == "resign") {
      command = Host::Groups::Command{Host::Groups::Resign{std::string(words.take())}};
    } else if (verb == "set-time") {
      command = set_time(words.take());
    } else if (verb == "offer" || verb == "stopped" || verb == "withdraw") {
      command = of_user(verb, words);
    }
    if (command && !words.empty())
      return std::unexpected(fmt::format("'{}' is one word too many", words.take()));
    return command;
  }

  std::string text(const Host::Message& message) const {
    return std::visit([&](const auto& one) { return shown(one) ? text_of(one) : ""; }, message);
  }
  std::string text(const Host::Notice& notice) const {
    return std::visit([&](const auto& one) { return shown(one) ? text_of(one) : ""; }, notice);
  }
  // A record of the locks, if that is the part that was written.
  std::string text(const Records& records) {
    if (!records.locks || !parts_.contains("locks")) return "";
    const bool written =
        std::exchange(shown_[records.locks->host], records.locks_number) != records.locks_number;
    return written ? text_of(*records.locks) : "";
  }

  std::string state(const Host& machine, Instant now) const {
    if (parts_.contains("clock")) return clock_state(machine.node().sync(), now);
    std::string text;
    for (const groups::Known& known : machine.groups()->known()) {
      text += text.empty() ? "" : "; ";
      text += fmt::format("{}: {}, ", known.name, known.state);
      text += known.leader == kNoHost
                  ? "no leader"
                  : fmt::format("{} leads in {}", locks::scripted_name(known.leader),
                                term_text(known.term));
      if (known.held) text += fmt::format(", elected by {}", name_of(*known.held));
      for (const auto& candidate : known.candidates)
        text +=
            fmt::format(", {} has {}", locks::scripted_name(candidate.host), candidate.capacity);
    }
    return text.empty() ? "knows no group" : text;
  }

 private:
  static constexpr WallTime kWallStart{1'700'000'000s};

  // Whether the output of this part is shown.
  bool shown(const Host::Groups::Message& /*message*/) const { return parts_.contains("groups"); }
  bool shown(const Host::Groups::Notice& /*notice*/) const { return parts_.contains("groups"); }
  bool shown(const Host::Locks::Message& /*message*/) const { return parts_.contains("locks"); }
  bool shown(const Host::Locks::Notice& /*notice*/) const { return parts_.contains("locks"); }
  static bool shown(const Host::ViewMessage& /*message*/) { return false; }
  static bool shown(const Host::Views::Notice& /*notice*/) { return false; }
  bool shown(const node::Node::Message& /*message*/) const { return parts_.contains("clock"); }
  bool shown(const node::Node::Notice& /*notice*/) const { return parts_.contains("clock"); }

  static Result<groups::UserId> user_of(locks::ScriptWords& words) {
    if (!words.take("user")) return std::unexpected("a user is missing, for example 'user 1'");
    TRY(number, number_within<std::uint32_t>(words.take(), 1, 1000));
    return groups::UserId{number};
  }
  static Result<groups::Capacity> capacity_of(locks::ScriptWords& words) {
    if (!words.take("capacity")) return std::unexpected("a capacity is missing");
    return number_within<groups::Capacity>(words.take(), 0, 1'000'000);
  }

  static Result<Host::Command> stand(locks::ScriptWords& words) {
    Host::Groups::Stand stand{.group = std::string(words.take()),
                              .terms = {.criterion = groups::Criterion::weight}};
    TRY(user, user_of(words));
    TRY(capacity, capacity_of(words));
    stand.user = user;
    stand.capacity = capacity;
    if (words.take("criterion")) {
      const auto criterion = groups::criterion_of(words.take());
      if (!criterion) return std::unexpected("there is no such criterion");
      stand.terms.criterion = *criterion;
    }
    if (words.take("algorithm")) {
      const auto algorithm = groups::algorithm_of(words.take());
      if (!algorithm) return std::unexpected("there is no such algorithm");
      stand.terms.algorithm = *algorithm;
    }
    if (words.take("min-stay")) {
      TRY(span, parse_span(words.take()));
      stand.min_stay = span;
    }
    stand.once = words.take("once");
    return Host::Groups::Command{stand};
  }

  static Result<Host::Command> of_user(std::string_view verb, locks::ScriptWords& words) {
    TRY(user, user_of(words));
    if (verb == "stopped") return Host::Groups::Command{Host::Groups::Stopped{user}};
    if (verb == "withdraw")
      return Host::Groups::Command{Host::Groups::Withdraw{user, words.take("job-done")}};
    TRY(capacity, capacity_of(words));
    return Host::Groups::Command{Host::Groups::Offer{user, capacity}};
  }

  static Result<Host::Command> set_time(std::string_view by) {
    if (!by.starts_with('+') && !by.starts_with('-'))
      return std::unexpected(fmt::format("'{}' should begin with + or -", by));
    TRY(span, parse_span(by.substr(1)));
    return node::Node::Command{node::Node::ClockCommand{
        .command = node::SetNetworkTime{by.starts_with('-') ? -span : span}}};
  }

  // Rounded to milliseconds: the arithmetic of clocks has tests of its own.
  static std::string clock_state(const node::Sync& sync, Instant now) {
    const node::Reading reading = sync.reading(now);
    const Nanos ahead = reading.time - (kWallStart + now.time_since_epoch());
    return fmt::format("{}; {} from true time; generation {}", name_of(reading.status),
                       signed_span_text(std::chrono::round<std::chrono::milliseconds>(ahead)),
                       sync.timescale_generation());
  }

  std::set<std::string, std::less<>> parts_{"groups"};
  locks::ScriptedLocks locks_;
  election::Rules rules_{.timing = *election::profile("lan")};
  node::SyncRules sync_rules_{};
  membership::Rules view_rules_ = membership::rules_for(membership::kLease);
  std::map<HostId, std::uint32_t> shown_{};  // number of the last lock record of a host
  std::deque<wire::Directory> directories_;  // by host
};

}  // namespace tempo::host
