#include "support/relay.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"

namespace tempo::testbed {
namespace {

constexpr std::size_t kMaxFrame = 4096;
constexpr std::size_t kMaxHeld = 4096;  // frames in transit; more are dropped, as by a full queue

using Bytes = std::vector<std::byte>;

Instant now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return Instant{std::chrono::seconds{time.tv_sec} + Nanos{time.tv_nsec}};
}

// Opens a socket for all frames of an interface. Frames carry the checksum state of the kernel,
// because the checksum may not be computed yet.
int open_end(const std::string& interface) {
  const int end = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
  const int yes = 1;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
  packet_mreq all{};
  all.mr_ifindex = address.sll_ifindex;
  all.mr_type = PACKET_MR_PROMISC;
  if (end < 0 || ::setsockopt(end, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof(yes)) != 0 ||
      ::bind(end, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::setsockopt(end, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) != 0)
    return -1;
  return end;
}

struct Frame {
  Instant due{};
  std::uint64_t number = 0;
  std::size_t to = 0;
  Bytes bytes{};

  bool operator>(const Frame& other) const {
    return std::pair(due, number) > std::pair(other.due, other.number);
  }
};

class Carrier {
 public:
  Carrier(std::array<int, 2> ends, const Impairment& impairment,
          std::atomic<std::uint64_t>& carried, std::atomic<std::uint64_t>& overtaken)
      : ends_(ends),
        impairment_(impairment),
        chance_(impairment.seed, 1, 1),
        carried_(carried),
        overtaken_(overtaken) {}

  [[noreturn]] void run() {
    for (;;) {
      std::array<pollfd, 2> ready{pollfd{ends_[0], POLLIN, 0}, pollfd{ends_[1], POLLIN, 0}};
      const Nanos left = held_.empty() ? Nanos{1s} : std::max(held_.top().due - now(), Nanos{0});
      const timespec wait{.tv_sec = left / 1s, .tv_nsec = (left % 1s).count()};
      ::ppoll(ready.data(), ready.size(), &wait, nullptr);
      for (std::size_t i = 0; i < 2; ++i) receive(i);
      while (!held_.empty() && held_.top().due <= now()) deliver();
    }
  }

 private:
  void receive(std::size_t from) {
    constexpr int kAtOnce = 64;
    for (int i = 0; i < kAtOnce; ++i) {
      Bytes bytes(kMaxFrame);
      sockaddr_ll sender{};
      socklen_t size = sizeof(sender);
      const ssize_t got = ::recvfrom(ends_[from], bytes.data(), bytes.size(), 0,
                                     reinterpret_cast<sockaddr*>(&sender), &size);
      if (got <= 0) return;
      if (sender.sll_pkttype == PACKET_OUTGOING) continue;  // sent by this process
      bytes.resize(static_cast<std::size_t>(got));
      const int copies = chance_.chance(impairment_.twice) ? 2 : 1;
      for (int copy = 0; copy < copies && held_.size() < kMaxHeld; ++copy)
        held_.push({now() + delay(from), ++numbers_, 1 - from, bytes});
    }
  }

  Nanos delay(std::size_t from) {
    Nanos span = from == 1 && impairment_.back >= Nanos{0} ? impairment_.back : impairment_.delay;
    if (impairment_.jitter > Nanos{0})
      span +=
          Nanos{std::llround(chance_.exponential(static_cast<double>(impairment_.jitter.count())))};
    if (chance_.chance(impairment_.held)) span += impairment_.held_for;
    return span;
  }

  void deliver() {
    const Frame& frame = held_.top();
    if (::send(ends_[frame.to], frame.bytes.data(), frame.bytes.size(), 0) > 0) ++carried_;
    if (frame.number < newest_[frame.to]) ++overtaken_;
    newest_[frame.to] = std::max(newest_[frame.to], frame.number);
    held_.pop();
  }

  std::array<int, 2> ends_;
  Impairment impairment_;
  Stream chance_;
  std::atomic<std::uint64_t>& carried_;
  std::atomic<std::uint64_t>& overtaken_;
  std::priority_queue<Frame, std::vector<Frame>, std::greater<>> held_;  // at most kMaxHeld
  std::uint64_t numbers_ = 0;
  std::array<std::uint64_t, 2> newest_{};  // highest number delivered to each end
};

}  // namespace

Relay::Relay(const std::string& space, const std::string& near, const std::string& far,
             const Impairment& impairment) {
  void* shared =
      ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::array<int, 2> ready{};
  if (shared == MAP_FAILED || ::pipe2(ready.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("cannot create a relay: out of memory");
  counts_ = new (shared) Counts;
  process_ = ::fork();
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int there = ::open(("/run/netns/" + space).c_str(), O_RDONLY);
    if (::setns(there, CLONE_NEWNET) != 0) ::_exit(1);
    const std::array<int, 2> ends{open_end(near), open_end(far)};
    if (ends[0] < 0 || ends[1] < 0) ::_exit(1);
    (void)::write(ready[1], "1", 1);
    Carrier(ends, impairment, counts_->carried, counts_->overtaken).run();
  }
  ::close(ready[1]);
  char good = 0;
  const bool started = ::read(ready[0], &good, 1) == 1;
  ::close(ready[0]);
  if (!started) throw std::runtime_error("cannot create a relay: its interfaces cannot be opened");
}

Relay::~Relay() {
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(counts_, sizeof(Counts));
}

std::uint64_t Relay::carried() const { return counts_->carried; }
std::uint64_t Relay::overtaken() const { return counts_->overtaken; }

}  // namespace tempo::testbed
