#include "lab/studies/lock/site.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace tempo::sim::lock {

using tempo::lock::Mutex;
using tempo::lock::Steps;
using tempo::lock::mutex::Kind;

void Site::start(Turn<Site>& turn) {
  drive(turn, [](Lock& lock, Turn<Lock>& inner) { lock.start(inner); });
  if (rules_->restless && rules_->contends(lock_.self())) think(turn);
}

void Site::receive(Turn<Site>& turn, NodeId from, const Message& message) {
  const auto& handling = rules_->lock.handling;
  const bool asks = message.kind == Kind::request || message.kind == Kind::restart;
  const Steps cost = asks ? handling.request : handling.reply;
  if (cost == 0 && inbox_.empty())
    return drive(turn, [&](Lock& lock, Turn<Lock>& inner) { lock.receive(inner, from, message); });
  if (inbox_.size() == kMaxInbox) return;
  const BootTime begins = handling.serial ? std::max(turn.now, busy_until_) : turn.now;
  const Received received{begins + static_cast<std::int64_t>(cost) * rules_->lock.step, from,
                          message};
  if (handling.serial) busy_until_ = received.handled;
  inbox_.insert(std::ranges::upper_bound(inbox_, received.handled, {}, &Received::handled),
                received);
}

void Site::on_timer(Turn<Site>& turn, TimerId id) {
  if (turn.now < timers().at(id)) return;
  switch (static_cast<Timer>(id)) {
    case Timer::inbox: {
      const Received received = inbox_.front();
      inbox_.erase(inbox_.begin());
      return drive(turn, [&](Lock& lock, Turn<Lock>& inner) {
        lock.receive(inner, received.from, received.message);
      });
    }
    case Timer::client:
      client_at_ = kNever;
      return client_ == Client::inside ? leave(turn) : ask(turn);
    default: {
      const auto own = static_cast<std::uint8_t>(static_cast<std::uint8_t>(id) -
                                                 static_cast<std::uint8_t>(Timer::phase));
      return drive(turn,
                   [&](Lock& lock, Turn<Lock>& inner) { lock.on_timer(inner, TimerId{own}); });
    }
  }
}

void Site::command(Turn<Site>& turn, const Command& command) {
  switch (command.kind) {
    case Command::Kind::ask:
      if (client_ == Client::none) ask(turn);
      break;
    case Command::Kind::close:
      closed_ = true;
      if (client_ != Client::thinks) break;
      client_ = Client::none;
      client_at_ = kNever;
      break;
    case Command::Kind::bounds:
      drive(turn, [&](Lock& lock, Turn<Lock>& inner) { lock.command(inner, command.lock); });
      break;
  }
}

Timers<Site::Timer, BootTime> Site::timers() const {
  using Inner = tempo::lock::mutex::Timer;
  Timers<Timer, Time> all;
  if (!inbox_.empty()) all.set(Timer::inbox, inbox_.front().handled);
  all.set(Timer::phase, lock_.timers().at(Inner::phase));
  all.set(Timer::patience, lock_.timers().at(Inner::patience));
  all.set(Timer::answer, lock_.timers().at(Inner::answer));
  all.set(Timer::client, client_at_);
  return all;
}

// Steps the lock and forwards its outputs.
template <class Do>
void Site::drive(Turn<Site>& turn, Do todo) {
  step_part(turn, lock_, todo, [&](const Output<Lock>& output) {
    if (!pass_on(turn, output, std::identity{})) on_notice(turn, output.notice);
  });
}

void Site::on_notice(Turn<Site>& turn, const Lock::Notice& notice) {
  if (notice.kind == Lock::Notice::Kind::requested)
    turn.out.notify({Notice::Kind::requested, notice.number});
  if (notice.kind != Lock::Notice::Kind::granted) return;
  CHECK(client_ == Client::asks);
  client_ = Client::inside;
  client_at_ = later(turn, turn.draw.below(rules_->lock.longest_hold + 1));
  turn.out.notify({Notice::Kind::entered, notice.number});
}

void Site::think(Turn<Site>& turn) {
  client_ = Client::thinks;
  client_at_ = later(turn, turn.draw.below(rules_->thinks + 1));
}

void Site::ask(Turn<Site>& turn) {
  client_ = Client::asks;
  turn.out.notify({Notice::Kind::asked, 0});
  drive(turn, [&](Lock& lock, Turn<Lock>& inner) {
    lock.command(inner, Lock::Command::acquire(mode()));
  });
}

void Site::leave(Turn<Site>& turn) {
  client_ = Client::none;
  turn.out.notify({Notice::Kind::left, 0});
  drive(turn, [](Lock& lock, Turn<Lock>& inner) { lock.command(inner, Lock::Command::release()); });
  if (rules_->restless && !closed_) think(turn);
}

BootTime Site::later(Turn<Site>& turn, Steps steps) const {
  return turn.now + static_cast<std::int64_t>(steps) * rules_->lock.step;
}

}  // namespace tempo::sim::lock
