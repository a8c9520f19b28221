// A driver that runs a machine over UDP, and a pair of processes that use it.
//
// `drive` is one thread with one poll() loop. A datagram holds the bytes of a message, a control
// message the bytes of a command or a notice: both ends are the same program, and connected sockets
// accept no other sender. The loop ends when the test closes the control socket, or after
// kLongestRun.
//
// A Pair is two such processes on the loopback interface, on ports chosen by the kernel. The test
// gives commands and waits for notices; the tests do not depend on the speed of the host.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <utility>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine/machine.h"

namespace tempo::toys {

inline constexpr Nanos kLongestRun = 30s;   // time limit of a driver
inline constexpr Nanos kLongestWait = 20s;  // time limit of a test for one notice

inline Instant monotonic_now() {
  timespec time{};
  CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
  return Instant{std::chrono::seconds{time.tv_sec} + Nanos{time.tv_nsec}};
}

// Waits until one of the descriptors is readable or until the given time.
template <std::size_t kCount>
void wait_for_input(std::array<pollfd, kCount>& inputs, Instant until) {
  const Nanos left = std::max(until - monotonic_now(), Nanos{0});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  ppoll(inputs.data(), inputs.size(), &limit, nullptr);
}

struct Sockets {
  int network;
  int control;
};

template <Machine M>
class UdpDriver {
 public:
  // Drops the first `losses` datagrams that it sends, so that a test has a certain loss.
  UdpDriver(M machine, NodeId other, Sockets sockets, Stream chance, std::uint32_t losses)
      : machine_(std::move(machine)),
        other_(other),
        sockets_(sockets),
        chance_(chance),
        losses_(losses) {}

  // Returns the exit status: 0 after the control socket is closed, 1 after kLongestRun.
  int drive() {
    const Instant end = monotonic_now() + kLongestRun;
    step([](M& machine, Turn<M>& turn) { machine.start(turn); });
    while (monotonic_now() < end) {
      std::array<pollfd, 2> inputs{{{.fd = sockets_.network, .events = POLLIN, .revents = 0},
                                    {.fd = sockets_.control, .events = POLLIN, .revents = 0}}};
      wait_for_input(inputs, std::min(machine_.timers().first(), end));
      receive_all();
      if (!handle_command()) return 0;
      for (int i = 0; i < kMaxAtOnce && machine_.timers().first() <= monotonic_now(); ++i) {
        const TimerId timer = machine_.timers().first_name();
        step([timer](M& machine, Turn<M>& turn) { machine.on_timer(turn, timer); });
      }
    }
    return 1;
  }

 private:
  // Limit of datagrams or due timers in one round; the rest waits for the next.
  static constexpr int kMaxAtOnce = 64;

  // Delivers the datagrams that have arrived; the contract requires this before on_timer.
  void receive_all() {
    typename M::Message message;
    for (int i = 0; i < kMaxAtOnce; ++i) {
      if (recv(sockets_.network, &message, sizeof message, MSG_DONTWAIT) != sizeof message) return;
      step([&](M& machine, Turn<M>& turn) { machine.receive(turn, other_, message); });
    }
  }

  // Carries out a pending command; returns false if the other end is closed.
  bool handle_command() {
    typename M::Command command;
    const auto size = recv(sockets_.control, &command, sizeof command, MSG_DONTWAIT);
    if (size == sizeof command)
      step([&](M& machine, Turn<M>& turn) { machine.command(turn, command); });
    return size != 0;
  }

  template <class Do>
  void step(Do action) {
    outbox_.clear();
    StreamDraw draw{chance_};
    Turn<M> turn{monotonic_now(), draw, outbox_};
    action(machine_, turn);
    for (const Output<M>& output : outbox_) {
      if (output.kind == OutputKind::notice) {
        send(sockets_.control, &output.notice, sizeof output.notice, MSG_NOSIGNAL);
      } else if (losses_ > 0) {
        --losses_;
      } else {
        // A datagram that cannot be sent, for example to a process that has ended, counts as lost.
        send(sockets_.network, &output.message, sizeof output.message, MSG_NOSIGNAL);
      }
    }
  }

  M machine_;
  NodeId other_;
  Sockets sockets_;
  Stream chance_;
  std::uint32_t losses_;
  Outbox<M> outbox_;
};

// Two processes, nodes 0 and 1. They end with the Pair, or when the test process dies.
template <Machine M>
class Pair {
 public:
  using Notice = typename M::Notice;

  // `make(node)` returns the machine of a node; each node drops the first `losses` datagrams.
  template <class Make>
  explicit Pair(Make make, std::uint32_t losses = 0) {
    std::array<Sockets, 2> theirs{};
    std::array<sockaddr_in, 2> addresses{};
    for (std::size_t i = 0; i < 2; ++i) {
      std::array<int, 2> ends{};
      CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) == 0);
      controls_[i] = ends[0];
      theirs[i].control = ends[1];
      theirs[i].network = socket(AF_INET, SOCK_DGRAM, 0);
      addresses[i].sin_family = AF_INET;
      addresses[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      auto* address = reinterpret_cast<sockaddr*>(&addresses[i]);
      socklen_t size = sizeof addresses[i];
      CHECK(bind(theirs[i].network, address, size) == 0);
      CHECK(getsockname(theirs[i].network, address, &size) == 0);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const auto* address = reinterpret_cast<const sockaddr*>(&addresses[1 - i]);
      CHECK(connect(theirs[i].network, address, sizeof addresses[i]) == 0);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      processes_[i] = fork();
      CHECK(processes_[i] >= 0);
      if (processes_[i] != 0) continue;
      // A socket reports that its peer is closed only after all copies of the peer are closed.
      for (const int fd :
           {controls_[0], controls_[1], theirs[1 - i].network, theirs[1 - i].control})
        close(fd);
      alarm(static_cast<unsigned>(2 * kLongestRun / 1s));  // last resort
      UdpDriver<M> driver{make(node_at(i)), node_at(1 - i), theirs[i],
                          Stream(20, 1, static_cast<std::uint32_t>(i)), losses};
      _exit(driver.drive());
    }
    for (const Sockets& sockets : theirs) {
      close(sockets.network);
      close(sockets.control);
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    for (std::size_t i = 0; i < 2; ++i) end(node_at(i));
  }

  void command(NodeId node, const typename M::Command& command) {
    CHECK(send(controls_[index(node)], &command, sizeof command, MSG_NOSIGNAL) == sizeof command);
  }

  // The next notice of either node; empty after kLongestWait.
  std::optional<std::pair<NodeId, Notice>> next() {
    const Instant until = monotonic_now() + kLongestWait;
    while (monotonic_now() < until) {
      std::array<pollfd, 2> inputs{{{.fd = controls_[0], .events = POLLIN, .revents = 0},
                                    {.fd = controls_[1], .events = POLLIN, .revents = 0}}};
      wait_for_input(inputs, until);
      for (std::size_t i = 0; i < 2; ++i) {
        Notice notice;
        if (controls_[i] >= 0 &&
            recv(controls_[i], &notice, sizeof notice, MSG_DONTWAIT) == sizeof notice)
          return std::pair{node_at(i), notice};
      }
    }
    return std::nullopt;
  }

  // Reads notices until `done(node, notice)` returns true; false after kLongestWait without one.
  template <class Done>
  bool await(Done done) {
    while (const auto received = next())
      if (done(received->first, received->second)) return true;
    return false;
  }

  // Ends one process and returns its exit status; -1: it did not exit normally.
  int end(NodeId node) {
    const std::size_t i = index(node);
    if (processes_[i] < 0) return -1;
    close(std::exchange(controls_[i], -1));
    int status = 0;
    const pid_t ended = waitpid(std::exchange(processes_[i], -1), &status, 0);
    return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::array<int, 2> controls_{-1, -1};  // -1: ended; poll ignores it
  std::array<pid_t, 2> processes_{-1, -1};
};

}  // namespace tempo::toys
