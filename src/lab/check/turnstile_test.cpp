#include "lab/check/turnstile.h"

#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::check {
namespace {

// Two plain numbers that are equal unless a writer is inside.
TEST(Turnstile, KeepsReadersOutDuringAWrite) {
  constexpr int kChanges = 300;
  Turnstile turnstile(3);
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  std::vector<std::uint64_t> torn(3);
  std::latch running(3);
  {
    std::vector<std::jthread> readers;
    for (unsigned i = 0; i < 3; ++i)
      readers.emplace_back([&, i] {
        running.count_down();
        for (bool more = true; more;) {
          turnstile.enter(i);
          const std::uint64_t before = left;
          std::this_thread::yield();  // gives a writer the chance to interfere
          torn[i] += before != right;
          more = right != kChanges;
          turnstile.leave(i);
        }
      });
    running.wait();
    for (int i = 0; i < kChanges; ++i)
      turnstile.alone([&] {
        ++left;
        std::this_thread::yield();
        ++right;
      });
  }
  EXPECT_EQ(torn, (std::vector<std::uint64_t>(3)));
  EXPECT_EQ(left, kChanges);
}

}  // namespace
}  // namespace tempo::check
