// Reproducible random numbers.
//
// A Stream is an unlimited sequence of numbers identified by (seed, cause, node). Philox 4x32-10
// (Salmon et al., 2011) encrypts a counter, so streams share no state and a run is the same on any
// number of threads. The distributions use only +, *, / and sqrt, because those of the standard
// library, and libm's log, may differ from one machine to the next.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/units.h"

namespace tempo {

// Natural logarithm and exponential with the same bits on every machine (relative error below
// 1e-15).
double exact_log(double x);
double exact_exp(double x);

class Stream {
 public:
  Stream() = default;
  Stream(std::uint64_t seed, std::uint32_t cause, std::uint32_t node)
      : seed_(seed), cause_(cause), node_(node) {}

  std::uint64_t next() { return drawn_++ % 2 == 0 ? first_of_block() : second_; }

  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // uniform in [0, 1)
  bool chance(double probability);           // draws even for 0 and 1: streams stay aligned
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
  std::uint64_t first_of_block();  // encrypts the next block and stores its second number

  // Streams are small because a simulated node has several of them.
  std::uint64_t seed_ = 0;
  std::uint64_t drawn_ = 0;   // numbers drawn; a block has two
  std::uint64_t second_ = 0;  // second number of the current block; valid if `drawn_` is odd
  std::uint32_t cause_ = 0;
  std::uint32_t node_ = 0;
};

// A machine's only source of random numbers. Every draw is a whole number below a limit, so that a
// checker can try each value, a test can fix it, and the daemon can ask the kernel.
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
