// A preloaded library that hides what clknetsim, a simulator of clocks and networks, does not have
// (according to its README and by experiment). A missing clock is refused with EINVAL, as the
// kernel does; any other missing call ends the program with status 86 and one line.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace {

[[noreturn]] void missing(const char* what) {
  const char* parts[] = {"narrow kernel: there is no ", what, "\n"};
  for (const char* part : parts)
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  _exit(86);
}

template <class Function>
Function* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) missing(name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) {
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_RAW) {
    errno = EINVAL;
    return -1;
  }
  static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
  return real(clock, time);
}

int socket(int family, int type, int protocol) {
  if (family != AF_INET) missing("socket family other than IPv4");
  if ((type & (SOCK_CLOEXEC | SOCK_NONBLOCK)) != 0) missing("flag in a socket type");
  static auto* const real = next<int(int, int, int)>("socket");
  return real(family, type, protocol);
}

int epoll_create1(int) { missing("epoll"); }
int epoll_create(int) { missing("epoll"); }
int ppoll(pollfd*, nfds_t, const timespec*, const sigset_t*) { missing("ppoll"); }
int signalfd(int, const sigset_t*, int) { missing("signalfd"); }
int pipe2(int*, int) { missing("pipe2"); }
pid_t fork() { missing("fork"); }
int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) {
  missing("second thread");
}

ssize_t recvfrom(int socket, void* bytes, size_t size, int flags, sockaddr* from,
                 socklen_t* length) {
  if (from == nullptr) missing("recvfrom without an address");
  static auto* const real =
      next<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)>("recvfrom");
  return real(socket, bytes, size, flags, from, length);
}

}  // extern "C"
