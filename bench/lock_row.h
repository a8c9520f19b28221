// Measurements of any kind of lock: time of one acquisition, and eight contenders for one lock.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tempo::bench {

using Clock = std::chrono::steady_clock;

inline constexpr std::size_t kContenders = 8;

inline double micros(Clock::duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

struct Timed {
  std::vector<double> us;
  double per_s = 0;

  double at(double part) {
    if (us.empty()) return 0;
    std::ranges::sort(us);
    return us[static_cast<std::size_t>(part * static_cast<double>(us.size() - 1))];
  }
};

// Repeats the operation until the time limit or `max_times`, and times each repetition.
inline Timed time(Clock::duration limit, std::size_t max_times,
                  const std::function<bool(std::size_t)>& operation) {
  Timed timed;
  const auto start = Clock::now();
  auto before = start;
  while (before - start < limit && timed.us.size() < max_times) {
    if (!operation(timed.us.size())) break;
    const auto after = Clock::now();
    timed.us.push_back(micros(after - before));
    before = after;
  }
  timed.per_s = static_cast<double>(timed.us.size()) * 1e6 / micros(before - start);
  return timed;
}

// Number of times that each of eight concurrent contenders held one lock.
struct Fairness {
  std::array<std::uint64_t, kContenders> times{};
  double per_s = 0;

  double spread() const {
    const auto [least, most] = std::ranges::minmax_element(times);
    return *least == 0 ? 0 : static_cast<double>(*most) / static_cast<double>(*least);
  }
};
using Contender = std::function<bool()>;  // acquires and releases the lock once
inline Fairness contend(Clock::duration limit, const std::function<Contender(std::size_t)>& make) {
  Fairness fairness;
  std::vector<std::thread> threads;
  threads.reserve(kContenders);
  const auto start = Clock::now();
  for (std::size_t i = 0; i < kContenders; ++i)
    threads.emplace_back([&, i] {
      const Contender once = make(i);
      while (Clock::now() - start < limit && once()) ++fairness.times[i];
    });
  for (std::thread& thread : threads) thread.join();
  std::uint64_t all = 0;
  for (const std::uint64_t count : fairness.times) all += count;
  fairness.per_s = static_cast<double>(all) * 1e6 / micros(Clock::now() - start);
  return fairness;
}

struct Row {
  std::string name;
  Timed fresh{}, again{};
  Fairness eight{};
};

}  // namespace tempo::bench
