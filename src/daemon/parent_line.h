// Messages between parent and worker: events go up, for the hook; new settings go down.
//
// Both ends exist before fork(); each process keeps its own. A message that cannot be sent at once
// is lost: neither side waits.
#pragma once

#include <string>
#include <string_view>

#include "platform/descriptor.h"

namespace tempo::daemon {

// Message to the worker: this word, a tab, and why the state cannot be saved; empty: it can.
inline constexpr std::string_view kDiskError = "disk-error";

class ParentLine {
 public:
  static constexpr std::size_t kMaxBytes = 128 * 1024;

  ParentLine();

  void use_parent_end() { workers_ = {}; }
  void use_worker_end() { parents_ = {}; }
  int descriptor() const;  // poll it for POLLIN; POLLHUP: the other process is gone

  bool send(std::string_view text) const;
  std::string receive() const;  // empty: no message

 private:
  int own() const;

  sys::Descriptor parents_;
  sys::Descriptor workers_;
};

}  // namespace tempo::daemon
