#include "lab/baselines/optimistic.h"

#include "base/check.h"

namespace tempo::lock {

using optimistic::kWriter;
using optimistic::Phase;
using optimistic::Timer;

std::string_view optimistic::name_of(const Message& message) {
  return message.reply ? "piece" : "read";
}

Optimistic::Optimistic(NodeId self, const optimistic::Rules& rules) : self_(self), rules_(&rules) {
  CHECK(rules.pieces > 0 && rules.write > 0 && rules.bounds.sensible());
}

void Optimistic::start(Turn<Optimistic>& turn) {
  if (writes()) wait(turn);
}

void Optimistic::command(Turn<Optimistic>& turn, const Command& command) {
  if (command.kind == Command::Kind::stop) {
    stopped_ = true;
    if (phase_ != Phase::waits || !writes()) return;
    phase_ = Phase::idle;
    timers_.stop_all();
  } else if (!writes() && phase_ == Phase::idle && !stopped_) {
    wait(turn);
  }
}

void Optimistic::receive(Turn<Optimistic>& turn, NodeId from, const Message& message) {
  if (message.reply) {
    if (from == kWriter && !writes()) take_piece(turn, message);
  } else if (writes() && message.piece < rules_->pieces) {
    // Pieces before `piece_` are from the current write, if there is one.
    const bool fresh = phase_ != Phase::works || message.piece < piece_;
    Message reply = message;
    reply.reply = true;
    reply.value = fresh ? begun_ : ended_;
    reply.begun = begun_;
    reply.ended = ended_;
    turn.out.send(from, reply);
  }
}

void Optimistic::on_timer(Turn<Optimistic>& turn, TimerId id) {
  if (turn.now < timers_.at(id)) return;
  timers_.stop(static_cast<Timer>(id));
  if (phase_ == Phase::waits)
    begin(turn);
  else if (writes())
    write_piece(turn);
  else
    ask_for_piece(turn);
}

// Waits before each access.
void Optimistic::wait(Turn<Optimistic>& turn) {
  phase_ = Phase::waits;
  const Steps least = rules_->wait();
  set(turn, Timer::phase, rules_->waits ? least + turn.draw.below(least + 1) : 0);
}

void Optimistic::begin(Turn<Optimistic>& turn) {
  phase_ = Phase::works;
  piece_ = 0;
  if (writes()) {
    ++begun_;
    return set(turn, Timer::phase, rules_->write);
  }
  ++attempt_;
  torn_ = false;
  turn.out.notify({.kind = Notice::Kind::attempt});
  ask_for_piece(turn);
}

void Optimistic::write_piece(Turn<Optimistic>& turn) {
  if (++piece_ < rules_->pieces) return set(turn, Timer::phase, rules_->write);
  ended_ = begun_;
  phase_ = Phase::idle;
  if (!stopped_) wait(turn);
}

void Optimistic::ask_for_piece(Turn<Optimistic>& turn) {
  turn.out.send(kWriter, {.attempt = attempt_, .piece = piece_});
  set(turn, Timer::reply, 2 * rules_->piece_read());
}

void Optimistic::take_piece(Turn<Optimistic>& turn, const Message& message) {
  if (phase_ != Phase::works || message.attempt != attempt_ || message.piece != piece_) return;
  if (piece_ == 0) {
    ended_ = message.ended;
    value_ = message.value;
  }
  torn_ = torn_ || message.value != value_;
  if (++piece_ < rules_->pieces) return ask_for_piece(turn);
  timers_.stop_all();
  if (message.begun != ended_) return wait(turn);
  phase_ = Phase::idle;
  turn.out.notify({.kind = Notice::Kind::read, .value = value_, .torn = torn_});
}

void Optimistic::set(Turn<Optimistic>& turn, Timer timer, Steps steps) {
  timers_.set(timer, turn.now + static_cast<std::int64_t>(steps) * rules_->step);
}

const char* Optimistic::check() const {
  if (phase_ != Phase::idle && timers_.first() == kNever) return "an access without a timer";
  if (writes() && ended_ != begun_ && phase_ != Phase::works)
    return "an unfinished write outside the write phase";
  return nullptr;
}

}  // namespace tempo::lock
