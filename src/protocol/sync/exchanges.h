// The exchanges of a follower with its reference: when to probe, and the timestamps of each probe
// until it is evaluated.
//
// First contact is a series of exchanges that all count. After that come bursts, whose first
// exchanges warm the path up. When the reference is well known and its path needs no warm-up,
// single exchanges at the same average rate measure more.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "protocol/clock/estimation/cold_path_detector.h"
#include "protocol/sync/sync_step.h"

namespace tempo::node {

class Exchanges {
 public:
  // A probe sent and not yet evaluated.
  struct Pending {
    std::uint32_t number = 0;  // 0: none
    bool counts = false;       // it is measured; false: it only warms the path up
    bool first = false;        // first of a burst of several
    bool last = false;         // last of a burst of several
    bool answered = false;     // the Echo has arrived; a FollowUp may still come
    Instant asked{};           // r1
    Nanos received{0};         // t2
    Nanos sent{0};             // t3
    Instant heard{};           // r4
  };

  void begin(SyncStep& step);  // with a new reference
  void end(SyncStep& step);

  // When the timer `probe` fires: whether the next exchange belongs to a burst that has begun.
  bool in_burst(Instant now) const;
  // Whether it does after the echo of this exchange.
  bool in_burst_after(std::uint32_t number) const { return burst_left_ > 0 && number == number_; }
  // These start the next exchange, set the timer of the one after it and return its number.
  // `measured`: exchanges with this reference that counted.
  std::uint32_t begin_burst(SyncStep& step, std::uint64_t measured);
  std::uint32_t continue_burst(SyncStep& step, bool first = false);
  // Begins a burst soon.
  void hurry(SyncStep& step);

  Pending* find(std::uint32_t number);  // null: none
  std::array<Pending, 4>& pending() { return pending_; }
  // Ends a pending exchange and returns its timestamps.
  Pending take(Pending& pending);

 private:
  std::uint32_t add(SyncStep& step, Pending pending);

  std::uint32_t number_ = 0;         // of the last exchange
  std::uint32_t contacts_left_ = 0;  // exchanges of the first contact still to send
  std::uint32_t burst_left_ = 0;     // exchanges of the burst still to send
  std::uint32_t bursts_ = 0;         // bursts begun
  Instant next_burst_{};
  std::array<Pending, 4> pending_{};
  clock::ColdPathDetector cold_path_;
  Nanos first_trip_{0};  // round trip of the first exchange of a burst; 0: unknown
};

}  // namespace tempo::node
