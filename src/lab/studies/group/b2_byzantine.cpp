#include "lab/studies/group/b2_byzantine.h"

namespace tempo::check {

using election::capacity_b2::Kind;

void B2Byzantine::start(Turn<B2Byzantine>& /*turn*/) {}

void B2Byzantine::receive(Turn<B2Byzantine>& turn, NodeId /*from*/, const Message& /*message*/) {
  if (left_ > 0 && !timers_.running(Timer::speak)) timers_.set(Timer::speak, turn.now + Nanos{1});
}

void B2Byzantine::on_timer(Turn<B2Byzantine>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  timers_.stop_all();
  --left_;
  // 0: nothing; 1: a bid; more: a report of so many bids less two.
  const std::uint64_t word = turn.draw.below(std::uint64_t{bids_} + 3);
  if (word == 1 && !bid_) {
    bid_ = true;
    turn.out.broadcast({.kind = Kind::init, .number = 1, .capacity = bids_ + 1});
  } else if (word > 1 && !reported_) {
    reported_ = true;
    turn.out.broadcast(
        {.kind = Kind::vect, .number = 1, .size = static_cast<std::uint32_t>(word - 2)});
  }
  if (bid_ && reported_) left_ = 0;
  if (left_ > 0) timers_.set(Timer::speak, turn.now + Nanos{1});
}

void B2Byzantine::command(Turn<B2Byzantine>& /*turn*/, const Command& /*command*/) {}

}  // namespace tempo::check
