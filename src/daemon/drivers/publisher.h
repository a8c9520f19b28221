// Publishes network time in the page that libtempo reads.
//
// The lines of the page come from two readings of the node: now, and one second ahead without
// further input. Readers extrapolate them along CLOCK_MONOTONIC_RAW, also if the node uses another
// timescale. The page is published at every change of the clock and at least once a second; the
// destructor marks it as orphaned.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "api/page_file.h"
#include "platform/clocks/oscillator.h"
#include "protocol/sync/sync.h"

namespace tempo::daemon {

class Publisher {
 public:
  explicit Publisher(page::Writer writer) : writer_(std::move(writer)) {}
  ~Publisher() { writer_.orphan(); }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // What the page shows.
  struct Source {
    // The reading at this instant of the oscillator, which is `ahead` from now.
    std::function<node::Reading(Instant at, Nanos ahead)> reading;
    BootTime main_until = kNever;  // end of the main part; kNever: without a limit
    std::uint32_t generation = 0;  // of the time scale
  };
  void publish(sys::Oscillator& oscillator, const Source& source);

 private:
  bool slept(const page::Moment& moment);

  page::Writer writer_;
  page::Content last_{};
  Instant doubted_until_{};  // raw time; until then the page is unsynchronized after a suspension
};

// The page for two readings of the node, one second of raw time apart.
page::Content content_of(const page::Moment& moment, const node::Reading& now,
                         const node::Reading& in_a_second);

// Marks the page of a dead worker as orphaned.
void orphan_page(const std::string& socket);

}  // namespace tempo::daemon
