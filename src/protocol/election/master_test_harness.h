// Harness for one MasterElection: a test sends it messages of peers, and every random draw returns
// the same share of its range. Tests name nodes by number; the node under test is 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "machine/machine_harness.h"
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

class Harness : public MachineHarness<MasterElection> {
 public:
  explicit Harness(std::string_view profile_name = "lan", std::uint32_t repeats = 0,
                   Variant variant = {}, Priority priority = kMaxPriority)
      : MachineHarness(kStart), rules_{*profile(profile_name), repeats, variant} {
    make(MasterElection::Identity{kSelf, kIncarnation, priority}, rules_);
    draw_share(0.5);
  }
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  using MachineHarness::on_timer;
  using MachineHarness::receive;
  Lines receive(Peer& from, Kind kind, const Message& with = {}) {
    return receive(from.id, from.make(kind, with));
  }
  Lines on_timer(Timer timer) { return on_timer(timer_id(timer)); }
  void draw_share(double share) { draw().set_share(share); }

  // The last notice `leads` or `follows`: "leads 10", "follows 9 in 10"; empty before the first.
  const std::string& allegiance() const { return allegiance_; }

  State state() const { return machine().state(); }
  const Timing& timing() const { return rules_.timing; }
  // Time until this timer expires.
  Nanos left(Timer timer) const {
    EXPECT_TRUE(runs(timer)) << name_of(timer);
    return machine().timers().at(timer) - now();
  }
  bool runs(Timer timer) const { return machine().timers().running(timer); }
  std::string packed_now() const { return packed(machine(), now()); }

  // The first message of the last step, of this kind if one is named.
  const Message& sent(std::optional<Kind> kind = {}) const {
    for (const auto& output : outputs())
      if (output.kind != OutputKind::notice &&
          output.message.kind == kind.value_or(output.message.kind))
        return output.message;
    ADD_FAILURE() << (kind ? name_of(*kind) : "a message") << " was not sent";
    static const Message nothing{};
    return nothing;
  }

 private:
  // "ack to 5", "loop to all", "adjusted by 5". The notices `leads` and `follows` are not included:
  // see `allegiance`.
  std::string text_of(const Output<MasterElection>& output) override {
    if (output.kind != OutputKind::notice) return MachineHarness::text_of(output);
    const auto& [news, peer, epoch] = output.notice;
    if (news == Change::leads) {
      allegiance_ = fmt::format("leads {}", epoch.round);
      return "";
    }
    if (news == Change::follows) {
      allegiance_ = fmt::format("follows {} in {}", index(peer), epoch.round);
      return "";
    }
    constexpr std::array<std::string_view, 4> kChanges{"adjusted by", "set by", "down:", "ended"};
    const std::string_view change = kChanges[static_cast<std::size_t>(news)];
    return peer == kNobody ? std::string(change) : fmt::format("{} {}", change, index(peer));
  }

  Rules rules_;
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
