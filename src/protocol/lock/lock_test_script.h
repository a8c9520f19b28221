// The lock service in scripts (lab/sim/world_script.h): its settings, commands and texts.
//
// Settings: voters N, the number of the first voters, 0: they are nominated; named HOSTS, the only
// hosts that may be first voters, comma-separated; policy POLICY HOST as `policy witness=host3`;
// lease SPAN, the length of leases; longest SPAN. Commands:
//
//     host1 acquire LOCK client 3 [shared] [silent | explicit] [lease SPAN]
//     host1 release client 3
//     host1 admit HOST, host1 forget HOST
//     host1 nominates HOSTS, comma-separated; host1 withdraws the last change
//
// Messages have the names of doc/internals/lease.md, lock.md and doc/reference/wire.md.
#pragma once

#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "base/span_text.h"
#include "lab/sim/world_script.h"
#include "protocol/lock/lock_service.h"
#include "protocol/lock/lock_status.h"

namespace tempo::locks {

// Host i has the number i.
inline HostId scripted_host(NodeId node) { return HostId{std::uint64_t{index(node)} << 44 | 1}; }
inline std::string scripted_name(HostId host) {
  return sim::host_name(NodeId{static_cast<std::uint32_t>(std::to_underlying(host) >> 44)});
}
// Fills a directory with these hosts.
inline void admit_hosts(wire::Directory& directory, std::uint32_t hosts) {
  for (std::uint32_t i = 0; i < hosts; ++i)
    directory.admit(scripted_host(NodeId{i}))->name = wire::Name(sim::host_name(NodeId{i}));
}

// --- texts ---

inline std::string text_of(const wire::LockVoters& voters) {
  std::string text = fmt::format("view {}:", voters.number);
  for (const wire::LockVoter& slot : voters.slots) {
    if (slot.host == kNoHost) continue;
    text += " " + scripted_name(slot.host);
    if (slot.votes > 1) text += fmt::format("*{}", slot.votes);
  }
  return text;
}

inline std::string text_of(const std::vector<HostId>& hosts) {
  std::string text;
  for (const HostId host : hosts) text += " " + scripted_name(host);
  return text;
}

// "VOTERS ready host1 host2".
inline std::string text_of(const wire::VoterSetBody& body) {
  constexpr std::array<std::string_view, 3> kStages{"proposed", "ready", "committed"};
  return fmt::format("VOTERS {}{}", kStages[std::to_underlying(body.stage)],
                     text_of({body.voters.begin(), body.voters.end()}));
}

// "ASK door ballot 1", "GRANT door ballot 1", "PASS door to host2 ballot 1.1".
inline std::string text_of(const wire::LockBody& body) {
  using lock::lease::Kind;
  const auto kind = static_cast<Kind>(body.kind);
  std::string text(name_of(kind));
  for (char& letter : text) letter = static_cast<char>(std::toupper(letter));
  if (!body.name.text().empty()) text += fmt::format(" {}", body.name.text());
  if (kind == Kind::pass) text += fmt::format(" to {}", scripted_name(body.pass.target));
  if (body.ballot.count != 0)
    text += fmt::format(" ballot {}{}", body.ballot.count,
                        kind == Kind::pass ? fmt::format(".{}", body.pass.sub) : "");
  if (kind == Kind::pass) text += " left " + milliseconds_text(body.pass.left);
  if (kind == Kind::ask && body.held) text += " extend";
  if (body.resumed) text += " resumed";
  for (const wire::LockInsider& insider : body.inside.clients)
    text += fmt::format(" inside {}.{}", body.ballot.count, insider.sub);
  if (body.confirmed) text += " confirmed";
  if (body.no_wait) text += " no-wait";
  if (kind == Kind::refuse && body.held) text += " held";
  if (kind == Kind::ask && body.shared) text += " shared";
  if (body.length != Nanos{0}) text += " length " + span_text(body.length);
  if (kind == Kind::refuse) text += fmt::format(" {}", name_of(lock::lease::Why{body.why}));
  if (kind == Kind::record)
    text += body.reserve == 0 ? " blank" : fmt::format(" reserve {}", body.reserve);
  if (kind == Kind::query && body.boot != 0) text += fmt::format(" claims boot {}", body.boot);
  for (const wire::LockClaim& claim : body.claims)
    text += fmt::format(" confirms {} boot {}", scripted_name(claim.host), claim.boot);
  if (body.set.number != 0) text += " " + text_of(body.set);
  if (body.next.number != 0) text += " next " + text_of(body.next);
  return text;
}

// "request door number 5 reply", "heartbeat".
inline std::string text_of(const BoundedDelayLocks::Message& message) {
  if (std::holds_alternative<wire::BeatBody>(message.body)) return "heartbeat";
  const auto& body = std::get<wire::MutexBody>(message.body);
  constexpr std::array<std::string_view, 5> kNames{"request", "negative", "positive", "restart",
                                                   "answer"};
  std::string text =
      fmt::format("{} {} number {}", kNames[body.kind], body.name.text(), body.number);
  if (body.shared) text += " shared";
  if (body.reply) text += " reply";
  return text;
}

inline std::string text_of(const LockService::Message& message) {
  return std::visit([](const auto& body) { return text_of(body); }, message);
}

inline std::string text_of(const LockUpdate& update) {
  const std::string client = fmt::format("client {}", std::to_underlying(update.client));
  switch (update.kind) {
    case LockUpdate::Kind::granted: {
      const auto held = lock::lease::Held::of(update.token);
      return fmt::format(
          "{} granted{} until {}", client,
          update.token == lock::kNoToken ? "" : fmt::format(" token {}.{}", held.count, held.sub),
          sim::script_time(update.deadline));
    }
    case LockUpdate::Kind::extended:
      return fmt::format("{} extended until {}", client, sim::script_time(update.deadline));
    case LockUpdate::Kind::lost:
      return fmt::format("{} lost", client);
    case LockUpdate::Kind::refused:
      return fmt::format("{} refused: {}", client,
                         update.refusal == Refusal::queue_full  ? "too many clients wait"
                         : update.refusal == Refusal::no_voters ? "the voters are not known yet"
                         : update.refusal == Refusal::held
                             ? "held"
                             : refusal_text(update.refusal, update.lock, 2s));
  }
  return "";
}

inline std::string text_of(const LockService::Notice& notice) {
  if (const auto* update = std::get_if<LockUpdate>(&notice)) return text_of(*update);
  if (const auto* agreed = std::get_if<LockService::VotersAgreed>(&notice))
    return fmt::format("reports {} voters", agreed->voters);
  if (std::holds_alternative<LockService::VotersChanged>(notice)) return "reports changed voters";
  if (const auto* other = std::get_if<LockService::TwoSets>(&notice))
    return fmt::format("reports two voting sets, heard from {}", scripted_name(other->host));
  if (const auto* clone = std::get_if<LockService::CloneHeard>(&notice))
    return fmt::format("reports a clone of {}", scripted_name(clone->host));
  if (std::holds_alternative<LockService::Retired>(notice)) return "reports that it is retired";
  constexpr std::array<std::string_view, 11> kOutcomes{"done",
                                                       "locks do not run here yet",
                                                       "another change is in progress",
                                                       "available",
                                                       "it has a vote already",
                                                       "no more voters are possible",
                                                       "the last one",
                                                       "it is preferred",
                                                       "it does not answer",
                                                       "no majority answers",
                                                       "withdrawn"};
  const auto& ended = std::get<LockService::ChangeEnded>(notice);
  return fmt::format("reports about {}: {}",
                     ended.host == kNoHost ? "the nomination" : scripted_name(ended.host),
                     kOutcomes[std::to_underlying(ended.outcome)]);
}

inline std::string text_of(const LockRecord& record) {
  constexpr std::array<std::string_view, 3> kStages{"proposed", "ready", "committed"};
  std::string text =
      fmt::format("writes {}{}", kStages[std::to_underlying(record.stage)], text_of(record.voters));
  if (record.lease)
    text += fmt::format(" boot {} reserve {} {}", std::to_underlying(record.lease->boot),
                        record.lease->reserve, text_of(record.lease->view));
  if (record.lease && record.lease->next.number > record.lease->view.number)
    text += " accepts " + text_of(record.lease->next);
  return text;
}

// --- commands ---

// Words of a command, read from the left.
class ScriptWords {
 public:
  explicit ScriptWords(const std::vector<std::string_view>& words) : words_(&words) {}
  bool empty() const { return next_ == words_->size(); }
  std::string_view take() { return empty() ? std::string_view{} : (*words_)[next_++]; }
  // Takes the next word if it is this one.
  bool take(std::string_view word) {
    const bool same = !empty() && (*words_)[next_] == word;
    if (same) ++next_;
    return same;
  }

 private:
  const std::vector<std::string_view>* words_;
  std::size_t next_ = 0;
};

inline Result<ClientId> client_of(ScriptWords& words) {
  if (!words.take("client")) return std::unexpected("a client is missing, for example 'client 3'");
  TRY(number, number_within<std::uint32_t>(words.take(), 1, kGroupBit - 1));
  return ClientId{number};
}

// A session of a script: its number, which is also that of its process.
inline Result<lock::lease::Session> session_of(ScriptWords& words) {
  TRY(number, number_within<std::uint32_t>(words.take(), 1, kGroupBit - 1));
  return lock::lease::Session{.number = number, .process = number};
}

// "door client 4 session 3 token 1.1 of host1 until 8000"
inline Result<Resume> resume_of(ScriptWords& words, std::uint32_t hosts) {
  Resume resume{.name = std::string(words.take())};
  TRY(client, client_of(words));
  resume.client = client;
  if (words.take("shared")) resume.mode = Mode::shared;
  if (!words.take("session")) return std::unexpected("a session is missing");
  TRY(session, session_of(words));
  resume.session = session;
  if (!words.take("token")) return std::unexpected("a token is missing, for example 'token 1.1'");
  const std::string_view token = words.take();
  const std::size_t dot = std::min(token.find('.'), token.size());
  TRY(count, number_within<std::uint32_t>(token.substr(0, dot), 1, 1 << 30));
  TRY(sub, number_within<std::uint32_t>(token.substr(std::min(dot + 1, token.size())), 1, 1 << 20));
  resume.token = lock::lease::Held{count, sub}.token();
  if (!words.take("of")) return std::unexpected("the ballot's host is missing: 'of host1'");
  TRY(host, sim::host_named(words.take(), hosts));
  resume.origin = scripted_host(host);
  if (!words.take("until")) return std::unexpected("a deadline is missing: 'until 8000'");
  TRY(ms, number_within<std::uint32_t>(words.take(), 0, 1 << 30));
  resume.deadline = BootTime{std::chrono::milliseconds{ms}};
  return resume;
}

inline Result<Acquire> acquire_of(ScriptWords& words, BootTime now) {
  Acquire acquire{.name = std::string(words.take())};
  TRY(client, client_of(words));
  acquire.client = client;
  acquire.network_us = static_cast<std::uint64_t>(now.time_since_epoch() / 1us);
  if (words.take("shared")) acquire.mode = Mode::shared;
  if (words.take("silent")) acquire.kind = LockKind::silent;
  if (words.take("explicit")) acquire.kind = LockKind::explicit_replies;
  if (words.take("lease")) {
    TRY(lease, parse_span(words.take()));
    acquire.lease = lease;
  }
  if (words.take("no-wait")) acquire.no_wait = true;
  if (words.take("session")) {
    TRY(session, session_of(words));
    acquire.session = session;
  }
  return acquire;
}

class ScriptedLocks {
 public:
  using Machine = LockService;

  Result<bool> setting(std::string_view word, std::string_view value) {
    if (word == "voters") {
      TRY(voters, number_within<std::uint32_t>(value, 0, lock::kMaxVoterSet));
      voters_ = static_cast<std::uint8_t>(voters);
    } else if (word == "lease" || word == "longest") {
      TRY(span, parse_span(value));
      rules_.longest = std::max(rules_.longest, span);
      if (word == "lease") rules_.lease = rules_.longest = span;
    } else if (word == "named") {
      for (const std::string_view name : split_text(value, ',')) named_.emplace_back(name);
      voters_ = static_cast<std::uint8_t>(named_.size());
    } else if (word == "policy") {
      using lock::lease::TwoNode;
      const std::string_view name = value.substr(0, value.find('='));
      policy_host_ = value.substr(std::min(name.size() + 1, value.size()));
      if (name != "witness" && name != "preferred" && name != "available")
        return std::unexpected(fmt::format("'{}' is not a policy", name));
      policy_ = name == "witness"     ? TwoNode::witness
                : name == "preferred" ? TwoNode::preferred
                                      : TwoNode::available;
    } else {
      return false;
    }
    return true;
  }
  void set_hosts(std::uint32_t hosts) {
    hosts_ = hosts;
    admit_hosts(directory_, hosts);
  }
  LockService make(NodeId node, Incarnation life, BootTime /*now*/, const LockRecord* record) {
    const std::string name = sim::host_name(node);
    return LockService({.self = scripted_host(node),
                        .life = life,
                        .hosts = &directory_,
                        .expected = voters_,
                        .named = named_,
                        .rules = rules_,
                        .policy = policy_,
                        .policy_host = policy_host_,
                        .is_policy_host = name == policy_host_,
                        .kernel = "kernel",
                        .record = record == nullptr ? std::nullopt : std::optional(*record),
                        .beginnings = 1});
  }

  Result<LockService::Command> command(BootTime now, const std::vector<std::string_view>& line) {
    ScriptWords words(line);
    const std::string_view verb = words.take();
    LockService::Command command;
    if (verb == "acquire") {
      TRY(acquire, acquire_of(words, now));
      command = acquire;
    } else if (verb == "resumes") {
      TRY(resume, resume_of(words, hosts_));
      command = resume;
    } else if (verb == "release") {
      TRY(client, client_of(words));
      command = Release{client};
    } else if (verb == "admit" || verb == "forget") {
      TRY(host, sim::host_named(words.take(), hosts_));
      command = LockService::ChangeVoters{++changes_, scripted_host(host), verb == "admit"};
    } else if (verb == "nominates") {
      LockService::NominateVoters wanted{.number = ++changes_};
      for (const std::string_view name : split_text(words.take(), ',')) {
        TRY(host, sim::host_named(name, hosts_));
        wanted.hosts.push_back(scripted_host(host));
      }
      command = wanted;
    } else if (verb == "withdraws") {  // the last change that was ordered
      command = LockService::CancelChange{changes_};
    } else {
      return std::unexpected(fmt::format("'{}' is not a command of locks", verb));
    }
    if (!words.empty())
      return std::unexpected(fmt::format("'{}' is one word too many", words.take()));
    return command;
  }

  static std::string text(const LockService::Message& message) { return text_of(message); }
  static std::string text(const LockService::Notice& notice) { return text_of(notice); }
  static std::string text(const LockRecord& record) { return text_of(record); }

  // "serves; 3 voters; locks survive the loss of 1; door: host1 until 2000, client 3 inside".
  std::string state(const LockService& machine, BootTime now) const {
    if (!machine.committed())
      return fmt::format("heard {} others{}", machine.heard(),
                         machine.crowded() ? ": too many" : "");
    std::string text = machine.serves(now) ? "serves" : "abstains";
    const NodeId needed = needed_voter(machine.view());
    text += "; " + lock_status(machine.view(), needed == kNobody ? "" : sim::host_name(needed));
    if (const auto breach = machine.bounded_delay()->why()) {
      const HostId member = machine.bounded_delay()->member(*breach);
      text += "; " + silent_mode_text(*breach, {}, scripted_name(member));
    }
    for (const Known& known : machine.known(now)) {
      text += fmt::format("; {}: {}", known.name,
                          known.holder == kNoHost ? "holder unknown" : scripted_name(known.holder));
      for (const Known::Client& client : known.clients)
        text += fmt::format(", client {} {}", std::to_underlying(client.id),
                            client.inside ? "inside" : "waits");
      for (const Known::Waiter& waiter : known.elsewhere)
        text += fmt::format(", {} waits", scripted_name(waiter.host));
    }
    return text;
  }

 private:
  std::uint32_t hosts_ = 0;
  std::uint8_t voters_ = 3;
  std::vector<std::string> named_{};
  lock::lease::Rules rules_{};
  lock::lease::TwoNode policy_ = lock::lease::TwoNode::strict;
  std::string policy_host_{};
  wire::Directory directory_;  // of all hosts
  std::uint64_t changes_ = 0;
};

}  // namespace tempo::locks
