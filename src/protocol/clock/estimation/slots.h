// Slots: the stored samples, merged into one slot per second of local time.
//
// A slot keeps the least reading of each direction and the mean middle of its samples. Bursts and
// high packet rates merge into one slot, so that the length of a window and the cost of a fit do
// not depend on the packet rate. Slots are contiguous in memory, newest last; the newest kKept are
// valid.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "protocol/clock/estimation/line.h"
#include "protocol/clock/estimation/sample.h"

namespace tempo::clock {

struct Slot {
  std::int64_t number = 0;      // its second of local time
  Sample least;                 // least reading of each direction, with path correction
  std::array<double, 2> raw{};  // the same readings without correction
  double time = 0;              // mean time of the samples that count
  double middle = 0;            // mean middle of the samples that count
  double weight = 0;            // samples that count: those with a round trip up to outlier_limit()
  double round_trip = 0;        // of the first sample, with path correction
  double noise = 0;             // median minus minimum of the round trips when it was opened
  Line theta;                   // combined line after its last sample
  double sigma = 0;             // standard error of theta
  double span = 1;              // span of the best window of theta, in seconds

  double raw_of(Direction direction) const { return raw[index(direction)]; }
};

class Slots {
 public:
  static constexpr std::size_t kKept = 1024 + 8;

  std::size_t size() const { return slots_.size() < kKept ? slots_.size() : kKept; }
  bool empty() const { return slots_.empty(); }
  std::uint64_t opened() const { return opened_; }  // number of slots opened since the start
  // The slot `age` slots before the newest, which has age 0.
  const Slot& back(std::size_t age) const { return slots_[slots_.size() - 1 - age]; }
  Slot& back(std::size_t age) { return slots_[slots_.size() - 1 - age]; }
  const Slot& newest() const { return slots_.back(); }
  Slot& newest() { return slots_.back(); }

  static std::int64_t number_of(const Sample& sample);
  // Adds a sample; `rate` is the best known rate of theta, which serves to compare readings of
  // different times. Returns true if it opened a new slot. The sample must not belong to an earlier
  // slot.
  bool add(const Sample& corrected, const Sample& raw, double rate);

  // A sample with a longer round trip is an outlier and does not count for the middle.
  double outlier_limit() const { return outlier_limit_; }
  // Median minus minimum of the newest round trips, and its mean over the last thousand slots.
  double spread() const { return spread_; }
  double usual_spread() const { return usual_spread_; }

  // Subtracts `by` from the readings of one direction and from the round trips in the newest
  // `count` slots; a slot that was above outlier_limit() counts again.
  void lower(Direction direction, double by, std::size_t count);
  // Adds `by` to theta in every slot, after a jump of the local clock.
  void shift(double by);

  static constexpr std::size_t most_bytes() { return kCapacity * sizeof(Slot); }

 private:
  static constexpr std::size_t kCapacity = 1536;  // when full, the newest kKept move to the front
  static constexpr std::size_t kLimitSlots = 64;  // window of the outlier limit
  static constexpr std::size_t kLimitEvery = 8;   // slots between two measurements of the limit
  static constexpr std::size_t kNoiseSlots = 16;  // window of the noise

  void measure_outlier_limit();
  double measure_noise() const;

  std::vector<Slot> slots_;
  std::uint64_t opened_ = 0;
  double outlier_limit_ = std::numeric_limits<double>::infinity();
  double spread_ = 0;
  double usual_spread_ = 0;
  double usual_count_ = 0;
};

}  // namespace tempo::clock
