// Event loop of the daemon: one thread, one poll(), signals by flag.
//
// `wait` is one round. It returns when a descriptor is ready, a signal has arrived or the deadline
// has passed; it runs the callbacks and reports stalls of the process and suspensions of the
// machine. Deadlines are in the timescale of the oscillator and are met up to one millisecond late,
// because poll() counts in milliseconds.
//
// A round that detects a suspension runs no callbacks: the caller decides first what is still
// valid. Ready descriptors stay ready until the next round.
//
// A signal that arrives just before poll() does not interrupt it, so no poll() lasts longer than a
// quarter of a second. Only one Loop at a time may handle signals.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <poll.h>
#include <signal.h>

#include "base/units.h"
#include "platform/clocks/oscillator.h"

namespace tempo::sys {

// Milliseconds until the deadline, rounded up and limited to 0 ... `most`.
int milliseconds_until(Instant deadline, Instant now, int most);

class Loop {
 public:
  using Ready = std::move_only_function<void(short events)>;  // poll's revents
  using Signalled = std::move_only_function<void()>;

  // A round that takes more than `stall_limit` longer than expected is a stall. Suspensions are
  // added up until their sum exceeds `sleep_limit`.
  explicit Loop(Oscillator& oscillator, Nanos stall_limit = 100ms, Nanos sleep_limit = 100ms);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // All may be called from a callback. A forgotten descriptor gets no more calls; a
  // descriptor that is watched again gets its first call in the next round. Forget a descriptor
  // before closing it.
  void watch(int descriptor, short events, Ready ready);
  void expect(int descriptor, short events);  // changes the events of a watched descriptor
  void forget(int descriptor);
  // Does not look at a watched descriptor for this long.
  void rest(int descriptor, Nanos span);

  // Called by `wait`, not by the signal handler. Several signals of a kind may cause one call.
  void on_signal(int signal, Signalled signalled);

  // For this long, rounds poll repeatedly instead of sleeping. Where an answer takes microseconds,
  // sleeping and waking up would double the delay. It costs CPU time: use it sparingly.
  void stay_awake(Nanos span);

  struct Round {
    bool due = false;    // the deadline has passed
    int called = 0;      // number of callbacks run
    Nanos stalled{0};    // approximate time the process was stopped or busy; zero: no stall
    Nanos suspended{0};  // time the machine was suspended; zero: not suspended
  };
  Round wait(Instant deadline);

  // The value of `suspended` that the next round would report now.
  Nanos slept() const;

 private:
  static constexpr int kLongestPollMs = 250;

  struct Watched {
    short events;
    std::uint64_t id;  // unique; distinguishes a descriptor number that was reused
    std::shared_ptr<Ready> ready;
    Instant rests_until{};
  };
  struct Handled {
    Signalled signalled;
    struct sigaction before;
  };
  int look(int timeout_ms, Instant now);
  int call_signalled();
  int call_ready();
  Nanos stall_since(Instant expected, Instant now) const;

  Oscillator* oscillator_;
  Nanos stall_limit_;
  Nanos sleep_limit_;
  std::map<int, Watched> watched_;
  std::map<int, Handled> handled_;
  std::vector<pollfd> polled_;      // of the current round
  std::vector<std::uint64_t> ids_;  // of `polled_`
  std::uint64_t next_id_ = 1;
  Instant awake_until_{};
  Instant left_;  // end of the last round; kNever before the first
  Nanos asleep_;  // total suspension at the last report, upper bound
};

}  // namespace tempo::sys
