// Harness for one MasterElection: a test sends it messages of peers, and every random draw returns
// the same share of its range. Tests name nodes by number; the node under test is 1.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "protocol/election/master.h"

namespace tempo::election {

inline constexpr NodeId kSelf{1};
inline constexpr Incarnation kIncarnation{77};
inline constexpr Instant kStart{100s};

inline constexpr std::array<State, kStates> kAllStates{
    State::startup,   State::no_master, State::master,   State::slave,
    State::candidate, State::accept,    State::conflict, State::consistency};
inline constexpr std::array kReliable{Kind::accept,   Kind::refuse,  Kind::quit,
                                      Kind::conflict, Kind::adjtime, Kind::settime};

// Draws always the same share of the range: 0 is the minimum, 1 the maximum.
class ShareDraw final : public Draw {
 public:
  explicit ShareDraw(double share) : share_(share) {}
  void set(double share) { share_ = share; }
  std::uint64_t below(std::uint64_t limit) override {
    return static_cast<std::uint64_t>(share_ * static_cast<double>(limit - 1));
  }

 private:
  double share_;
};

// Another node: it numbers its messages and keeps its epoch.
struct Peer {
  NodeId id;
  Incarnation incarnation{500};
  std::uint32_t last = 0;  // last sequence number used
  Epoch epoch{};

  Message make(Kind kind, Message with = {}) {
    with.kind = kind;
    with.incarnation = incarnation;
    with.sequence = Sequence{++last};
    if (with.epoch == kNoEpoch) with.epoch = epoch;
    return with;
  }
};

inline Peer peer(std::uint32_t id) {
  return {.id = NodeId{id}, .incarnation = Incarnation{500 + id}};
}
// A peer that is, or was, master in this round.
inline Peer master_of(std::uint32_t round, std::uint32_t id) {
  Peer master = peer(id);
  master.epoch = {round, master.id, master.incarnation};
  return master;
}

class Harness {
 public:
  explicit Harness(std::string_view profile_name = "lan", std::uint32_t repeats = 0,
                   Variant variant = {}, Priority priority = kMaxPriority)
      : rules_{*profile(profile_name), repeats, variant},
        machine_({kSelf, kIncarnation, priority}, rules_) {}
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;
  ~Harness() = default;

  using Lines = std::vector<std::string>;

  // Outputs of a step as text: "ack to 5", "loop to all", "adjusted by 5". The notices `leads` and
  // `follows` are not included: see `allegiance`.
  Lines start() {
    return step([&](auto& turn) { machine_.start(turn); });
  }
  Lines receive(NodeId from, const Message& message) {
    return step([&](auto& turn) { machine_.receive(turn, from, message); });
  }
  Lines receive(Peer& from, Kind kind, const Message& with = {}) {
    return receive(from.id, from.make(kind, with));
  }
  Lines on_timer(Timer timer) {
    return step([&](auto& turn) { machine_.on_timer(turn, timer_id(timer)); });
  }
  Lines command(Command command) {
    return step([&](auto& turn) { machine_.command(turn, command); });
  }
  // Advances to the deadline of this timer and fires it.
  Lines run_out(Timer timer) {
    EXPECT_TRUE(runs(timer)) << name_of(timer);
    if (!runs(timer)) return {};
    now_ = machine_.timers().at(timer);
    return on_timer(timer);
  }
  // Advances by `span` and fires all timers that become due, in order.
  Lines pass(Nanos span) {
    Lines all;
    const Instant end = now_ + span;
    while (machine_.timers().first() <= end) {
      now_ = std::max(now_, machine_.timers().first());
      const Lines lines =
          step([&](auto& turn) { machine_.on_timer(turn, machine_.timers().first_name()); });
      all.insert(all.end(), lines.begin(), lines.end());
    }
    now_ = end;
    return all;
  }
  // Advances by `span` and fires no timer, as in a suspended process.
  void sleep(Nanos span) { now_ += span; }
  void draw_share(double share) { draw_.set(share); }

  // The last notice `leads` or `follows`: "leads 10", "follows 9 in 10"; empty before the first.
  const std::string& allegiance() const { return allegiance_; }

  const MasterElection& machine() const { return machine_; }
  State state() const { return machine_.state(); }
  Instant now() const { return now_; }
  const Timing& timing() const { return rules_.timing; }
  // Time until this timer expires.
  Nanos left(Timer timer) const {
    EXPECT_TRUE(runs(timer)) << name_of(timer);
    return machine_.timers().at(timer) - now_;
  }
  bool runs(Timer timer) const { return machine_.timers().running(timer); }
  std::string packed_now() const { return packed(machine_, now_); }

  // All messages of the last step.
  const std::vector<Message>& sent() const { return sent_; }
  const Message& sent(Kind kind) const {
    const auto found = std::ranges::find(sent_, kind, &Message::kind);
    EXPECT_NE(found, sent_.end()) << name_of(kind) << " was not sent";
    static const Message nothing{};
    return found == sent_.end() ? nothing : *found;
  }

 private:
  template <class Function>
  Lines step(Function function) {
    out_.clear();
    Turn<MasterElection> turn{now_, draw_, out_};
    function(turn);
    EXPECT_EQ(machine_.check(), nullptr) << machine_.check();
    Lines lines;
    sent_.clear();
    for (const auto& output : out_) {
      if (output.kind == OutputKind::notice && output.notice.news == Change::leads) {
        allegiance_ = fmt::format("leads {}", output.notice.epoch.round);
      } else if (output.kind == OutputKind::notice && output.notice.news == Change::follows) {
        allegiance_ =
            fmt::format("follows {} in {}", index(output.notice.peer), output.notice.epoch.round);
      } else if (output.kind == OutputKind::notice) {
        constexpr std::array<std::string_view, 4> kChanges{"adjusted by", "set by",
                                                           "down:", "ended"};
        std::string line{kChanges[static_cast<std::size_t>(output.notice.news)]};
        if (output.notice.peer != kNobody) line += fmt::format(" {}", index(output.notice.peer));
        lines.push_back(line);
      } else {
        const bool all = output.kind == OutputKind::broadcast;
        lines.push_back(fmt::format("{} to {}", name_of(output.message),
                                    all ? "all" : std::to_string(index(output.to))));
        sent_.push_back(output.message);
      }
    }
    return lines;
  }

  Rules rules_;
  MasterElection machine_;
  Instant now_ = kStart;
  ShareDraw draw_{0.5};
  Outbox<MasterElection> out_;
  std::vector<Message> sent_;
  std::string allegiance_;
};

// The master of round 10, which the node follows after `bring_to`. Brought to master, the node
// itself is master of round 10.
inline Peer old_master() {
  Peer master = master_of(10, 9);
  master.last = 1000;
  return master;
}

// Brings a new machine to this state by the shortest sequence of inputs.
inline void bring_to(Harness& harness, State state) {
  Peer master = master_of(10, 9);
  Peer other = peer(4);
  harness.start();
  switch (state) {
    case State::startup:
      break;
    case State::no_master:
      harness.run_out(Timer::startup);
      break;
    case State::master:
    case State::conflict: {
      // The message names round 9, so the next round is 10.
      Message stale;
      stale.epoch = {9, NodeId{8}, Incarnation{1}};
      harness.receive(other, Kind::stale, stale);
      harness.run_out(Timer::startup);
      harness.run_out(Timer::no_master);
      if (state == State::conflict) harness.receive(other, Kind::conflict);
      break;
    }
    case State::slave:
    case State::candidate:
    case State::accept:
      harness.receive(master, Kind::masterup);
      if (state == State::candidate) harness.command(Command::stand);
      if (state == State::accept) harness.receive(other, Kind::election);
      break;
    case State::consistency:
      harness.receive(master, Kind::masterack);
      break;
  }
  ASSERT_EQ(harness.state(), state);
}

// Sequence number of the Election of `bring_to(candidate)`, after Masterreq 1 and Slaveup 2.
inline constexpr Sequence kOurElection{3};

inline Message answering(Sequence election) {
  Message with;
  with.answers = election;
  return with;
}

}  // namespace tempo::election
