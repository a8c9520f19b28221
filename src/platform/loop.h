// The daemon's loop: one thread, one poll(), signals by flag.
//
// `wait` is one round. It lasts until a descriptor is ready, a signal has come or the deadline is
// there, calls what is to be called, and says what it noticed about itself: that the process stood
// still, or that the machine was suspended. Deadlines are in the oscillator's timescale; they are
// met from above, at most a millisecond late, as poll() counts in milliseconds.
//
// A round that finds the machine to have slept calls nothing that was ready: it is for the caller
// to say whether anything still holds. What is ready stays so until the next round.
//
// A signal that arrives just before poll() does not interrupt it; no poll() is therefore longer
// than a quarter of a second. One Loop at a time may handle signals.
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

// Whole milliseconds until the deadline, rounded up; from 0 to `most`.
int milliseconds_until(Instant deadline, Instant now, int most);

class Loop {
 public:
  using Ready = std::move_only_function<void(short events)>;  // poll's revents
  using Signalled = std::move_only_function<void()>;

  // A round that takes more than `stall_limit` longer than it should has been a stall. Sleeps are
  // added up until together they exceed `sleep_limit`.
  explicit Loop(Oscillator& oscillator, Nanos stall_limit = 100ms, Nanos sleep_limit = 100ms);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Both may be called from a callback; what is forgotten is not called any more, and what is
  // watched anew not before the next round. A descriptor is forgotten before it is closed.
  void watch(int descriptor, short events, Ready ready);
  void expect(int descriptor, short events);  // of one that is watched
  void forget(int descriptor);

  // Called by `wait`, not by the handler; several signals of a kind may be one call.
  void on_signal(int signal, Signalled signalled);

  // For so long from now, rounds look and look again instead of sleeping: where an answer is a
  // matter of microseconds, falling asleep and being woken would take as long once more. It is the
  // caller's to be sparing with it.
  void stay_awake(Nanos span);

  struct Round {
    bool due = false;    // the deadline has come
    int called = 0;      // callbacks
    Nanos stalled{0};    // the process stood still, or was kept busy, for about so long
    Nanos suspended{0};  // the machine did
  };
  Round wait(Instant deadline);

  // What the next round will call `suspended`, as far as it is known now.
  Nanos slept() const;

 private:
  static constexpr int kLongestPollMs = 250;

  struct Watched {
    short events;
    std::uint64_t id;  // never the same again
    std::shared_ptr<Ready> ready;
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
  std::vector<pollfd> polled_;      // of one round
  std::vector<std::uint64_t> ids_;  // of `polled_`
  std::uint64_t next_id_ = 1;
  Instant awake_until_{};
  Instant left_;  // when the last round ended; kNever before the first
  Nanos asleep_;  // the machine, when a round last said so: not more
};

}  // namespace tempo::sys
