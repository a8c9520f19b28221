#include "support/recorder.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tempo::testbed {
namespace {

constexpr std::size_t kMaxFrames = 1 << 16;
constexpr std::size_t kNewest = 500;
constexpr Nanos kRound = 10ms;  // between two rounds of a replay
constexpr std::size_t kMaxBytes = 4096;
constexpr int kBuffer = 4 << 20;

// Frames carry the checksum state of the kernel, because the checksum may not be computed yet.
int open_socket(const std::string& interface) {
  const int socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &kBuffer, sizeof(kBuffer));
  if (socket < 0 || ::setsockopt(socket, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof(yes)) != 0 ||
      ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return -1;
  return socket;
}

// A socket stays in the network namespace in which it was opened.
int open_in(const std::string& space, const std::string& interface) {
  const int here = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  const int there = ::open(("/run/netns/" + space).c_str(), O_RDONLY | O_CLOEXEC);
  const int socket = ::setns(there, CLONE_NEWNET) == 0 ? open_socket(interface) : -1;
  const bool back = ::setns(here, CLONE_NEWNET) == 0;
  ::close(there);
  ::close(here);
  return back ? socket : -1;
}

bool is_udp(const std::vector<std::byte>& frame) {
  constexpr std::size_t kIp = 10 + 14;  // after the checksum state and the Ethernet header
  return frame.size() > kIp + 20 && frame[kIp - 2] == std::byte{8} &&
         frame[kIp - 1] == std::byte{0} && frame[kIp + 9] == std::byte{IPPROTO_UDP};
}

}  // namespace

Recorder::Recorder(const std::string& space, const std::string& interface)
    : socket_(open_in(space, interface)) {
  if (socket_ < 0) throw std::runtime_error("cannot record " + interface + " of " + space);
}

Recorder::~Recorder() { ::close(socket_); }

bool Recorder::receive(Frame& frame) const {
  for (std::size_t i = 0; i < kMaxFrames; ++i) {
    frame.bytes.resize(kMaxBytes);
    sockaddr_ll from{};
    socklen_t size = sizeof(from);
    const ssize_t got = ::recvfrom(socket_, frame.bytes.data(), frame.bytes.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    if (got <= 0) return false;
    frame.bytes.resize(static_cast<std::size_t>(got));
    frame.sent = from.sll_pkttype == PACKET_OUTGOING;
    if (is_udp(frame.bytes)) return true;
  }
  return false;
}

void Recorder::record() {
  Frame frame;
  while (frames_.size() < kMaxFrames && receive(frame)) frames_.push_back(frame);
}

std::size_t Recorder::sent() const {
  return static_cast<std::size_t>(std::ranges::count(frames_, true, &Frame::sent));
}

std::size_t Recorder::replay(Nanos time) {
  std::size_t sent = 0;
  std::size_t next = 0;
  const auto send_on = [&] {  // up to the next question of the recording
    for (; next < frames_.size() && frames_[next].sent; ++next) sent += send(frames_[next]) ? 1U : 0U;
    ++next;
  };
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end && next < frames_.size()) {
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 100) <= 0) continue;
    Frame heard;
    while (receive(heard))
      if (!heard.sent) send_on();
  }
  return sent;
}

bool Recorder::send(const Frame& frame) const {
  return ::send(socket_, frame.bytes.data(), frame.bytes.size(), 0) > 0;
}

std::size_t Recorder::replay_all(std::span<Recorder* const> recorders, Order order, Nanos time) {
  struct Next {
    const Recorder* recorder = nullptr;
    const Frame* frame = nullptr;
  };
  std::vector<Next> all;
  std::size_t longest = 0;
  for (const Recorder* recorder : recorders) longest = std::max(longest, recorder->frames_.size());
  for (std::size_t i = 0; i < longest; ++i)
    for (const Recorder* recorder : recorders)
      if (i < recorder->frames_.size() && recorder->frames_[i].sent)
        all.push_back({recorder, &recorder->frames_[i]});
  if (order == Order::newest && all.size() > kNewest) all.erase(all.begin(), all.end() - kNewest);
  if (order == Order::reversed) std::ranges::reverse(all);
  const auto rounds = static_cast<std::size_t>(time / kRound);
  const std::size_t each = all.size() / rounds + 1;
  std::size_t sent = 0;
  std::size_t place = 0;
  auto next = std::chrono::steady_clock::now();
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < each && !all.empty(); ++i) {
      if (place == all.size() && order != Order::newest) break;
      const Next& one = all[place % all.size()];
      sent += one.recorder->send(*one.frame) ? 1U : 0U;
      place = order == Order::newest ? (place + 1) % all.size() : place + 1;
    }
    next += kRound;
    std::this_thread::sleep_until(next);
  }
  return sent;
}

}  // namespace tempo::testbed
