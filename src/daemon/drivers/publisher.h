// Publishes network time in the page that libtempo reads.
//
// The lines of the page come from two readings of the node: now, and one second ahead without
// further input. Readers extrapolate them along CLOCK_MONOTONIC_RAW, also if the node uses another
// timescale. The page is published at every change of the clock and at least once a second; the
// destructor marks it as orphaned.
#pragma once

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

  void publish(sys::Oscillator& oscillator, const node::Sync& sync);

 private:
  bool slept(const page::Moment& moment);

  page::Writer writer_;
  page::Content last_{};
  Instant doubted_until_{};  // raw time; until then the page is unsynchronized after a suspension
};

// The page for two readings of the node, one second of raw time apart.
page::Content content_of(const page::Moment& moment, const node::Reading& now,
                         const node::Reading& in_a_second);

page::Status page_status(node::Reading::Status status);

// Marks the page of a dead worker as orphaned.
void orphan_page(const std::string& socket);

}  // namespace tempo::daemon
