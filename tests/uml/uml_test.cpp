// Three guests under User Mode Linux on one virtual network, each with its own kernel clock that
// tempod steers. The reference is the time-stamp counter of the CPU.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "support/site.h"

namespace tempo::uml {
namespace {

using testbed::run;

constexpr int kGuests = 3;

// Ticks of the counter per second of the raw clock of this machine.
double ticks_per_second() {
  const auto read = [] {
    timespec time{};
    const std::uint64_t before = counter_now();
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    const std::uint64_t after = counter_now();
    return std::pair{static_cast<double>(before + (after - before) / 2),
                     static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9};
  };
  const auto [ticks, seconds] = read();
  std::this_thread::sleep_for(300ms);
  const auto [later_ticks, later_seconds] = read();
  return (later_ticks - ticks) / (later_seconds - seconds);
}

class Uml : public testing::Test {
 protected:
  static std::string obstacle() {
#if !defined(__x86_64__)
    return "needs a time-stamp counter that guests share";
#endif
    if (run({"sh", "-c", "command -v linux.uml >/dev/null"}) != 0) return "needs user-mode-linux";
    if (std::string found = testbed::Site::obstacle(); !found.empty()) return found;
    if (!std::filesystem::exists("/dev/net/tun")) return "needs /dev/net/tun";
    return "";
  }

  void SetUp() override {
    if (const std::string found = obstacle(); !found.empty()) GTEST_SKIP() << found;
    char name[] = "/tmp/tempo_uml_XXXXXX";
    directory_ = ::mkdtemp(name);
    space_ = fmt::format("tempo-uml-{}", ::getpid());
    ASSERT_EQ(run({"ip", "netns", "add", space_}), 0);
    ip({"link", "add", "name", "br0", "type", "bridge"});
    ip({"link", "set", "br0", "up"});
    rate_ = ticks_per_second();
  }

  void TearDown() override {
    if (directory_.empty()) return;
    for (int i = 0; i < kGuests; ++i) halt(i);
    for (const pid_t guest : guests_) reap(guest);
    run({"ip", "netns", "delete", space_});
    if (!HasFailure()) std::filesystem::remove_all(directory_);
  }

  void ip(std::vector<std::string> words) const {
    words.insert(words.begin(), {"ip", "-n", space_});
    ASSERT_EQ(run(words), 0);
  }
  std::string file(const char* kind, int guest) const {
    return fmt::format("{}/{}.{}", directory_.string(), kind, guest);
  }

  // The init script of a guest: starts network and daemon, then becomes the reporter.
  void write_init(int guest, int offset_ms) const {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    std::ofstream out(file("init", guest));
    out << "#!/bin/sh\n"
           "mount -t proc proc /proc\nmount -t sysfs sysfs /sys\nmount -t tmpfs run /run\n"
           "ip link set lo up\nip link set vec0 up\n"
        << fmt::format("ip addr add 10.99.0.{}/24 brd + dev vec0\n", guest + 1)
        << fmt::format("{} --move-clock {}\n", self, offset_ms)
        << fmt::format(
               "{} --clock system --name guest{} --state-dir /run --socket /run/tempod.sock "
               "--user '' --set realtime=false --set machine-id=guest{} -c {} >{} 2>&1 &\n",
               TEMPO_TEMPOD, guest, guest, file("toml", guest), file("log", guest))
        << fmt::format("exec {} --guest {} /run/tempod.page\n", self, file("clock", guest));
    std::ofstream(file("toml", guest)) << "";
    out.close();
    std::filesystem::permissions(file("init", guest), std::filesystem::perms{0755});
  }

  void boot(int guest, int offset_ms) {
    write_init(guest, offset_ms);
    const std::string tap = fmt::format("tap{}", guest);
    ip({"tuntap", "add", "dev", tap, "mode", "tap"});
    ip({"link", "set", tap, "master", "br0", "up"});
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::setpgid(0, 0);
      const std::string init = fmt::format("init={}", file("init", guest));
      const std::string net = fmt::format("vec0:transport=tap,ifname={},depth=128,gro=0", tap);
      const std::string console = file("console", guest);
      if (std::freopen(console.c_str(), "w", stdout) == nullptr) ::_exit(126);
      ::dup2(STDOUT_FILENO, STDERR_FILENO);
      ::execlp("ip", "ip", "netns", "exec", space_.c_str(), "linux.uml", "mem=64M",
               "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", init.c_str(),
               net.c_str(), "con=null", "con0=null,fd:1", "quiet", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    guests_.push_back(child);
  }
  void halt(int guest) const { std::ofstream(file("clock", guest) + ".halt") << "1"; }

  // Waits for a halted guest for a while, then kills it.
  static void reap(pid_t guest) {
    for (int i = 0; i < 100; ++i) {
      if (::waitpid(guest, nullptr, WNOHANG) != 0) return;
      std::this_thread::sleep_for(50ms);
    }
    ::kill(-guest, SIGKILL);
    ::waitpid(guest, nullptr, 0);
  }

  // Kernel clock and page of a guest relative to the counter, in seconds, by the newest report.
  struct Offsets {
    double kernel = 0;
    double page = 0;
    int status = -1;
    double max_error = 0;  // as the kernel states it; 0: it is unsynchronized
  };
  std::optional<Offsets> offsets(int guest) const {
    const std::vector<Report> reports = read_reports(file("clock", guest));
    if (reports.empty()) return std::nullopt;
    const Report& last = reports.back();
    const auto ago = static_cast<double>(counter_now() - last.counter) / rate_;
    if (ago > 3) return std::nullopt;  // the guest no longer reports
    const long double base = static_cast<long double>(last.counter) / rate_;
    return Offsets{
        .kernel =
            static_cast<double>(static_cast<long double>(last.real_ns) * 1e-9L - base - epoch_),
        .page = static_cast<double>(static_cast<long double>(last.page_ns) * 1e-9L - base - epoch_),
        .status = last.status,
        .max_error = static_cast<double>(last.max_error_us) * 1e-6};
  }
  // The kernel of each guest says that its clock is synchronized, with an error that contains the
  // time of the master. Readings of two guests differ by the interruptions of both.
  bool kernels_claim_the_truth(int guests) const {
    constexpr double kReading = 100e-6;
    const int leading = master();
    const auto truth = leading < 0 ? std::nullopt : offsets(leading);
    int count = 0;
    for (int i = 0; i < kGuests; ++i)
      if (const auto clock = offsets(i);
          truth && clock && clock->max_error > 0 && clock->max_error < 0.1 &&
          std::abs(clock->kernel - truth->page) <= clock->max_error + kReading)
        ++count;
    return count == guests;
  }
  // Largest difference between the kernel clocks of the reporting guests, if `wanted` guests report
  // and all have network time.
  std::optional<double> spread(int wanted) const {
    double low = 1e300;
    double high = -1e300;
    int count = 0;
    for (int i = 0; i < kGuests; ++i) {
      const auto clock = offsets(i);
      if (!clock) continue;
      if (clock->status < 2) return std::nullopt;
      low = std::min(low, clock->kernel);
      high = std::max(high, clock->kernel);
      ++count;
    }
    return count == wanted ? std::optional(high - low) : std::nullopt;
  }
  bool within(double seconds, int guests) const {
    const auto apart = spread(guests);
    return apart && *apart < seconds;
  }
  std::string log(int guest) const {
    std::ifstream in(file("log", guest));
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  int master() const {
    int leading = -1;
    for (int i = 0; i < kGuests; ++i)
      if (const auto clock = offsets(i); clock && clock->status == 3) leading = i;
    return leading;
  }
  std::string all() const {
    std::string text;
    for (int i = 0; i < kGuests; ++i) {
      const auto clock = offsets(i);
      text += fmt::format("guest {}: kernel {:+.6f} page {:+.6f} status {} maxerror {:.6f}\n{}", i,
                          clock ? clock->kernel : 0, clock ? clock->page : 0,
                          clock ? clock->status : -1, clock ? clock->max_error : 0, log(i));
    }
    return text;
  }
  bool wait(Nanos limit, const auto& done) const {
    const auto end = std::chrono::steady_clock::now() + 3 * limit;  // allows for a busy machine
    while (std::chrono::steady_clock::now() < end) {
      if (done()) return true;
      std::this_thread::sleep_for(200ms);
    }
    return false;
  }

  std::filesystem::path directory_;
  std::string space_;
  std::vector<pid_t> guests_;
  double rate_ = 1;
  long double epoch_ = 1.7e9L;  // keeps differences within the precision of a double
};

// Guests two seconds and half a second off are stepped at the start, then kept together. One is
// moved by three milliseconds and is slewed back, not stepped. The master halts: another one leads,
// and the two stay together.
TEST_F(Uml, StepsSlewsAndSteersKernelClocksAndSurvivesTheMaster) {
  const int offsets_ms[kGuests] = {0, 2000, -500};
  for (int i = 0; i < kGuests; ++i) boot(i, offsets_ms[i]);
  ASSERT_TRUE(wait(40s, [&] { return within(1e-3, kGuests); })) << all();

  const int first = master();
  ASSERT_GE(first, 0) << all();
  EXPECT_TRUE(wait(10s, [&] { return kernels_claim_the_truth(kGuests); })) << all();
  int stepped = 0;
  for (int i = 0; i < kGuests; ++i) stepped += log(i).contains("clock-stepped") ? 1 : 0;
  EXPECT_EQ(stepped, kGuests - 1) << all();

  const int shoved = (first + 1) % kGuests;
  const std::string before = log(shoved);
  std::ofstream(file("clock", shoved) + ".shove") << 3000;
  ASSERT_TRUE(wait(5s, [&] {
    const auto apart = spread(kGuests);
    return apart && *apart > 1.5e-3;
  })) << all();
  ASSERT_TRUE(wait(20s, [&] { return within(1e-3, kGuests); })) << all();
  EXPECT_EQ(log(shoved).substr(before.size()).find("clock-stepped"), std::string::npos) << all();

  halt(first);
  ASSERT_TRUE(wait(20s, [&] { return master() >= 0 && master() != first; })) << all();
  EXPECT_TRUE(wait(10s, [&] { return within(1e-3, kGuests - 1); })) << all();
  EXPECT_TRUE(wait(10s, [&] { return kernels_claim_the_truth(kGuests - 1); })) << all();
}

}  // namespace
}  // namespace tempo::uml
