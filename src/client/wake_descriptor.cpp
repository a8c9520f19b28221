#include "client/wake_descriptor.h"

#include <algorithm>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace tempo::client {

using std::chrono::nanoseconds;

WakeDescriptor::WakeDescriptor(int socket)
    : events_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  watch(socket);
  watch(timer_);
}

WakeDescriptor::~WakeDescriptor() {
  if (events_ >= 0) close(events_);
  if (timer_ >= 0) close(timer_);
}

void WakeDescriptor::watch(int socket) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = socket;
  (void)epoll_ctl(events_, EPOLL_CTL_ADD, socket, &event);
}

void WakeDescriptor::forget(int socket) const {
  (void)epoll_ctl(events_, EPOLL_CTL_DEL, socket, nullptr);
}

void WakeDescriptor::wake_at(nanoseconds boot_time) const {
  const nanoseconds when = std::max(boot_time, nanoseconds{1});
  itimerspec at{};
  at.it_value.tv_sec = std::chrono::floor<std::chrono::seconds>(when).count();
  at.it_value.tv_nsec = (when % std::chrono::seconds{1}).count();
  (void)timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

void WakeDescriptor::do_not_wake() const {
  const itimerspec never{};
  (void)timerfd_settime(timer_, TFD_TIMER_ABSTIME, &never, nullptr);
}

}  // namespace tempo::client
