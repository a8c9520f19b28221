#include "protocol/lock/mutex.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace tempo::lock {

using mutex::Birth;
using mutex::Kind;
using mutex::Mutation;
using mutex::Number;
using mutex::Peer;
using mutex::Phase;
using mutex::Timer;
using mutex::Variant;

namespace mutex {
namespace {

// c of rule 3. As printed: the steps of one handler of requests.
Steps handling_steps(const Rules& rules) {
  Handling handling = rules.handling;
  if (rules.variant == Variant::as_printed || rules.variant == Variant::printed_window)
    return handling.request;
  if (mutated(Mutation::window_no_handlers)) return 0;
  if (mutated(Mutation::window_no_replies)) handling.reply = 0;
  if (mutated(Mutation::window_no_queue)) handling.serial = false;
  return handling.steps(rules.members);
}

Steps times_ratio(Steps steps, const Bounds& known) {
  return steps_covering(static_cast<std::int64_t>(steps) * known.step_max, known.step_min);
}

}  // namespace

// Rule 3. The window covers the transit and the handling of a request and of its reply. If the
// client of a crashed site may still be inside, it covers the rest of that hold as well.
Steps Rules::window(const Bounds& known) const {
  Steps slow = handling_steps(*this);
  if (hold_outlives && !mutated(Mutation::window_no_hold)) slow += longest_hold;
  const int ways = mutated(Mutation::window_one_way) ? 1 : 2;
  const Nanos span = ways * known.delay_max + static_cast<std::int64_t>(slow) * known.step_max;
  const Nanos unit = mutated(Mutation::window_equal_steps) ? known.step_max : known.step_min;
  const Steps steps = steps_covering(span, unit);
  return mutated(Mutation::window_no_spare) ? steps - 1 : steps;
}

// Rule 6. With this limit a site asks again only after something has gone wrong.
Steps Rules::patience(const Bounds& known) const {
  const Steps steps = longest_hold + window(known);
  // Long enough for all others, one after another, if none of them crashes.
  if (variant == Variant::silent_second_timeout) return (members - 1) * times_ratio(steps, known);
  return (readers ? 2 : 1) * times_ratio(steps + handling_steps(*this), known);
}

std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, 6> kNames{"abstaining", "idle",    "asleep",
                                                   "window",     "waiting", "inside"};
  return kNames[static_cast<std::size_t>(phase)];
}
std::string_view name_of(Timer timer) {
  constexpr std::array<std::string_view, 3> kNames{"phase", "patience", "answer"};
  return kNames[static_cast<std::size_t>(timer)];
}
std::string_view name_of(const Message& message) {
  constexpr std::array<std::string_view, 5> kNames{"request", "negative", "positive", "restart",
                                                   "answer"};
  return kNames[static_cast<std::size_t>(message.kind)];
}

}  // namespace mutex

Mutex::Mutex(NodeId self, Incarnation incarnation, const mutex::Rules& rules, Birth birth)
    : self_(self),
      incarnation_(incarnation),
      rules_(&rules),
      birth_(birth),
      bounds_(rules.bounds),
      peers_(rules.members) {
  CHECK(index(self) < rules.members && rules.step > Nanos{0});
  CHECK(rules.bounds ? rules.bounds->sensible() : !rules.hold_outlives);
}

void Mutex::start(Turn<Mutex>& turn) {
  if (birth_ == Birth::again) abstain(turn);
}

void Mutex::receive(Turn<Mutex>& turn, NodeId from, const Message& message) {
  if (index(from) >= rules_->members || from == self_) return;
  switch (message.kind) {
    case Kind::request:
      return receive_request(turn, from, message);
    case Kind::negative:
    case Kind::positive:
      return receive_reply(turn, from, message);
    case Kind::restart:
      return receive_restart(turn, from, message);
    case Kind::answer:
      return receive_answer(turn, from, message);
  }
}

void Mutex::on_timer(Turn<Mutex>& turn, TimerId id) {
  if (turn.now < timers_.at(id)) return;
  const auto timer = static_cast<Timer>(id);
  timers_.stop(timer);
  if (timer == Timer::patience) return on_patience_expired(turn);
  if (timer == Timer::answer) {
    peers_[index(head_)].positive = true;  // rule 6: silence within a window
    return try_enter(turn);
  }
  switch (phase_) {
    case Phase::abstaining:
      return end_abstaining(turn);
    case Phase::asleep:
      return send_request(turn);
    case Phase::window:
      phase_ = Phase::waiting;
      return try_enter(turn);
    default:
      CHECK(false);  // no other phase ends by a timer
  }
}

void Mutex::command(Turn<Mutex>& turn, const Command& command) {
  switch (command.kind) {
    case Command::Kind::acquire:
      if (phase_ == Phase::abstaining) wants_ = command.mode;
      if (phase_ != Phase::idle) return;
      mode_ = command.mode;
      return sleep(turn);
    case Command::Kind::release:
      return stop(turn);
    case Command::Kind::bounds:
      if (command.known.sensible()) trust(turn, command.known);
      return;
    case Command::Kind::no_bounds:
      if (!mutated(Mutation::trusts_for_ever)) distrust(turn);
      return;
  }
}

// --- rules 1 to 5: the own request ---

// Rule 1.
void Mutex::sleep(Turn<Mutex>& turn) {
  phase_ = Phase::asleep;
  if (rules_->variant == Variant::as_printed || mutated(Mutation::number_before_sleep))
    number_ = next_number();
  const Steps span = (rules_->load_jumps ? rules_->members : predict_) * rules_->delaystep;
  set(turn, Timer::phase, rules_->mindelay + span + turn.draw.below(span + 1));
}

// Rules 2 and 3.
void Mutex::send_request(Turn<Mutex>& turn) {
  if (rules_->variant != Variant::as_printed) {
    if (!mutated(Mutation::number_before_sleep)) number_ = next_number();
    highest_ = higher(highest_, number_);
  }
  for (Peer& peer : peers_) peer.negative = peer.positive = false;
  head_ = kNobody;
  timers_.stop_all();
  by_silence_ = trusts();
  phase_ = by_silence_ ? Phase::window : Phase::waiting;
  turn.out.broadcast(request());
  turn.out.notify({Notice::Kind::requested, mode_, number_});
  if (by_silence_)
    set(turn, Timer::phase, rules_->window(*bounds_));
  else
    try_enter(turn);
}

// Rule 4. Called whenever something may have changed while it waits.
void Mutex::try_enter(Turn<Mutex>& turn) {
  if (phase_ != Phase::waiting) return;
  if (may_enter()) return enter(turn);
  if (by_silence_) return watch_head(turn, head());
  if (rules_->repeat > 0 && !timers_.running(Timer::patience))
    set(turn, Timer::patience, rules_->repeat);
}

void Mutex::enter(Turn<Mutex>& turn) {
  phase_ = Phase::inside;
  timers_.stop_all();
  head_ = kNobody;
  predict_ = static_cast<std::uint32_t>(std::ranges::count_if(peers_, &Peer::negative));
  turn.out.notify({Notice::Kind::granted, mode_, number_});
}

// Rule 5; also when the client withdraws its request.
void Mutex::stop(Turn<Mutex>& turn) {
  wants_.reset();
  if (phase_ == Phase::abstaining || phase_ == Phase::idle) return;
  phase_ = Phase::idle;
  timers_.stop_all();
  head_ = kNobody;
  number_ = 0;
  for (Peer& peer : peers_) {
    peer.negative = peer.positive = false;
    peer.ahead = 0;
  }
  take_back_refusals(turn);
}

void Mutex::take_back_refusals(Turn<Mutex>& turn) {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    if (!peer.owed) continue;
    if (!mutated(Mutation::no_positive))
      turn.out.send(NodeId{i}, {.kind = Kind::positive, .number = peer.refused, .life = peer.life});
    peer.owed = false;
    peer.refused = 0;
    peer.life = Incarnation{};
  }
}

void Mutex::receive_reply(Turn<Mutex>& turn, NodeId from, const Message& message) {
  const bool any_number = rules_->variant == Variant::as_printed || mutated(Mutation::any_number);
  const bool ours = message.number == number_ && message.life == incarnation_;
  if (!asked() || (!ours && !any_number)) return;
  Peer& peer = peers_[index(from)];
  if (message.kind == Kind::positive) {
    peer.positive = true;
    return try_enter(turn);
  }
  if (mutated(Mutation::positive_forgotten)) peer.positive = false;
  if (peer.positive) return;  // it was sent before the positive reply, which overtook it
  peer.negative = true;
  peer.ahead = message.ahead;
  if (from == head_) {  // it is alive and still ahead
    timers_.stop(Timer::answer);
    head_ = kNobody;
  }
  try_enter(turn);
}

bool Mutex::may_enter() const {
  if (!by_silence_) return all_positive();
  return head() == kNobody || mutated(Mutation::enter_refused);
}

bool Mutex::all_positive() const {
  return static_cast<std::size_t>(std::ranges::count_if(peers_, &Peer::positive)) + 1 ==
         peers_.size();
}

// --- rule 6: repeated requests ---

NodeId Mutex::head() const {
  NodeId first = kNobody;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (!peers_[i].negative || peers_[i].positive) continue;
    if (first == kNobody || after(peers_[index(first)].ahead, first, peers_[i].ahead, NodeId{i}))
      first = NodeId{i};
  }
  return first;
}

void Mutex::watch_head(Turn<Mutex>& turn, NodeId head) {
  const bool silent = rules_->variant == Variant::silent_second_timeout;
  if (head == head_ || (silent && timers_.running(Timer::patience))) return;
  head_ = head;
  timers_.stop(Timer::answer);
  if (rules_->variant == Variant::as_printed || mutated(Mutation::no_asking_again)) return;
  set(turn, Timer::patience, rules_->patience(*bounds_));
}

void Mutex::on_patience_expired(Turn<Mutex>& turn) {
  if (phase_ == Phase::abstaining) return abstain(turn);
  if (!by_silence_) {
    for (std::uint32_t i = 0; i < peers_.size(); ++i)
      if (NodeId{i} != self_ && !peers_[i].positive) turn.out.send(NodeId{i}, request());
    return try_enter(turn);
  }
  if (rules_->variant == Variant::silent_second_timeout) {
    for (Peer& peer : peers_) peer.positive = peer.positive || peer.negative;
    return try_enter(turn);
  }
  turn.out.send(head_, request());
  set(turn, Timer::answer, rules_->window(*bounds_));
}

// --- rule 7: requests of others ---

void Mutex::receive_request(Turn<Mutex>& turn, NodeId from, const Message& message) {
  const bool deaf = mutated(Mutation::number_not_raised) ||
                    (mutated(Mutation::readers_not_raised) && message.mode == Mode::shared);
  if (!deaf) highest_ = higher(highest_, message.number);
  Peer& peer = peers_[index(from)];
  Message reply{.kind = Kind::positive, .number = message.number, .life = message.life};
  if (!refuses(from, message)) {
    if (message.reply) turn.out.send(from, reply);
    return;
  }
  if (mutated(Mutation::repeated_unanswered) && peer.owed && peer.refused == message.number) return;
  peer.refused = peer.owed ? higher(peer.refused, message.number) : message.number;
  peer.owed = true;
  peer.life = message.life;
  if (mutated(Mutation::explicit_at_once) && message.reply) return turn.out.send(from, reply);
  if (message.reply) return;  // a requester that needs an explicit reply waits without a refusal
  reply.kind = Kind::negative;
  reply.ahead = number_;
  turn.out.send(from, reply);
}

bool Mutex::refuses(NodeId from, const Message& request) const {
  // A client of our previous incarnation may still be inside: send no consent before it has left.
  if (phase_ == Phase::abstaining) return request.reply && rules_->hold_outlives;
  if (!asked() && phase_ != Phase::inside) return false;
  if (!conflict(mode_, request.mode) && !mutated(Mutation::reader_refuses_reader)) return false;
  if (mutated(Mutation::reader_passes_writer) && asked() && request.mode == Mode::shared)
    return false;
  const bool last_word =
      rules_->variant != Variant::as_printed && !mutated(Mutation::inside_lets_pass);
  if (phase_ == Phase::inside && last_word) return true;
  if (mutated(Mutation::equals_pass) && request.number == number_) return false;
  return after(request.number, from, number_, self_);
}

// --- rule 8: restarts ---

void Mutex::abstain(Turn<Mutex>& turn) {
  if (mutated(Mutation::straight_on) || rules_->variant == Variant::as_printed) return;
  if (!mutated(Mutation::no_restart_message))
    turn.out.broadcast({.kind = Kind::restart, .life = incarnation_});
  if (mutated(Mutation::no_abstaining)) return;
  phase_ = Phase::abstaining;
  if (trusts())
    set(turn, Timer::phase, rules_->window(*bounds_));
  else if (rules_->repeat > 0)
    set(turn, Timer::patience, rules_->repeat);
}

void Mutex::end_abstaining(Turn<Mutex>& turn) {
  phase_ = Phase::idle;
  timers_.stop_all();
  for (Peer& peer : peers_) peer.positive = false;
  take_back_refusals(turn);
  if (!wants_) return;
  mode_ = *wants_;
  wants_.reset();
  sleep(turn);
}

// The site has forgotten its refusals, and its hold ended with it: this message replaces the
// positive reply that the crash lost. Without bounds the message may be old, so ask the site.
void Mutex::receive_restart(Turn<Mutex>& turn, NodeId from, const Message& message) {
  turn.out.send(from, {.kind = Kind::answer, .number = highest_, .life = message.life});
  Peer& peer = peers_[index(from)];
  peer.owed = false;
  peer.refused = 0;
  peer.life = Incarnation{};
  if (!asked() || (rules_->hold_outlives && !mutated(Mutation::restart_frees_hold))) return;
  if (!by_silence_) {
    if (!peer.positive) turn.out.send(from, request());
    return;
  }
  if (rules_->late_restarts) return ask_again(turn, from);
  peer.positive = true;
  try_enter(turn);
}

// A site that still refuses says so within a window.
void Mutex::ask_again(Turn<Mutex>& turn, NodeId refuser) {
  Peer& peer = peers_[index(refuser)];
  if (!peer.negative || peer.positive) return;
  peer.negative = false;
  turn.out.send(refuser, request());
  begin_window(turn);
}

void Mutex::receive_answer(Turn<Mutex>& turn, NodeId from, const Message& message) {
  if (message.life != incarnation_) return;
  highest_ = higher(highest_, message.number);
  if (phase_ != Phase::abstaining) return;
  peers_[index(from)].positive = true;
  if (may_stop_abstaining()) end_abstaining(turn);
}

// Without bounds, silence does not show that a site has crashed, and nothing shows that a client of
// our previous incarnation has left.
bool Mutex::may_stop_abstaining() const {
  return !trusts() && all_positive() && !rules_->hold_outlives;
}

// --- the bounds ---

void Mutex::trust(Turn<Mutex>& turn, const Bounds& known) {
  const bool trusted = trusts();
  const bool longer = !trusted || rules_->window(known) > rules_->window(*bounds_);
  bounds_ = known;
  if (!trusted) turn.out.notify({Notice::Kind::trusts, mode_, number_});
  if (!longer) return;
  // The time waited so far may be too short: a whole window from now covers the new bounds.
  if (asked() && by_silence_) return begin_window(turn);
  if (phase_ != Phase::abstaining) return;
  timers_.stop_all();
  set(turn, Timer::phase, rules_->window(known));
}

void Mutex::begin_window(Turn<Mutex>& turn) {
  phase_ = Phase::window;
  head_ = kNobody;
  timers_.stop_all();
  set(turn, Timer::phase, rules_->window(*bounds_));
}

void Mutex::distrust(Turn<Mutex>& turn) {
  if (!trusts()) return;
  bounds_.reset();
  turn.out.notify({Notice::Kind::distrusts, mode_, number_});
  if (phase_ == Phase::abstaining) {
    timers_.stop_all();
    if (may_stop_abstaining()) return end_abstaining(turn);
    if (rules_->repeat > 0) set(turn, Timer::patience, rules_->repeat);
  }
  if (!asked() || !by_silence_) return;
  // Another site may already be inside because we were silent: our number must be above its number.
  take_back_refusals(turn);
  send_request(turn);
}

// --- helpers ---

// As printed in 2.2.5: numbers modulo 2n - 1; of two numbers that differ by n or more, the smaller
// counts as the larger.
bool Mutex::after(Number number, NodeId site, Number other, NodeId other_site) const {
  if (rules_->variant == Variant::modulo) {
    const Number modulus = 2 * Number{rules_->members} - 1;
    if (number + rules_->members <= other)
      number += modulus;
    else if (other + rules_->members <= number)
      other += modulus;
  }
  return number != other ? number > other : site > other_site;
}

Number Mutex::higher(Number one, Number other) const {
  return after(one, self_, other, self_) ? one : other;
}

Number Mutex::next_number() const {
  if (rules_->variant == Variant::modulo) return (highest_ + 1) % (2 * Number{rules_->members} - 1);
  return highest_ + 1;
}

mutex::Message Mutex::request() const {
  return {.kind = Kind::request,
          .mode = mode_,
          .reply = !by_silence_,
          .number = number_,
          .life = incarnation_};
}

void Mutex::set(Turn<Mutex>& turn, Timer timer, Steps steps) {
  timers_.set(timer, turn.now + static_cast<std::int64_t>(steps) * rules_->step);
}

const char* Mutex::check() const {
  const bool has_end = phase_ == Phase::asleep || phase_ == Phase::window ||
                       (phase_ == Phase::abstaining && trusts());
  if (has_end != timers_.running(Timer::phase)) return "phase and phase timer do not match";
  if (by_silence_ && asked() && !trusts()) return "trusts silence without bounds";
  if (wants_ && phase_ != Phase::abstaining) return "a pending acquire outside abstaining";
  if (timers_.running(Timer::answer) && head_ == kNobody) return "answer timer without a refuser";
  if (phase_ == Phase::waiting && may_enter()) return "waits although it may enter";
  const bool refuses_some = std::ranges::any_of(peers_, &Peer::owed);
  if (refuses_some && (phase_ == Phase::idle || phase_ == Phase::asleep))
    return "owes a reply without a request of its own";
  return nullptr;
}

}  // namespace tempo::lock
