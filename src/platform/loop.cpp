#include "platform/loop.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/check.h"

namespace tempo::sys {
namespace {

// A signal handler may access nothing else.
std::array<volatile std::sig_atomic_t, NSIG> arrived{};

extern "C" void note_signal(int signal) {
  if (signal >= 0 && signal < NSIG) arrived[static_cast<std::size_t>(signal)] = 1;
}

}  // namespace

int milliseconds_until(Instant deadline, Instant now, int most) {
  if (deadline <= now) return 0;
  if (deadline - std::chrono::milliseconds{most} >= now) return most;  // also handles kNever
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count());
}

Loop::Loop(Oscillator& oscillator, Nanos stall_limit, Nanos sleep_limit)
    : oscillator_(&oscillator),
      stall_limit_(stall_limit),
      sleep_limit_(sleep_limit),
      left_(kNever),
      asleep_(oscillator.asleep().most) {}

Loop::~Loop() {
  for (const auto& [signal, handled] : handled_) sigaction(signal, &handled.before, nullptr);
}

void Loop::watch(int descriptor, short events, Ready ready) {
  CHECK(descriptor >= 0);
  watched_.insert_or_assign(
      descriptor,
      Watched{
          .events = events, .id = next_id_++, .ready = std::make_shared<Ready>(std::move(ready))});
}

void Loop::expect(int descriptor, short events) {
  const auto found = watched_.find(descriptor);
  CHECK(found != watched_.end());
  found->second.events = events;
}

void Loop::forget(int descriptor) { watched_.erase(descriptor); }

void Loop::rest(int descriptor, Nanos span) {
  const auto found = watched_.find(descriptor);
  CHECK(found != watched_.end());
  found->second.rests_until = oscillator_->now() + span;
}

void Loop::on_signal(int signal, Signalled signalled) {
  CHECK(signal > 0 && signal < NSIG && !handled_.contains(signal));
  struct sigaction action{};
  action.sa_handler = note_signal;  // poll() must return
  sigemptyset(&action.sa_mask);
  Handled handled{.signalled = std::move(signalled), .before = {}};
  arrived[static_cast<std::size_t>(signal)] = 0;
  CHECK(sigaction(signal, &action, &handled.before) == 0);
  handled_.emplace(signal, std::move(handled));
}

Loop::Round Loop::wait(Instant deadline) {
  Round round;
  Instant now = oscillator_->now();
  if (left_ != kNever) round.stalled = stall_since(left_, now);
  for (;;) {
    polled_.clear();
    ids_.clear();
    for (const auto& [descriptor, watched] : watched_) {
      if (now < watched.rests_until) continue;
      polled_.push_back({.fd = descriptor, .events = watched.events, .revents = 0});
      ids_.push_back(watched.id);
    }
    round.called += call_signalled();
    const int timeout = round.called > 0 ? 0 : milliseconds_until(deadline, now, kLongestPollMs);
    const int ready = look(timeout, now);
    CHECK(ready >= 0 || errno == EINTR || errno == ENOMEM);
    const Instant expected = now + std::chrono::milliseconds{timeout};
    now = oscillator_->now();
    round.stalled = std::max(round.stalled, stall_since(expected, now));
    round.suspended = slept();
    if (round.suspended > Nanos{0}) {
      asleep_ = oscillator_->asleep().most;
      break;
    }
    round.called += call_signalled();
    if (ready > 0) round.called += call_ready();
    if (round.called > 0 || now >= deadline) break;
  }
  left_ = oscillator_->now();
  round.due = left_ >= deadline;
  return round;
}

void Loop::stay_awake(Nanos span) { awake_until_ = oscillator_->now() + span; }

// Returns the number of ready descriptors, without sleeping or after it.
int Loop::look(int timeout_ms, Instant now) {
  while (timeout_ms > 0 && now < awake_until_) {
    if (const int ready = poll(polled_.data(), polled_.size(), 0); ready != 0) return ready;
    now = oscillator_->now();
  }
  return poll(polled_.data(), polled_.size(), timeout_ms);
}

int Loop::call_signalled() {
  int called = 0;
  for (auto& [signal, handled] : handled_) {
    auto& flag = arrived[static_cast<std::size_t>(signal)];
    if (flag == 0) continue;
    flag = 0;
    handled.signalled();
    ++called;
  }
  return called;
}

int Loop::call_ready() {
  int called = 0;
  for (std::size_t index = 0; index < polled_.size(); ++index) {
    const pollfd one = polled_[index];
    if (one.revents == 0) continue;
    const auto found = watched_.find(one.fd);
    if (found == watched_.end() || found->second.id != ids_[index]) continue;
    CHECK((one.revents & POLLNVAL) == 0);  // closed before it was forgotten
    const std::shared_ptr<Ready> ready =
        found->second.ready;  // keeps the callback alive: it may forget itself
    (*ready)(one.revents);
    ++called;
  }
  return called;
}

Nanos Loop::slept() const {
  const Nanos span = oscillator_->asleep().least - asleep_;
  return span > sleep_limit_ ? span : Nanos{0};
}

Nanos Loop::stall_since(Instant expected, Instant now) const {
  const Nanos late = now - expected;
  return late > stall_limit_ ? late : Nanos{0};
}

}  // namespace tempo::sys
