// A network namespace for one test: the constructor enters it, the destructor leaves it.
#pragma once

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "platform/descriptor.h"

namespace tempo::sys {

class TestNamespace {
 public:
  TestNamespace() : home_(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) {
    if (home_.none()) return;
    if (std::system("command -v ip >/dev/null 2>&1") != 0) {
      lacking_ = "needs ip (iproute2)";
    } else if (unshare(CLONE_NEWNET) != 0) {
      lacking_ = "needs root: a network namespace";
    } else {
      lacking_.clear();
    }
  }
  ~TestNamespace() {
    if (lacking_.empty() && setns(home_.number(), CLONE_NEWNET) != 0) std::abort();
  }
  TestNamespace(const TestNamespace&) = delete;
  TestNamespace& operator=(const TestNamespace&) = delete;

  const std::string& lacking() const {
    return lacking_;
  }  // reason why there is none; empty: it exists

  // Runs ip(8) with these arguments in the namespace.
  static bool ip(const std::string& arguments) {
    return std::system(("ip " + arguments + " >/dev/null 2>&1").c_str()) == 0;
  }

 private:
  Descriptor home_;
  std::string lacking_ = "needs /proc";
};

}  // namespace tempo::sys

#define TEST_NAMESPACE(name)        \
  ::tempo::sys::TestNamespace name; \
  if (!(name).lacking().empty()) GTEST_SKIP() << (name).lacking()
