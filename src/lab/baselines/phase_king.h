// The phase king: Byzantine agreement on many bits at once, among n >= 3t + 1 processes in rounds.
//
// Pure arithmetic: whoever embeds it gives it, at the end of every round, what was heard from whom,
// and sends what `word` says at the beginning of the next. t + 1 phases of three rounds: say your
// bits; propose the bits that n - t have said; the phase's king says its own, and who has seen
// fewer than n - t proposals takes the king's. One of the t + 1 kings is honest, and what all
// honest processes have after its phase stays.
//
// Source: Berman, Garay, Perry, "Towards Optimal Distributed Consensus", FOCS 1989.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/ids.h"

namespace tempo::election {

class PhaseKing {
 public:
  static constexpr std::uint32_t kMaxMembers = 16;

  // What a process says in a round: bits that are one and, of proposals, bits that are zero.
  struct Vote {
    std::uint16_t ones = 0;
    std::uint16_t zeros = 0;

    bool operator==(const Vote&) const = default;
    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("ones", self.ones);
      visit("zeros", self.zeros);
    }
  };
  // By sender; who was not heard said nothing.
  using Heard = std::array<std::optional<Vote>, kMaxMembers>;

  PhaseKing() = default;
  PhaseKing(std::uint32_t members, std::uint32_t malicious, std::uint16_t bits)
      : members_(static_cast<std::uint8_t>(members)),
        malicious_(static_cast<std::uint8_t>(malicious)),
        bits_(bits) {
    CHECK(members <= kMaxMembers && members >= 3 * malicious + 1);
  }

  static constexpr std::uint32_t rounds(std::uint32_t malicious) { return 3 * (malicious + 1); }
  std::uint32_t round() const { return round_; }
  bool over() const { return round_ == rounds(malicious_); }
  std::uint16_t bits() const { return bits_; }  // agreed when it is over

  // What to say in this round; nothing unless it is our turn.
  std::optional<Vote> word(NodeId self) const {
    switch (round_ % 3) {
      case 0:
        return Vote{bits_, static_cast<std::uint16_t>(~bits_ & all())};
      case 1:
        return proposal_;
      default:
        if (index(self) != king()) return std::nullopt;
        return Vote{bits_, static_cast<std::uint16_t>(~bits_ & all())};
    }
  }

  // The round is over.
  void end_round(const Heard& heard) {
    CHECK(!over());
    switch (round_ % 3) {
      case 0:
        propose(heard);
        break;
      case 1:
        weigh(heard);
        break;
      default:
        obey(heard);
        break;
    }
    ++round_;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("members", self.members_);
    visit("malicious", self.malicious_);
    visit("round", self.round_);
    visit("bits", self.bits_);
    visit("proposal", self.proposal_);
    visit("sure", self.sure_);
  }

 private:
  std::uint32_t king() const { return round_ / 3; }
  std::uint16_t all() const { return static_cast<std::uint16_t>((1U << members_) - 1); }
  std::uint32_t most() const { return std::uint32_t{members_} - malicious_; }

  struct Count {
    std::uint32_t ones = 0, zeros = 0;
  };
  Count count(const Heard& heard, std::uint32_t bit) const {
    Count sum;
    for (std::uint32_t i = 0; i < members_; ++i) {
      if (!heard[i]) continue;
      sum.ones += (std::uint32_t{heard[i]->ones} >> bit) & 1U;
      sum.zeros += (std::uint32_t{heard[i]->zeros} >> bit) & 1U;
    }
    return sum;
  }

  void propose(const Heard& heard) {
    proposal_ = {};
    for (std::uint32_t bit = 0; bit < members_; ++bit) {
      const Count said = count(heard, bit);
      if (said.ones >= most())
        put(proposal_.ones, bit, true);
      else if (said.zeros >= most())
        put(proposal_.zeros, bit, true);
    }
  }
  void weigh(const Heard& heard) {
    sure_ = 0;
    for (std::uint32_t bit = 0; bit < members_; ++bit) {
      const Count proposed = count(heard, bit);
      const bool one = proposed.ones >= proposed.zeros;
      const std::uint32_t strength = one ? proposed.ones : proposed.zeros;
      if (strength > malicious_) put(bits_, bit, one);
      if (strength >= most()) put(sure_, bit, true);
    }
  }
  void obey(const Heard& heard) {
    const Vote word = heard[king()].value_or(Vote{});
    bits_ = static_cast<std::uint16_t>((bits_ & sure_) | (word.ones & ~sure_ & all()));
  }
  static void put(std::uint16_t& set, std::uint32_t bit, bool one) {
    const auto mask = static_cast<std::uint16_t>(1U << bit);
    set = static_cast<std::uint16_t>(one ? set | mask : set & ~mask);
  }

  std::uint8_t members_ = 0;
  std::uint8_t malicious_ = 0;
  std::uint8_t round_ = 0;
  std::uint16_t bits_ = 0;
  Vote proposal_{};
  std::uint16_t sure_ = 0;  // bits that no king can change now
};

}  // namespace tempo::election
