// What is remembered of the exchanges: one slot per second of local time.
//
// A slot keeps the least reading of each way and the mean middle of its exchanges. Bursts and high
// rates merge into it, so that the length of a window and the cost of a fit do not depend on how
// often packets are sent. Slots lie side by side in memory, newest last; the newest kKept are good.
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
  std::int64_t number = 0;      // the second it stands for
  Sample least;                 // of each way the least reading, corrected for longer paths
  std::array<double, 2> raw{};  // the same readings as they came
  double time = 0;              // mean time of the exchanges that count
  double middle = 0;            // and mean middle
  double weight = 0;            // how many count: those with a round trip under the clip
  double round_trip = 0;        // of the first exchange, corrected
  double noise = 0;             // how far round trips lay above their least when it was opened
  Line theta;                   // the combined line after its last exchange
  double sigma = 0;             // and its standard error

  double raw_of(Direction way) const { return raw[index(way)]; }
};

class Slots {
 public:
  static constexpr std::size_t kKept = 1024 + 8;

  std::size_t size() const { return slots_.size() < kKept ? slots_.size() : kKept; }
  bool empty() const { return slots_.empty(); }
  std::uint64_t opened() const { return opened_; }  // ever
  // `age` slots before the newest, which has age 0.
  const Slot& back(std::size_t age) const { return slots_[slots_.size() - 1 - age]; }
  Slot& back(std::size_t age) { return slots_[slots_.size() - 1 - age]; }
  const Slot& newest() const { return slots_.back(); }
  Slot& newest() { return slots_.back(); }

  static std::int64_t number_of(const Sample& sample);
  // Puts a sample in; `rate` is the best known rate of theta, by which readings at different times
  // are compared. True if a new slot was opened. A sample of an earlier slot may not come.
  bool add(const Sample& corrected, const Sample& raw, double rate);

  // Round trips above this say nothing about the middle.
  double outlier_limit() const { return outlier_limit_; }
  // Median minus minimum of the newest round trips, and its mean over the last thousand slots.
  double spread() const { return spread_; }
  double usual_spread() const { return usual_spread_; }

  // The readings of one way fall by `by` in the newest `count` slots, and the round trips with
  // them; what was above the clip counts again.
  void lower(Direction way, double by, std::size_t count);
  // Theta rises by `by` in every slot: the local clock jumped, and history with it.
  void shift(double by);

  static constexpr std::size_t most_bytes() { return kRoom * sizeof(Slot); }

 private:
  static constexpr std::size_t kRoom = 1536;  // then the newest kKept move to the front
  static constexpr std::size_t kClipSlots = 64;
  static constexpr std::size_t kClipEvery = 8;
  static constexpr std::size_t kNoiseSlots = 16;

  void measure_clip();
  double measure_noise() const;

  std::vector<Slot> slots_;
  std::uint64_t opened_ = 0;
  double outlier_limit_ = std::numeric_limits<double>::infinity();
  double spread_ = 0;
  double usual_spread_ = 0;
  double usual_count_ = 0;
};

}  // namespace tempo::clock
