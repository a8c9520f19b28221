// Ten thousand clients at one request per 16 s each, and a flood of noise beside them; chronyd gets
// the same in the same run. Without TEMPO_SOAK the test is short and states no latency, because the
// machine is busy with other tests.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ntp_site.h"

namespace tempo::testbed {
namespace {

using std::chrono::steady_clock;

constexpr int kClients = 10'000;
constexpr double kRequestsPerSecond = kClients / 16.0;
constexpr int kNoisePerSecond = 100'000;

struct Outcome {
  int asked = 0;
  int answered = 0;
  double p99_ms = 0;      // from the call of send to the kernel's timestamp of the answer
  double cpu_share = 0;   // of one core, by the server
  double noise_rate = 0;  // datagrams a second that the flood reached
};

// CPU time of a process so far, in seconds.
double cpu_time(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const Words fields = words_of(text.substr(text.rfind(')') + 1));
  return (std::stod(fields.at(11)) + std::stod(fields.at(12))) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// One socket speaks for all clients: each request has the source address of its own, 10.77.x.y.
class Clients {
 public:
  Clients(const std::string& space, std::uint16_t port) {
    in_space(space,
             [&] { socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
    const int buffer = 1 << 20;
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    ::setsockopt(socket_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    server_.sin_family = AF_INET;
    server_.sin_port = htons(port);
    ::inet_pton(AF_INET, "10.99.0.1", &server_.sin_addr);
  }
  ~Clients() { ::close(socket_); }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  void run(Nanos length, Outcome& outcome) {
    const auto begin = steady_clock::now();
    std::vector<double> latencies;
    for (;;) {
      const auto passed = steady_clock::now() - begin;
      const auto due = static_cast<int>(in_seconds(passed) * kRequestsPerSecond);
      while (passed < length && outcome.asked < due) ask(outcome.asked++);
      pollfd end{.fd = socket_, .events = POLLIN, .revents = 0};
      ::poll(&end, 1, 1);
      receive(latencies);
      if (passed > length + 1s) break;
    }
    outcome.answered = static_cast<int>(latencies.size());
    if (latencies.empty()) return;
    std::ranges::sort(latencies);
    outcome.p99_ms = latencies[latencies.size() * 99 / 100] * 1e3;
  }

 private:
  void ask(int number) {
    const auto client = static_cast<std::uint32_t>(number % kClients);
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(in_pktinfo))> control{};
    auto bytes =
        ntp::encode({.version = 4, .mode = 3, .transmit = static_cast<ntp::Timestamp>(number) + 1});
    iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
    msghdr header{};
    header.msg_name = &server_;
    header.msg_namelen = sizeof server_;
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&header);
    head->cmsg_level = IPPROTO_IP;
    head->cmsg_type = IP_PKTINFO;
    head->cmsg_len = CMSG_LEN(sizeof(in_pktinfo));
    in_pktinfo info{};
    info.ipi_spec_dst.s_addr = htonl(10U << 24 | 77U << 16 | (client + 1));
    std::memcpy(CMSG_DATA(head), &info, sizeof info);
    sent_.push_back(sys::read_bracket().real);
    ::sendmsg(socket_, &header, 0);
  }

  void receive(std::vector<double>& latencies) {
    for (;;) {
      std::array<std::byte, 256> bytes{};
      alignas(cmsghdr) std::array<std::byte, 256> control{};
      iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
      msghdr header{};
      header.msg_iov = &part;
      header.msg_iovlen = 1;
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      const ssize_t got = ::recvmsg(socket_, &header, 0);
      if (got < 0) return;
      const auto answer = ntp::decode(std::span{bytes}.first(static_cast<std::size_t>(got)));
      if (!answer || answer->leap != 0 || answer->origin == 0 || answer->origin > sent_.size())
        continue;
      timespec stamp{};
      for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one))
        if (one->cmsg_type == SCM_TIMESTAMPNS) std::memcpy(&stamp, CMSG_DATA(one), sizeof stamp);
      latencies.push_back(in_seconds(sys::nanos_of(stamp) - sent_[answer->origin - 1]));
    }
  }

  int socket_ = -1;
  sockaddr_in server_{};
  std::vector<Nanos> sent_;
};

// Random datagrams of 48 bytes, until `done`.
void flood(const std::string& space, std::uint16_t port, const std::atomic<bool>& done,
           std::atomic<std::int64_t>& sent) {
  in_space(space, [&] {
    constexpr int kBatch = 64;
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto to = sys::Address::parse("10.99.0.1", port);
    if (::connect(socket, to->raw(), to->size()) != 0) std::abort();
    std::mt19937_64 chance(1);
    const auto begin = steady_clock::now();
    while (!done.load()) {
      const auto due =
          static_cast<std::int64_t>(in_seconds(steady_clock::now() - begin) * kNoisePerSecond);
      if (sent.load() >= due) {
        std::this_thread::sleep_for(200us);
        continue;
      }
      std::array<std::array<std::uint64_t, 6>, kBatch> noise{};
      std::array<iovec, kBatch> parts{};
      std::array<mmsghdr, kBatch> messages{};
      for (std::size_t i = 0; i < kBatch; ++i) {
        for (std::uint64_t& word : noise[i]) word = chance();
        parts[i] = {.iov_base = noise[i].data(), .iov_len = sizeof noise[i]};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
      }
      if (const int done_now = ::sendmmsg(socket, messages.data(), kBatch, 0); done_now > 0)
        sent += done_now;
    }
    ::close(socket);
  });
}

Outcome measure(const NtpSite& site, std::uint16_t port, pid_t server, Nanos length, bool noise) {
  Outcome outcome;
  std::atomic<bool> done{false};
  std::atomic<std::int64_t> sent{0};
  std::thread other;
  if (noise) other = std::thread([&] { flood(site.client().space(), port, done, sent); });
  const double before = cpu_time(server);
  Clients clients(site.client().space(), port);
  clients.run(length, outcome);
  outcome.cpu_share = (cpu_time(server) - before) / in_seconds(length + 1s);
  outcome.noise_rate = static_cast<double>(sent.load()) / in_seconds(length + 1s);
  done = true;
  if (other.joinable()) other.join();
  return outcome;
}

TEST(NtpLoad, ServesManyClientsBesideAFlood) {
  if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  const bool soak = std::getenv("TEMPO_SOAK") != nullptr;
  const Nanos length = soak ? Nanos{64s} : Nanos{2s};
  NtpSite site;
  ASSERT_TRUE(site.ready()) << site.server().log();
  site.serve();
  ASSERT_EQ(run({"ip", "-n", site.client().space(), "route", "add", "local", "10.77.0.0/16", "dev",
                 "lo"}),
            0);
  ASSERT_EQ(
      run({"ip", "-n", site.server().space(), "route", "add", "10.77.0.0/16", "via", "10.99.0.2"}),
      0);
  std::unique_ptr<Child> chronyd;
  constexpr std::uint16_t kChronyPort = 1124;
  if (!installed("chronyd").empty())
    chronyd = std::make_unique<Child>(
        Words{"netns", "exec", site.server().space(), "setpriv", "--bounding-set", "-sys_time",
              installed("chronyd"), "-x", "-d", "-u", "root", "local stratum 10", "allow",
              fmt::format("port {}", kChronyPort), "cmdport 0",
              fmt::format("pidfile {}/chronyd.pid", site.directory())},
        NtpSite::kIp);
  std::printf("server     noise/s  asked  answered  p99 ms  CPU %%\n");
  for (const bool noise : {false, true}) {
    const Outcome ours = measure(site, ntp::kPort, site.ntp().id(), length, noise);
    std::printf("tempo-ntp  %7.0f  %5d  %8d  %6.3f  %5.2f\n", ours.noise_rate, ours.asked,
                ours.answered, ours.p99_ms, ours.cpu_share * 100);
    EXPECT_GE(ours.answered, ours.asked * (noise ? 98 : 99) / 100);
    if (soak && !noise) {
      EXPECT_LT(ours.p99_ms, 1);
      EXPECT_LT(ours.cpu_share, 0.05);
    }
    if (chronyd == nullptr) continue;
    const Outcome theirs = measure(site, kChronyPort, chronyd->id(), length, noise);
    std::printf("chronyd    %7.0f  %5d  %8d  %6.3f  %5.2f\n", theirs.noise_rate, theirs.asked,
                theirs.answered, theirs.p99_ms, theirs.cpu_share * 100);
  }
  if (chronyd == nullptr) return;
  ::kill(chronyd->id(), SIGTERM);
  chronyd->wait();
}

}  // namespace
}  // namespace tempo::testbed
