// A malicious member of Algorithm B.2 for the checker: every lie, at every time.
//
// In any tick it may broadcast, once each, a bid higher than that of any candidate and a report of
// any number of bids. After the honest members have reported it can gain nothing more: its bid is
// in none of their reports, and its report comes after theirs.
#pragma once

#include <cstdint>

#include "machine/machine.h"
#include "protocol/group/capacity_b2.h"

namespace tempo::check {

class B2Byzantine {
 public:
  using Message = election::CapacityB2::Message;
  using Time = election::CapacityB2::Time;
  using Command = election::CapacityB2::Command;
  using Notice = election::CapacityB2::Notice;
  enum class Timer : std::uint8_t { speak, count };

  // `patience`: number of ticks after the first bid in which it may send. `bids`: largest number of
  // bids that it reports; its own bid is one higher than this.
  B2Byzantine(std::uint8_t patience, std::uint8_t bids) : left_(patience), bids_(bids) {}

  void start(Turn<B2Byzantine>& turn);
  void receive(Turn<B2Byzantine>& turn, NodeId from, const Message& message);
  void on_timer(Turn<B2Byzantine>& turn, TimerId timer);
  void command(Turn<B2Byzantine>& turn, const Command& command);

  const Timers<Timer, Time>& timers() const { return timers_; }
  const char* check() const { return nullptr; }

  static constexpr auto fields(auto list) {
    using M = B2Byzantine;
    return list(field<&M::left_>("left"), field<&M::bid_>("bid"), field<&M::reported_>("reported"),
                field<&M::timers_>("timers"), fixed<&M::bids_>());
  }
  friend FieldCheck;

 private:
  std::uint8_t left_;  // ticks left in which it may send
  std::uint8_t bids_;
  bool bid_ = false;
  bool reported_ = false;
  Timers<Timer, Time> timers_;
};

}  // namespace tempo::check
