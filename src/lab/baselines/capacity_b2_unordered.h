// Algorithm B.2 for broadcasts that reach different processes in different orders.
//
// Like B.2, but a report lists its bids, and the processes must agree on the reports that count: a
// Byzantine agreement for each process's report (phase_king.h, all of them in the same messages),
// after which all processes have the same reports. A bid that t + 1 of these list is real, and the
// best real one wins. At most 5T + 6T (t + 1) and candidates + n + (t + 1)(2n + 1) broadcasts.
//
// The broadcast still delivers to all or none within T, and from each process at most one message
// for each place in the protocol (its bid, its report, its vote in a round): a reliable broadcast
// that numbers these provides that. Rounds last 2T, because processes begin them up to T apart.
//
// Source: section 5.3 of the paper, which names the problem and leaves the agreement to others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lab/baselines/phase_king.h"
#include "machine/machine.h"
#include "protocol/group/capacity.h"

namespace tempo::election {
namespace capacity_b2_unordered {

inline constexpr std::uint32_t kMaxMembers = PhaseKing::kMaxMembers;

enum class Phase : std::uint8_t { normal, coll1, coll2, agree, stop };
enum class Kind : std::uint8_t { init, vect, word };

// The bids of all processes, by node; below zero: none.
using Offers = std::array<capacity::Capacity, kMaxMembers>;

struct Message {
  Kind kind = Kind::init;
  std::uint8_t round = 0;    // of word
  std::uint32_t number = 0;  // of the election
  PhaseKing::Vote word{};    // of word
  Offers offers{};           // of vect; of init the first is the sender's

  bool operator==(const Message&) const = default;
  static constexpr auto fields(auto list) {
    using M = Message;
    return list(field<&M::kind>("kind"), field<&M::round>("round"), field<&M::number>("number"),
                field<&M::word>("word"), field<&M::offers, role::each>("offer"));
  }
};

enum class Timer : std::uint8_t { phase, count };

std::string_view name_of(Phase phase);
std::string_view name_of(const Message& message);

}  // namespace capacity_b2_unordered

class CapacityB2Unordered {
 public:
  using Message = capacity_b2_unordered::Message;
  using Command = capacity::Command;
  using Notice = capacity::Notice;
  using Phase = capacity_b2_unordered::Phase;

  // Many machines share the rules, which must outlive them; members >= 3 * malicious + 1, and at
  // most kMaxMembers.
  CapacityB2Unordered(NodeId self, const capacity::Rules& rules);

  void start(Turn<CapacityB2Unordered>& turn);
  void receive(Turn<CapacityB2Unordered>& turn, NodeId from, const Message& message);
  void on_timer(Turn<CapacityB2Unordered>& turn, TimerId timer);
  void command(Turn<CapacityB2Unordered>& turn, const Command& command);

  const Timers<capacity_b2_unordered::Timer>& timers() const { return timers_; }
  const char* check() const;

  Phase phase() const { return phase_; }
  NodeId self() const { return self_; }
  NodeId master() const { return master_; }  // of the last election that ended; kNobody: none
  bool decided() const { return phase_ == Phase::stop; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [node, rules, phase, number, offer, offers, reports, king, votes, early_messages, master,
           timers] = self;
    visit("self", node);
    visit("phase", phase);
    visit("number", number);
    visit("offer", offer);
    for (auto& other : offers) visit("offer", other);
    for (auto& report : reports) {
      bool there = report.has_value();
      visit("there", there);
      if (report)
        for (auto& reported : *report) visit("reported", reported);
    }
    visit("king", king);
    for (auto& round : votes)
      for (auto& vote : round) visit("heard", vote);
    visit("next", early_messages);
    visit("master", master);
    visit("timers", timers);
  }

 private:
  using Offers = capacity_b2_unordered::Offers;

  void begin(Turn<CapacityB2Unordered>& turn);
  void begin_next(Turn<CapacityB2Unordered>& turn);
  void receive_vote(NodeId from, const Message& message);
  void begin_round(Turn<CapacityB2Unordered>& turn);
  void end_round(Turn<CapacityB2Unordered>& turn);
  NodeId choose() const;
  void renew();

  NodeId self_;
  const capacity::Rules* rules_;
  Phase phase_ = Phase::normal;
  std::uint32_t number_ = 1;  // of the next, current or last election
  capacity::Capacity offer_ = capacity::kNotCandidate;
  Offers offers_;                                                                    // S
  std::array<std::optional<Offers>, capacity_b2_unordered::kMaxMembers> reports_{};  // Y
  PhaseKing king_;
  std::array<PhaseKing::Votes, 2> votes_{};  // of this round, and the next if others are ahead
  capacity::EarlyMessages<Message> early_messages_;
  NodeId master_ = kNobody;
  Timers<capacity_b2_unordered::Timer> timers_;
};

static_assert(CheckableMachine<CapacityB2Unordered>);

}  // namespace tempo::election
