// Many read, now and then one changes: readers go in and out after every state, a lock would cost
// them more than what they read.
//
// A reader says that it is inside and then looks whether somebody wants to be alone; who wants to
// be alone says so and then looks whether somebody is inside. At least one of them sees the other.
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

  // One thread at a time, itself not inside.
  template <class Work>
  void alone(Work work) {
    wanted_.value.store(true);
    for (const Flag& inside : inside_) wait_until([&] { return !inside.value.load(); });
    work();
    wanted_.value.store(false);
  }

 private:
  struct alignas(128) Flag {  // each where no other is fetched with it
    std::atomic<bool> value = false;
  };

  // Nobody is inside for long, unless the machine has taken the processor away.
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
