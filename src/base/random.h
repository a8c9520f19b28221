// Chance that can be replayed.
//
// A Stream is an endless row of numbers named by (seed, cause, node): Philox 4x32-10 (Salmon et
// al., 2011) enciphers a counter, so a stream has no history that another could disturb, and a run
// is the same on any number of threads. The distributions are ours, written with +, *, / and sqrt
// alone, because the standard library's, and libm's log, may differ from one machine to the next.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/units.h"

namespace tempo {

// Natural logarithm and exponential, the same bits everywhere (relative error below 1e-15).
double exact_log(double x);
double exact_exp(double x);

class Stream {
 public:
  Stream() = default;
  Stream(std::uint64_t seed, std::uint32_t cause, std::uint32_t node)
      : seed_(seed), cause_(cause), node_(node) {}

  std::uint64_t next() { return drawn_++ % 2 == 0 ? first_of_block() : second_; }

  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // uniform in [0, 1)
  bool chance(double probability);           // draws even for 0 and 1: streams stay in step
  std::uint64_t below(std::uint64_t limit);  // uniform in [0, limit), without bias; limit > 0
  Nanos uniform(Nanos low, Nanos high);      // uniform in [low, high]
  double exponential(double mean);
  double normal(double mean, double deviation);
  double pareto(double minimum, double alpha);
  template <class T>
  T& choice(std::span<T> from) {
    return from[below(from.size())];
  }

 private:
  std::uint64_t first_of_block();  // enciphers the next block and keeps its other half

  // A simulated node has several streams: they are kept small.
  std::uint64_t seed_ = 0;
  std::uint64_t drawn_ = 0;   // numbers so far; a block is two
  std::uint64_t second_ = 0;  // of the block begun, if `drawn_` is odd
  std::uint32_t cause_ = 0;
  std::uint32_t node_ = 0;
};

// The door through which a machine meets chance. Every decision is a whole number below a limit, so
// that a checker can try each value, a test can fix it, and the daemon can ask the kernel.
class Draw {
 public:
  virtual std::uint64_t below(std::uint64_t limit) = 0;

  // A whole number of nanoseconds in [low, high].
  Nanos between(Nanos low, Nanos high) {
    CHECK(low <= high);
    return low + Nanos{static_cast<Nanos::rep>(
                     below(static_cast<std::uint64_t>((high - low).count()) + 1))};
  }

 protected:
  ~Draw() = default;
};

class StreamDraw final : public Draw {
 public:
  explicit StreamDraw(Stream& stream) : stream_(&stream) {}
  std::uint64_t below(std::uint64_t limit) override { return stream_->below(limit); }

 private:
  Stream* stream_;
};

}  // namespace tempo
