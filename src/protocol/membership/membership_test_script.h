// Membership for scripts (lab/sim/world_script.h). Members are m1, m2, ... on host1, host2, ...; a
// machine that lost its record has a new name, m11, m12, ... and so on.
//
// The rules have a lease of 5 s; a machine joins after 2 s and is dropped after 30 s. Commands of a
// host: lead, follow HOST, follow nobody, stop, leave, new-lineage, begin-generation. Setting:
// guests N: the last N hosts are guests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "lab/sim/world_script.h"
#include "machine/overloaded.h"
#include "protocol/membership/membership.h"

namespace tempo::membership {

// A number that was drawn is too long to be read.
inline std::string text_of(MemberId member) {
  const std::uint64_t number = std::to_underlying(member);
  return number < 1'000'000 ? fmt::format("m{}", number) : fmt::format("m?{}", number % 1000);
}
inline std::string text_of(const Ballot& ballot) {
  return fmt::format("{}.{}", ballot.round, text_of(ballot.master));
}
// "#3 m1* m2 m3"; the star marks the tie-breaker.
inline std::string text_of(const View& view) {
  if (!view.known()) return "no view";
  std::string text = fmt::format("#{}", view.number);
  for (const MemberId member : view.members)
    text += fmt::format(" {}{}", text_of(member), member == view.tie_breaker ? "*" : "");
  if (view.members.empty()) text += " dissolved";
  if (view.timescale_generation > 0)
    text += fmt::format(" generation {}", view.timescale_generation);
  return text;
}

class ScriptedMembership {
 public:
  using Machine = Membership;

  ScriptedMembership() : rules_(rules_for(5s, 2e-4)) {
    rules_.probation = 2s;
    rules_.open_for = 0s;
    rules_.forget_after = 30s;
  }

  Result<bool> setting(std::string_view word, std::string_view value) {
    if (word != "guests") return false;
    TRY(guests, number_within<std::uint32_t>(value, 0, 16));
    guests_ = guests;
    return true;
  }
  void set_hosts(std::uint32_t count) { hosts_ = count; }

  Machine make(NodeId host, Incarnation /*incarnation*/, BootTime /*now*/, const Record* record) {
    const std::uint32_t number = index(host);
    Membership::Start start{
        .fresh = MemberId{number + 1 + 10 * made_[number]},
        .participation = number + guests_ >= hosts_ ? Participation::guest : Participation::member};
    if (record != nullptr)
      start.record = *record;
    else
      ++made_[number];
    return Membership(start, rules_);
  }

  Result<Command> command(BootTime /*now*/, const std::vector<std::string_view>& words) const {
    const std::string_view verb = words.empty() ? std::string_view{} : words.front();
    if (verb == "follow" && words.size() == 2) {
      if (words[1] == "nobody") return Command{Follow{}};
      TRY(master, sim::host_named(words[1], hosts_));
      return Command{Follow{master}};
    }
    if (words.size() == 1) {
      if (verb == "lead") return Command{Lead{}};
      if (verb == "stop") return Command{Stop{}};
      if (verb == "leave") return Command{Leave{}};
      if (verb == "new-lineage") return Command{NewLineage{}};
      if (verb == "begin-generation") return Command{BeginGeneration{}};
    }
    return std::unexpected(fmt::format("'{}' is not a command of membership", verb));
  }

  static std::string text(const Message& message) {
    return std::visit(
        Overloaded{[](const Ask& ask) {
                     std::string text = "ask";
                     if (ask.participation == Participation::guest) text += " as guest";
                     if (ask.participation == Participation::leaving) text += " leaving";
                     if (ask.ballot.round != 0) text += " grants " + text_of(ask.ballot);
                     if (ask.promised != ask.ballot && ask.promised.round != 0)
                       text += " promised " + text_of(ask.promised);
                     text += " in " + text_of(ask.view);
                     if (ask.accepted_in.round != 0)
                       text += fmt::format(", accepted {} in {}", text_of(ask.accepted),
                                           text_of(ask.accepted_in));
                     return text;
                   },
                   [](const Beacon& beacon) {
                     std::string text = "beacon";
                     text +=
                         beacon.ballot.round != 0 ? " " + text_of(beacon.ballot) : " for a guest";
                     if (beacon.view.known()) text += " in " + text_of(beacon.view);
                     if (beacon.main_for > Nanos{0})
                       text += fmt::format(", main for {} ms", beacon.main_for / 1ms);
                     if (beacon.proposes) text += ", proposes " + text_of(beacon.proposal);
                     return text;
                   },
                   [](const Release& release) { return "release " + text_of(release.ballot); }},
        message);
  }
  static std::string text(const Notice& notice) {
    switch (notice.kind) {
      case Notice::Kind::main:
        return "main";
      case Notice::Kind::not_main:
        return "not-main";
      case Notice::Kind::installed:
        return "installed";
      case Notice::Kind::dissolved:
        return "newcomer";
      case Notice::Kind::generation:
        return "generation begins";
      case Notice::Kind::outdated:
        return "outdated";
    }
    return "";
  }
  static std::string text(const Record& record) {
    std::string text = fmt::format("writes {}, {}", text_of(record.self), text_of(record.view));
    if (record.promised.round != 0) text += ", promised " + text_of(record.promised);
    if (record.accepted_in.round != 0)
      text +=
          fmt::format(", accepted {} in {}", text_of(record.accepted), text_of(record.accepted_in));
    return text;
  }
  static std::string state(const Machine& machine, BootTime now) {
    std::string text = machine.main(now)           ? "main"
                       : machine.leads()           ? "leads"
                       : machine.in_main_part(now) ? "in the main part"
                                                   : "not in the main part";
    return text + ", " + text_of(machine.view());
  }

 private:
  Rules rules_;
  std::uint32_t hosts_ = 0;
  std::uint32_t guests_ = 0;
  std::array<std::uint32_t, 16> made_{};  // records of each host so far
};

}  // namespace tempo::membership
