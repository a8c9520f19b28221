// The network's time for the programs of this host, published in the page that libtempo reads.
//
// The page's lines are taken from two readings of the node: as it is now, and as it would be in a
// second without news. Readers carry them on along CLOCK_MONOTONIC_RAW, whatever timescale the node
// lives on. Published at every change of the clock and at least once a second; when the publisher
// goes, it leaves the page orphaned.
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
  Instant doubted_until_{};  // raw: the machine has slept, and the node must find out how long
};

// The node's two readings, a second of raw time apart, as a page.
page::Content content_of(const page::Moment& moment, const node::Reading& now,
                         const node::Reading& in_a_second);

// In the name of a worker that died.
void orphan_page(const std::string& socket);

}  // namespace tempo::daemon
