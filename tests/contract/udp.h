// A machine over UDP: the driver that a daemon would be, in a few lines, and processes for it.
//
// `drive` is one thread and one poll() loop. A datagram is the bytes of a message and a control
// message the bytes of a command or a notice: both ends are the same program, and nobody else can
// reach a connected socket. It ends when its control socket is closed, or by itself when its time
// is up.
//
// A Pair is two such processes on the loopback interface, on ports of the kernel's choice. The test
// gives commands and awaits notices; nothing here depends on how fast the machine it runs on is.
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

inline constexpr Nanos kLongestRun = 30s;   // of a driver
inline constexpr Nanos kLongestWait = 20s;  // of a test, for one notice

inline Instant monotonic_now() {
  timespec time{};
  CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
  return Instant{std::chrono::seconds{time.tv_sec} + Nanos{time.tv_nsec}};
}

// Waits until one of the descriptors can be read or the time has come.
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
  // Loses the first `losses` datagrams it sends, so that a test can be sure of a loss.
  UdpDriver(M machine, NodeId other, Sockets sockets, Stream chance, std::uint32_t losses)
      : machine_(std::move(machine)),
        other_(other),
        sockets_(sockets),
        chance_(chance),
        losses_(losses) {}

  // Gives the exit status: 0 when told to end, 1 when the time was up.
  int drive() {
    const Instant end = monotonic_now() + kLongestRun;
    step([](M& machine, Turn<M>& turn) { machine.start(turn); });
    while (monotonic_now() < end) {
      std::array<pollfd, 2> inputs{{{.fd = sockets_.network, .events = POLLIN, .revents = 0},
                                    {.fd = sockets_.control, .events = POLLIN, .revents = 0}}};
      wait_for_input(inputs, std::min(machine_.timers().first(), end));
      receive_all();
      if (!obey()) return 0;
      for (int i = 0; i < kMaxAtOnce && machine_.timers().first() <= monotonic_now(); ++i) {
        const TimerId timer = machine_.timers().first_name();
        step([timer](M& machine, Turn<M>& turn) { machine.on_timer(turn, timer); });
      }
    }
    return 1;
  }

 private:
  // Datagrams or due timers; the rest waits for the next round.
  static constexpr int kMaxAtOnce = 64;

  // Everything that has arrived is delivered before a timer is woken.
  void receive_all() {
    typename M::Message message;
    for (int i = 0; i < kMaxAtOnce; ++i) {
      if (recv(sockets_.network, &message, sizeof message, MSG_DONTWAIT) != sizeof message) return;
      step([&](M& machine, Turn<M>& turn) { machine.receive(turn, other_, message); });
    }
  }

  // Carries out a command if there is one; false when the other end has been closed.
  bool obey() {
    typename M::Command command;
    const auto size = recv(sockets_.control, &command, sizeof command, MSG_DONTWAIT);
    if (size == sizeof command)
      step([&](M& machine, Turn<M>& turn) { machine.command(turn, command); });
    return size != 0;
  }

  template <class Do>
  void step(Do todo) {
    outbox_.clear();
    StreamDraw draw{chance_};
    Turn<M> turn{monotonic_now(), draw, outbox_};
    todo(machine_, turn);
    for (const Output<M>& output : outbox_) {
      if (output.kind == OutputKind::notice) {
        send(sockets_.control, &output.notice, sizeof output.notice, MSG_NOSIGNAL);
      } else if (losses_ > 0) {
        --losses_;
      } else {
        // A datagram that cannot be sent, to a process that has ended for example, is a lost one.
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

// Two processes, nodes 0 and 1. They end with the Pair, or with the test process if that dies.
template <Machine M>
class Pair {
 public:
  using Notice = typename M::Notice;

  // `make(node)` gives each node's machine; each loses the first datagrams it sends.
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
      // A control socket tells of its end only when nobody else holds the other end of it.
      for (const int fd :
           {controls_[0], controls_[1], theirs[1 - i].network, theirs[1 - i].control})
        close(fd);
      alarm(static_cast<unsigned>(2 * kLongestRun / 1s));  // if all else fails
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

  // The next notice of either node; nothing if none comes in time.
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

  // Reads notices until `done(node, notice)` says that the awaited one has come.
  template <class Done>
  bool await(Done done) {
    while (const auto news = next())
      if (done(news->first, news->second)) return true;
    return false;
  }

  // Ends one process and gives its exit status; -1 if it did not end as it should.
  int end(NodeId node) {
    const std::size_t i = index(node);
    if (processes_[i] < 0) return -1;
    close(std::exchange(controls_[i], -1));
    int status = 0;
    const pid_t ended = waitpid(std::exchange(processes_[i], -1), &status, 0);
    return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::array<int, 2> controls_{-1, -1};  // -1: ended; poll passes over it
  std::array<pid_t, 2> processes_{-1, -1};
};

}  // namespace tempo::toys
