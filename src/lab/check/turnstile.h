// A lock for many readers and rare writers. Readers enter and leave for every state, so a usual
// lock would cost more than the work it guards.
//
// A reader sets its flag and then checks for a writer; a writer sets its flag and then checks for
// readers. At least one of them sees the other.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace tempo::check {

class Turnstile {
 public:
  explicit Turnstile(unsigned readers) : inside_(readers) {}

  void enter(unsigned reader) {
    std::atomic<bool>& inside = inside_[reader].value;
    for (;;) {
      inside.store(true);
      if (!wanted_.value.load()) return;
      inside.store(false);
      wait_until([&] { return !wanted_.value.load(); });
    }
  }
  void leave(unsigned reader) { inside_[reader].value.store(false, std::memory_order_release); }

  // Runs `work` without readers. One thread at a time may call it, and only while it is not inside.
  template <class Work>
  void alone(Work work) {
    wanted_.value.store(true);
    for (const Flag& inside : inside_) wait_until([&] { return !inside.value.load(); });
    work();
    wanted_.value.store(false);
  }

 private:
  struct alignas(128) Flag {  // each in its own pair of cache lines
    std::atomic<bool> value = false;
  };

  // Readers stay inside only briefly, unless the scheduler preempts them: spin first, then yield.
  template <class Done>
  static void wait_until(Done done) {
    for (unsigned tries = 0; !done(); ++tries) {
      if (tries < 200)
        __builtin_ia32_pause();
      else
        std::this_thread::yield();
    }
  }

  Flag wanted_;
  std::vector<Flag> inside_;
};

}  // namespace tempo::check
