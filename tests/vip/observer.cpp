#include "observer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tempo::testbed {
namespace {

std::uint16_t checksum(const void* data, std::size_t size) {
  const auto* const bytes = static_cast<const unsigned char*>(data);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < size; i += 2)
    sum += static_cast<std::uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return htons(static_cast<std::uint16_t>(~sum));
}

}  // namespace

Observer::Observer(const Options& options) : options_(options) {
  std::thread([&] {
    const int there = ::open(("/run/netns/" + options.space).c_str(), O_RDONLY | O_CLOEXEC);
    if (::setns(there, CLONE_NEWNET) != 0) std::abort();
    ::close(there);
    socket_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
    interface_ = static_cast<int>(::if_nametoindex("eth0"));
    ifreq request{};
    std::strcpy(request.ifr_name, "eth0");
    if (socket_ < 0 || ::ioctl(socket_, SIOCGIFHWADDR, &request) != 0) std::abort();
    std::memcpy(mac_.data(), request.ifr_hwaddr.sa_data, mac_.size());
    sockaddr_ll here{};
    here.sll_family = AF_PACKET;
    here.sll_protocol = htons(ETH_P_ALL);
    here.sll_ifindex = interface_;
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0) std::abort();
  }).join();
  thread_ = std::thread([this] { work(); });
}

Observer::~Observer() {
  stop_ = true;
  thread_.join();
  ::close(socket_);
}

std::vector<std::byte> Observer::echo_request(const vip::Mac& to, std::uint16_t number) const {
  ethhdr link{};
  std::memcpy(link.h_dest, to.data(), to.size());
  std::memcpy(link.h_source, mac_.data(), mac_.size());
  link.h_proto = htons(ETH_P_IP);
  iphdr ip{};
  ip.version = 4;
  ip.ihl = 5;
  ip.ttl = 64;
  ip.protocol = IPPROTO_ICMP;
  icmphdr icmp{};
  icmp.type = ICMP_ECHO;
  icmp.un.echo.id = htons(0x7669);
  icmp.un.echo.sequence = htons(number);
  icmp.checksum = checksum(&icmp, sizeof icmp);
  ip.tot_len = htons(sizeof ip + sizeof icmp);
  ::inet_pton(AF_INET, options_.own.c_str(), &ip.saddr);
  std::memcpy(&ip.daddr, options_.address.bytes.data(), sizeof ip.daddr);
  ip.check = checksum(&ip, sizeof ip);
  std::vector<std::byte> frame(sizeof link + sizeof ip + sizeof icmp);
  std::memcpy(frame.data(), &link, sizeof link);
  std::memcpy(frame.data() + sizeof link, &ip, sizeof ip);
  std::memcpy(frame.data() + sizeof link + sizeof ip, &icmp, sizeof icmp);
  return frame;
}

void Observer::work() {
  // A question that names this machine, so that the answer comes here.
  vip::AddressPrefix own = *vip::AddressPrefix::parse(options_.own + "/24");
  std::vector<std::byte> question = vip::probe(options_.address, mac_);
  if (options_.address.family == AF_INET)
    std::ranges::copy(own.address(), question.begin() + ETH_HLEN + 14);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = interface_;
  to.sll_halen = ETH_ALEN;
  auto next = Clock::now();
  for (std::uint16_t number = 0; !stop_; ++number) {
    (void)::sendto(socket_, question.data(), question.size(), 0,
                   reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (options_.address.family == AF_INET)
      for (const vip::Mac& machine : options_.machines) {
        const auto frame = echo_request(machine, number);
        (void)::sendto(socket_, frame.data(), frame.size(), 0,
                       reinterpret_cast<const sockaddr*>(&to), sizeof to);
      }
    next += options_.every;
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
      pollfd end{.fd = socket_, .events = POLLIN, .revents = 0};
      if (left <= 0 || ::poll(&end, 1, static_cast<int>(left)) <= 0) break;
      std::array<std::byte, 1518> frame;
      sockaddr_ll from{};
      socklen_t size = sizeof from;
      const ssize_t got = ::recvfrom(socket_, frame.data(), frame.size(), MSG_DONTWAIT,
                                     reinterpret_cast<sockaddr*>(&from), &size);
      if (got < ETH_HLEN + 20 || from.sll_pkttype == PACKET_OUTGOING) continue;
      const auto bytes = std::span{frame}.first(static_cast<std::size_t>(got));
      vip::Mac sender{};
      std::ranges::copy(bytes.subspan(6, 6), sender.begin());
      const auto machine = std::ranges::find(options_.machines, sender);
      if (machine == options_.machines.end()) continue;
      const auto claim = vip::read_claim(bytes);
      const bool located = claim && claim->address.family == options_.address.family &&
                           claim->address.bytes == options_.address.bytes;
      const bool echo =
          options_.address.family == AF_INET && bytes[12] == std::byte{0x08} &&
          bytes[13] == std::byte{0} && bytes[23] == std::byte{IPPROTO_ICMP} &&
          std::ranges::equal(bytes.subspan(ETH_HLEN + 12, 4), options_.address.address());
      if (!located && !echo) continue;
      const std::scoped_lock guard(mutex_);
      answers_.push_back({.at = Clock::now(),
                          .machine = static_cast<int>(machine - options_.machines.begin()),
                          .echo = echo});
    }
    // A late round is not made up for.
    next = std::max(next, Clock::now() - options_.every);
  }
}

std::vector<Observer::Answer> Observer::answers(Clock::time_point since) const {
  const std::scoped_lock guard(mutex_);
  std::vector<Answer> some;
  std::ranges::copy_if(answers_, std::back_inserter(some),
                       [&](const Answer& one) { return one.at >= since; });
  return some;
}

std::optional<int> Observer::last() const {
  const std::scoped_lock guard(mutex_);
  if (answers_.empty()) return std::nullopt;
  return answers_.back().machine;
}

Observer::Summary Observer::summary_of(const std::vector<Answer>& answers) {
  Summary summary{.answers = answers.size()};
  for (std::size_t i = 1; i < answers.size(); ++i) {
    summary.gap = std::max<Nanos>(summary.gap, answers[i].at - answers[i - 1].at);
    summary.hand_overs += answers[i].machine != answers[i - 1].machine ? 1 : 0;
  }
  // After a change from one machine to another, the first must not answer again. An answer later
  // than kTurn is a hand-over back: a lease lies between.
  constexpr Nanos kTurn = 60ms;
  for (std::size_t i = 1; i < answers.size(); ++i) {
    const int former = answers[i - 1].machine;
    if (answers[i].machine == former) continue;
    auto latest = answers[i - 1].at;
    for (std::size_t k = i + 1; k < answers.size() && answers[k].at - latest < kTurn; ++k)
      if (answers[k].machine == former) latest = answers[k].at;
    if (latest > answers[i].at)
      summary.overlap = std::max<Nanos>(summary.overlap, latest - answers[i].at);
  }
  return summary;
}

}  // namespace tempo::testbed
