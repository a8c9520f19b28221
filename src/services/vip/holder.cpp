#include "services/vip/holder.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tempo::vip {
namespace {

// Time between the end of the gate and the end of the lease: what passed the gate is on its way,
// and jiffies may be late on a machine whose processors are busy.
constexpr Nanos kMinMargin = 5ms;
constexpr Nanos kMaxMargin = 50ms;
constexpr int kMarginShare = 16;  // of the lease
// Time that an arming may take; a slower one is confirmed too late and repeated.
constexpr Nanos kArming = 3ms;

constexpr std::uint8_t bit(Reason reason) {
  return static_cast<std::uint8_t>(1U << std::to_underlying(reason));
}

// Reasons that end by themselves after a pause.
constexpr std::uint8_t kPausing =
    bit(Reason::in_use) | bit(Reason::rules_gone) | bit(Reason::failed);

}  // namespace

void Holder::start(Turn<Holder>& turn) { happen(turn, Event::allowed); }

void Holder::command(Turn<Holder>& turn, const Command& command) {
  using Kind = Command::Kind;
  switch (command.kind) {
    case Kind::lead:
      if (command.until <= turn.now || command.until < until_) break;
      until_ = command.until;
      span_ = until_ - turn.now;
      if (state_ == State::hold) {
        arm(turn);
        break;
      }
      if (leads()) timers_.set(Timer::lapse, until_ - margin());
      if (state_ == State::open) arm(turn);
      happen(turn, Event::lead);
      break;
    case Kind::must_stop:
      happen(turn, Event::must_stop);
      until_ = {};
      break;
    case Kind::prepared:
      happen(turn, Event::prepared);
      break;
    case Kind::armed:
      on_armed(turn, command);
      break;
    case Kind::granted:
      if (!arming_ || command.slot != slot_) break;
      arming_ = false;
      open_until_ = armed_until_;
      if (state_ == State::open || state_ == State::hold) timers_.set(Timer::lapse, open_until_);
      happen(turn, Event::opened);
      break;
    case Kind::claimed:
      on_claim(turn);
      break;
    case Kind::avoid:
      avoid(turn, command.reason, command.on);
      break;
  }
}

void Holder::on_timer(Turn<Holder>& turn, TimerId timer) {
  if (!timers_.take_due(timer, turn.now)) return;
  switch (static_cast<Timer>(timer)) {
    case Timer::probe:
      happen(turn, Event::probed);
      break;
    case Timer::announce:
      perform(turn, Verb::announce);
      break;
    case Timer::renew:
      turn.out.notify({.kind = Notice::Kind::renew});
      timers_.set(Timer::renew, turn.now + kRenewEvery);
      break;
    case Timer::verify:
      turn.out.notify({.kind = Notice::Kind::verify});
      timers_.set(Timer::verify, turn.now + kVerifyEvery);
      break;
    case Timer::lapse:
      happen(turn, Event::lapse);
      break;
    case Timer::retry:
      reasons_ &= static_cast<std::uint8_t>(~kPausing);
      if (reasons_ == 0) happen(turn, Event::allowed);
      break;
    case Timer::count:
      break;
  }
}

void Holder::happen(Turn<Holder>& turn, Event event) {
  StateTable<kRows>::take_row(
      state_, event, [&](State next) { enter(next); }, [&](Verb verb) { perform(turn, verb); });
}

// The only function that assigns state_.
void Holder::enter(State next) { state_ = next; }

void Holder::perform(Turn<Holder>& turn, Verb verb) {
  using Kind = Notice::Kind;
  const BootTime now = turn.now;
  switch (verb) {
    case Verb::set_up:
      claims_ = 0;
      open_until_ = {};
      arming_ = false;
      slot_ = 0;
      timers_.set(Timer::lapse, until_ - margin());
      turn.out.notify({.kind = Kind::set_up});
      break;
    case Verb::ask_network:
      timers_.set(Timer::probe, now + kProbe);
      timers_.set(Timer::renew, now + kRenewEvery);
      timers_.set(Timer::verify, now + kVerifyEvery);
      turn.out.notify({.kind = Kind::probe});
      break;
    case Verb::arm:
      announced_ = 0;
      arm(turn);
      break;
    case Verb::announce:
      turn.out.notify({.kind = Kind::announce});
      if (++announced_ < rules_.announcements)
        timers_.set(Timer::announce, now + kAnnounceFor / std::max(rules_.announcements - 1, 1));
      break;
    case Verb::remove:
      for (const Timer timer :
           {Timer::probe, Timer::announce, Timer::renew, Timer::verify, Timer::lapse})
        timers_.stop(timer);
      arming_ = false;
      open_until_ = {};
      turn.out.notify({.kind = Kind::remove});
      break;
    case Verb::confirm:
      turn.out.notify({.kind = Kind::confirm});
      break;
    case Verb::withdraw:
      until_ = {};
      turn.out.notify({.kind = Kind::withdraw});
      break;
    case Verb::stand:
      turn.out.notify({.kind = Kind::stand});
      break;
    case Verb::count:
      break;
  }
}

// Always the slot that is not open. Nothing is armed for a rest of a lease that is too short.
void Holder::arm(Turn<Holder>& turn) {
  const Nanos span = until_ - margin() - kArming - turn.now;
  if (span < kShortestOpening) return;
  if (!arming_) slot_ ^= 1U;
  arming_ = true;
  armed_until_ = kNever;
  turn.out.notify({.kind = Notice::Kind::arm, .slot = slot_, .span = span});
}

// `armed.until` counts from the kernel's answer, so that it is not earlier than the true end.
void Holder::on_armed(Turn<Holder>& turn, const Command& armed) {
  const bool expected = (state_ == State::open || state_ == State::hold) && arming_;
  if (!expected || armed.slot != slot_) return;
  if (armed.until > until_ - margin()) return arm(turn);
  armed_until_ = armed.until;
  turn.out.notify({.kind = Notice::Kind::grant, .slot = slot_});
}

// The first claim may be a datagram of the last holder that was under way: ask the network again.
void Holder::on_claim(Turn<Holder>& turn) {
  if (state_ != State::probe && state_ != State::open && state_ != State::hold) return;
  // A process that stood still reads late, and another machine may have the addresses by now.
  if (turn.now >= timers_.at(Timer::lapse)) return;
  if (turn.now - claimed_at_ > kClaimWindow) claims_ = 0;
  claimed_at_ = turn.now;
  if (++claims_ > 1) return avoid(turn, Reason::in_use, true);
  if (state_ == State::probe) timers_.set(Timer::probe, turn.now + kProbe);
  turn.out.notify({.kind = Notice::Kind::probe});
}

void Holder::avoid(Turn<Holder>& turn, Reason reason, bool on) {
  if (!on) {
    reasons_ &= static_cast<std::uint8_t>(~bit(reason));
    if (reasons_ == 0) happen(turn, Event::allowed);
    return;
  }
  reasons_ |= bit(reason);
  if ((bit(reason) & kPausing) != 0) timers_.set(Timer::retry, turn.now + kPause);
  happen(turn, Event::break_off);
}

bool Holder::leads() const {
  return state_ == State::prepare || state_ == State::probe || state_ == State::open ||
         state_ == State::hold;
}

Nanos Holder::margin() const { return std::clamp(span_ / kMarginShare, kMinMargin, kMaxMargin); }

Reason Holder::reason() const {
  for (std::uint8_t i = 1; i < std::to_underlying(Reason::count); ++i)
    if ((reasons_ & bit(Reason{i})) != 0) return Reason{i};
  return Reason::none;
}

const char* Holder::check() const {
  if (open_until_ > until_ && until_ != BootTime{}) return "the gate is open after the lease";
  if (state_ == State::hold && !timers_.running(Timer::lapse)) return "holds without an end";
  if (!leads() && open_until_ != BootTime{}) return "the gate is open without the lead";
  return nullptr;
}

std::string_view name_of(State state) {
  static constexpr std::array<std::string_view, enum_index(State::count)> kNames{
      "away", "follow", "prepare", "probe", "open", "hold", "lapsed"};
  return kNames.at(enum_index(state));
}

std::string_view sentence_of(Reason reason) {
  switch (reason) {
    case Reason::in_use:
      return "another machine uses the address";
    case Reason::rules_gone:
      return "somebody removed the rules that close the address in time";
    case Reason::failed:
      return "the kernel refused a step";
    case Reason::link_down:
      return "the interface is down or gone";
    case Reason::unfit:
      return "the check command fails";
    case Reason::suspended:
      return "this machine is about to be suspended";
    case Reason::none:
    case Reason::count:
      break;
  }
  return "";
}

}  // namespace tempo::vip
