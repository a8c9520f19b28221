// The phase king: Byzantine agreement on many bits at once, among n >= 3t + 1 processes in rounds.
//
// Pure arithmetic: at the end of every round the caller passes in the votes it received, and at the
// beginning of the next it sends the vote that `vote` returns. t + 1 phases of three rounds: send
// your bits; propose the bits that n - t processes have sent; the phase's king sends its own bits,
// and a process that has seen fewer than n - t proposals takes the king's. One of the t + 1 kings
// is honest, and the bits that all honest processes have after its phase do not change any more.
//
// Source: Berman, Garay, Perry, "Towards Optimal Distributed Consensus", FOCS 1989.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/ids.h"
#include "machine/field_list.h"

namespace tempo::election {

class PhaseKing {
 public:
  static constexpr std::uint32_t kMaxMembers = 16;

  // Vote of a process in a round: bits that are one and, in proposals, bits that are zero.
  struct Vote {
    std::uint16_t ones = 0;
    std::uint16_t zeros = 0;

    bool operator==(const Vote&) const = default;
    static constexpr auto fields(auto list) {
      return list(field<&Vote::ones>("ones"), field<&Vote::zeros>("zeros"));
    }
  };
  // Received votes by sender; unset: no vote.
  using Votes = std::array<std::optional<Vote>, kMaxMembers>;

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

  // The vote to send in this round; unset: none.
  std::optional<Vote> vote(NodeId self) const {
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

  // Ends the round.
  void end_round(const Votes& votes) {
    CHECK(!over());
    switch (round_ % 3) {
      case 0:
        propose(votes);
        break;
      case 1:
        weigh(votes);
        break;
      default:
        obey(votes);
        break;
    }
    ++round_;
  }

  static constexpr auto fields(auto list) {
    using M = PhaseKing;
    return list(field<&M::members_>("members"), field<&M::malicious_>("malicious"),
                field<&M::round_>("round"), field<&M::bits_>("bits"),
                field<&M::proposal_>("proposal"), field<&M::sure_>("sure"));
  }
  friend FieldCheck;

 private:
  std::uint32_t king() const { return round_ / 3; }
  std::uint16_t all() const { return static_cast<std::uint16_t>((1U << members_) - 1); }
  std::uint32_t quorum() const { return std::uint32_t{members_} - malicious_; }

  struct Count {
    std::uint32_t ones = 0, zeros = 0;
  };
  Count count(const Votes& votes, std::uint32_t bit) const {
    Count sum;
    for (std::uint32_t i = 0; i < members_; ++i) {
      if (!votes[i]) continue;
      sum.ones += (std::uint32_t{votes[i]->ones} >> bit) & 1U;
      sum.zeros += (std::uint32_t{votes[i]->zeros} >> bit) & 1U;
    }
    return sum;
  }

  void propose(const Votes& votes) {
    proposal_ = {};
    for (std::uint32_t bit = 0; bit < members_; ++bit) {
      const Count sent = count(votes, bit);
      if (sent.ones >= quorum())
        put(proposal_.ones, bit, true);
      else if (sent.zeros >= quorum())
        put(proposal_.zeros, bit, true);
    }
  }
  void weigh(const Votes& votes) {
    sure_ = 0;
    for (std::uint32_t bit = 0; bit < members_; ++bit) {
      const Count proposed = count(votes, bit);
      const bool one = proposed.ones >= proposed.zeros;
      const std::uint32_t strength = one ? proposed.ones : proposed.zeros;
      if (strength > malicious_) put(bits_, bit, one);
      if (strength >= quorum()) put(sure_, bit, true);
    }
  }
  void obey(const Votes& votes) {
    const Vote vote = votes[king()].value_or(Vote{});
    bits_ = static_cast<std::uint16_t>((bits_ & sure_) | (vote.ones & ~sure_ & all()));
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
  std::uint16_t sure_ = 0;  // bits that no king can change any more
};

}  // namespace tempo::election
