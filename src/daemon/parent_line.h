// The line between the parent and its worker: events go up, for the hook; new settings come down.
//
// Both ends exist before the fork; each process keeps its own. What cannot be sent at once is lost
// rather than waited for.
#pragma once

#include <string>
#include <string_view>

#include "platform/descriptor.h"

namespace tempo::daemon {

class ParentLine {
 public:
  static constexpr std::size_t kMaxBytes = 128 * 1024;

  ParentLine();

  void be_parent() { workers_ = {}; }
  void be_worker() { parents_ = {}; }
  int descriptor() const;  // to poll for POLLIN; POLLHUP: the other end is gone

  bool send(std::string_view text) const;
  std::string receive() const;  // empty: nothing is there

 private:
  int own() const;

  sys::Descriptor parents_;
  sys::Descriptor workers_;
};

}  // namespace tempo::daemon
