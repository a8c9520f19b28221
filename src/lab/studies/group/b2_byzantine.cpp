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
  // 0: send nothing; 1: send a bid; k > 1: report k - 2 bids.
  const std::uint64_t choice = turn.draw.below(std::uint64_t{bids_} + 3);
  if (choice == 1 && !bid_) {
    bid_ = true;
    turn.out.broadcast({.kind = Kind::init, .number = 1, .capacity = bids_ + 1});
  } else if (choice > 1 && !reported_) {
    reported_ = true;
    turn.out.broadcast(
        {.kind = Kind::vect, .number = 1, .size = static_cast<std::uint32_t>(choice - 2)});
  }
  if (bid_ && reported_) left_ = 0;
  if (left_ > 0) timers_.set(Timer::speak, turn.now + Nanos{1});
}

void B2Byzantine::command(Turn<B2Byzantine>& /*turn*/, const Command& /*command*/) {}

}  // namespace tempo::check
