// Schedules of faults, the same for tempo-vip and for keepalived where it is installed: how long
// two machines answered, and how long none did. With TEMPO_SOAK=N in the environment each fault is
// made N times, at least five, for each program and lease, and a table is printed.
#include <algorithm>
#include <cstdlib>
#include <map>

#include <gmock/gmock.h>

#include "machine/table.h"
#include "vip_site.h"

namespace tempo::testbed {
namespace {

using std::chrono::steady_clock;

constexpr const char* kKeepalived = "/usr/sbin/keepalived";

enum class Fault : std::uint8_t {
  kill_machine,  // every process dies at once
  kill_vip,
  stop_vip,  // SIGSTOP for 1.5 s
  stop_tempod,
  stop_all,
  link_down,
  partition,  // the machines do not hear each other; the observer hears all
  loss,       // of a quarter of all datagrams between the machines
  restart_vip,
  restart_tempod,
  flush_rules,
  count
};
constexpr std::array<const char*, enum_index(Fault::count)> kFaultNames{"all processes killed",
                                                                        "kill -9 of tempo-vip",
                                                                        "SIGSTOP of tempo-vip",
                                                                        "SIGSTOP of tempod",
                                                                        "SIGSTOP of all",
                                                                        "link down",
                                                                        "partition",
                                                                        "loss of 25 %",
                                                                        "restart of tempo-vip",
                                                                        "restart of tempod",
                                                                        "nft flush ruleset"};

bool concerns_keepalived(Fault fault) {
  return fault != Fault::stop_tempod && fault != Fault::restart_tempod && fault != Fault::stop_all;
}

struct Measured {
  std::vector<Nanos> gaps;
  Nanos overlap{0};
  std::size_t overlaps = 0;
  std::size_t answers = 0;
};

// The program that keeps the address; the two differ in how they start and what they speak.
class Subject {
 public:
  Subject(VipSite& site, bool keepalived) : site_(&site), keepalived_(keepalived) {}

  void start() {
    if (!keepalived_) site_->site().start_all();
    for (std::size_t i = 0; i < VipSite::kCandidates; ++i) serve(i);
    site_->observe();
  }
  void serve(std::size_t i) {
    if (!keepalived_) return site_->serve(i);
    const std::string directory = site_->host(i).directory();
    std::ofstream(directory + "/keepalived.conf")
        << "global_defs {\n vrrp_version 3\n vrrp_garp_master_delay 0\n}\n"
           "vrrp_instance vip {\n state BACKUP\n interface eth0\n virtual_router_id 51\n"
        << fmt::format(" priority {}\n", 100 + i)
        << " advert_int 0.03\n nopreempt\n virtual_ipaddress {\n  10.99.0.200/24\n }\n}\n";
    site_->vip_place(static_cast<int>(i)) = std::make_unique<Child>(
        Words{"netns", "exec", site_->host(i).space(), kKeepalived, "--dont-fork", "--vrrp",
              "--use-file", directory + "/keepalived.conf", "--pid", directory + "/k.pid",
              "--vrrp_pid", directory + "/v.pid"},
        VipSite::kIp);
  }
  bool ready() {
    const auto known = [](const std::string& status) {
      return status.find(" here ") != std::string::npos ||
             status.find("on host") != std::string::npos;
    };
    return keepalived_ || site_->site().wait(20s, [&] {
      return known(site_->vip_status(0)) && known(site_->vip_status(1));
    });
  }
  // The processes of the program on that machine: keepalived has a child.
  std::vector<pid_t> processes(std::size_t i) const {
    const pid_t first = site_->vip(i).id();
    std::vector<pid_t> all{first};
    std::ifstream children(fmt::format("/proc/{}/task/{}/children", first, first));
    for (pid_t child = 0; children >> child;) all.push_back(child);
    return all;
  }
  void signal(std::size_t i, int number) const {
    for (const pid_t process : processes(i)) ::kill(process, number);
  }
  void kill(std::size_t i) {
    signal(i, SIGKILL);
    VipSite::end(site_->vip_place(static_cast<int>(i)), SIGKILL);
  }

  void make(Fault fault, std::size_t holder) {
    Host& host = site_->host(holder);
    switch (fault) {
      case Fault::kill_machine:
        if (!keepalived_) {
          for (const pid_t process : {host.parent(), host.worker()}) ::kill(process, SIGSTOP);
          host.kill_all();
        }
        return kill(holder);
      case Fault::kill_vip:
        return kill(holder);
      case Fault::stop_vip:
        return signal(holder, SIGSTOP);
      case Fault::stop_tempod:
        return host.pause(true);
      case Fault::stop_all:
        return site_->pause_all(static_cast<int>(holder), true);
      case Fault::link_down:
        return host.set_link(false);
      case Fault::partition:
        return site_->site().filter(
            {fmt::format("ip saddr {} ip protocol {{ 17, 112 }} drop", host.address()),
             fmt::format("ip daddr {} ip protocol 17 drop", host.address()),
             "ip protocol 112 drop"});
      case Fault::loss:
        return site_->site().filter({"ip protocol { 17, 112 } numgen random mod 100 < 25 drop"});
      case Fault::restart_vip:
        VipSite::end(site_->vip_place(static_cast<int>(holder)), SIGTERM);
        return serve(holder);
      case Fault::restart_tempod:
        host.stop();
        return host.start();
      case Fault::flush_rules:
        site_->in(holder, "nft flush ruleset");
        return;
      case Fault::count:
        return;
    }
  }
  void heal(Fault fault, std::size_t holder) {
    Host& host = site_->host(holder);
    switch (fault) {
      case Fault::kill_machine:
        if (!keepalived_) host.start();
        return restart(holder);
      case Fault::kill_vip:
        return restart(holder);
      case Fault::stop_vip:
        return signal(holder, SIGCONT);
      case Fault::stop_tempod:
        return host.pause(false);
      case Fault::stop_all:
        return site_->pause_all(static_cast<int>(holder), false);
      case Fault::link_down:
        return host.set_link(true);
      case Fault::partition:
      case Fault::loss:
        return site_->site().filter({});
      default:
        return;
    }
  }

 private:
  // What a killed keepalived leaves stays until somebody removes it: here before it starts again.
  void restart(std::size_t holder) {
    if (keepalived_) site_->in(holder, "ip address del 10.99.0.200/24 dev eth0");
    serve(holder);
  }

  VipSite* site_;
  bool keepalived_;
};

// Of a fault: answers from shortly before it until the machines are well again.
void run_fault(VipSite& site, Subject& subject, Fault fault, Measured& measured) {
  // Both machines are candidates: after removed rules one is not for a while.
  ASSERT_TRUE(site.held() && subject.ready()) << site.logs();
  const auto begin = Observer::Clock::now();
  std::this_thread::sleep_for(100ms);
  const auto holder = static_cast<std::size_t>(site.holder());
  if (holder >= VipSite::kCandidates) return;
  subject.make(fault, holder);
  std::this_thread::sleep_for(1500ms);
  subject.heal(fault, holder);
  std::this_thread::sleep_for(1s);
  ASSERT_TRUE(site.held()) << kFaultNames.at(enum_index(fault)) << '\n' << site.logs();
  const auto seen = Observer::summary_of(site.observer().answers(begin));
  measured.gaps.push_back(seen.gap);
  measured.answers += seen.answers;
  if (seen.overlap > 0ns) ++measured.overlaps;
  measured.overlap = std::max(measured.overlap, seen.overlap);
}

double ms(Nanos span) { return static_cast<double>(span.count()) * 1e-6; }

Nanos share_of(std::vector<Nanos> all, double share) {
  if (all.empty()) return 0ns;
  std::ranges::sort(all);
  return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
}

std::map<Fault, Measured> run_schedules(Nanos lease, bool keepalived, int rounds) {
  std::map<Fault, Measured> all;
  VipSite site(lease);
  Subject subject(site, keepalived);
  subject.start();
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < static_cast<int>(Fault::count); ++i) {
      const auto fault = static_cast<Fault>(i);
      if (keepalived && !concerns_keepalived(fault)) continue;
      run_fault(site, subject, fault, all[fault]);
      if (testing::Test::HasFatalFailure()) return all;
    }
  for (const auto& [fault, measured] : all) {
    if (keepalived) break;
    EXPECT_EQ(measured.overlap, 0ns) << kFaultNames.at(enum_index(fault)) << '\n' << site.logs();
  }
  return all;
}

void print_rows(const std::string& program, const std::map<Fault, Measured>& all) {
  for (const auto& [fault, measured] : all)
    fmt::print("| {} | {} | {} | {} | {:.1f} | {:.0f} | {:.0f} | {} |\n", program,
               kFaultNames.at(enum_index(fault)), measured.gaps.size(), measured.overlaps,
               ms(measured.overlap), ms(share_of(measured.gaps, 0.5)),
               ms(share_of(measured.gaps, 0.99)), measured.answers);
}

// How often each fault is made; 0: not at all.
int rounds() {
  const char* const soak = std::getenv("TEMPO_SOAK");
  return soak == nullptr ? 0 : std::max(std::atoi(soak), 5);
}

constexpr const char* kHead =
    "| program | fault | runs | with two machines | longest, ms | gap median, ms | p99, ms | "
    "answers "
    "|\n|---|---|---|---|---|---|---|---|\n";

TEST(VipSchedules, NeverHaveTwoMachinesThatAnswer) {
  if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  if (rounds() == 0) GTEST_SKIP() << "make soak ONLY=vip runs it";
  fmt::print("{}", kHead);
  for (const Nanos lease : {Nanos{100ms}, Nanos{1s}})
    print_rows(fmt::format("tempo-vip, lease {} ms", lease / 1ms),
               run_schedules(lease, false, rounds()));
}

TEST(VipSchedules, OfKeepalivedForComparison) {
  if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  if (rounds() == 0) GTEST_SKIP() << "make soak ONLY=vip runs it";
  if (::access(kKeepalived, X_OK) != 0) GTEST_SKIP() << "needs keepalived";
  fmt::print("{}", kHead);
  print_rows("keepalived, advert_int 30 ms", run_schedules(1s, true, rounds()));
}

}  // namespace
}  // namespace tempo::testbed
