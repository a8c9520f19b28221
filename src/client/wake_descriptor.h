// A descriptor that becomes readable when a connection has input or a time has come.
//
// It stays the same while the connection is replaced, so that a program can keep polling it.
#pragma once

#include <chrono>

namespace tempo::client {

class WakeDescriptor {
 public:
  explicit WakeDescriptor(int socket);
  ~WakeDescriptor();
  WakeDescriptor(const WakeDescriptor&) = delete;
  WakeDescriptor& operator=(const WakeDescriptor&) = delete;

  // -1: the process has no free descriptor.
  int number() const { return events_; }
  void watch(int socket) const;
  void forget(int socket) const;  // before it is closed
  void wake_at(std::chrono::nanoseconds boot_time) const;
  void do_not_wake() const;

 private:
  int events_ = -1;
  int timer_ = -1;
};

}  // namespace tempo::client
