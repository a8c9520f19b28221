// tempod in classic mode against a historical time daemon, on one network.
//
// TEMPO_HISTORICAL_TIMED names the program; without it the scenarios are skipped. It takes the
// options of timed (-M: may become master; -d: stays in the foreground), has a software clock and
// must not touch the clock of the machine. The environment tells it its host name (TIMED_NAME), the
// offset and the drift of its clock (TIMED_OFFSET_MS, TIMED_DRIFT_PPM), and a file in which it
// keeps the offset from the clock of the machine, 64 bits, in microseconds (TIMED_CLOCK_FILE). It
// answers ICMP timestamps from that clock. TEMPO_HISTORICAL_SCALE: by which its timers are shorter
// than those of 4.3BSD (240 s, 360 to 900 s); tempod gets the same.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number_text.h"
#include "classic_network.h"
#include "protocol/wire/tsp.h"

namespace tempo::testbed {
namespace {

using testing::HasSubstr;
using wire::tsp::Type;

constexpr double kAgree_ms = 20;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

double scale() {
  const std::string text = environment("TEMPO_HISTORICAL_SCALE");
  return text.empty() ? 1 : std::strtod(text.c_str(), nullptr);
}

// A child process that the destructor ends.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const std::string& output) {
    std::vector<char*> pointers;
    for (const std::string& argument : arguments)
      pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    child_ = ::fork();
    if (child_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  }
  ~Process() { end(SIGKILL); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void end(int signal) {
    if (child_ <= 0) return;
    ::kill(child_, signal);
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
};

class Historical;

struct Scenario {
  const char* name = nullptr;
  void (Historical::*play)() = nullptr;  // null: there is no historical daemon
};

class Historical : public testing::TestWithParam<Scenario> {
 public:
  void slave_takes_the_time_of_a_historical_master();
  void slave_that_drifts_is_kept_by_a_historical_master();
  void slave_that_was_killed_joins_again();
  void slave_that_is_told_to_elect_is_refused_by_its_master();
  void master_sets_a_historical_slave();
  void master_keeps_three_historical_slaves_together();
  void master_averages_its_clock_with_those_of_historical_slaves();
  void master_refuses_the_candidacy_of_a_historical_slave();
  void master_drops_a_slave_that_died();
  void after_the_crash_of_a_historical_master_one_of_both_leads();
  void candidate_is_accepted_by_a_historical_slave();
  void slave_accepts_a_historical_candidate();
  void a_master_that_returns_follows_its_successor();
  void two_masters_become_one_tempod_first();
  void two_masters_become_one_timed_first();
  void a_newcomer_that_finds_two_masters_reports_them();
  void submaster_between_historical_daemons();
  void a_historical_submaster_between_tempods();
  void the_commands_of_timedc_reach_both();
  void setdate_at_tempod_reaches_historical_slaves();

 protected:
  void SetUp() override {
    if (GetParam().play == nullptr)
      GTEST_SKIP() << "needs a historical time daemon: set TEMPO_HISTORICAL_TIMED to its path";
    if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  }
  void TearDown() override {
    if (network_ == nullptr) return;
    if (capture_ != nullptr) expect_that_tshark_decodes_all();
    if (HasFailure()) fmt::print(stderr, "{}{}", network_->logs(), logs_of_timed());
    timed_.clear();
  }

  // Every datagram on the first LAN is captured.
  ClassicNetwork& network(int lans = 1) {
    const auto ms = [](double seconds) { return fmt::format("{:.0f}", seconds * 1000 / scale()); };
    std::vector<std::string> timers;
    if (scale() > 1)
      for (const auto& [key, value] : std::map<std::string, std::string>{
               {"adjtime", ms(240)},
               {"loop", ms(240)},
               {"election-min", ms(360)},
               {"election-max", ms(900)},
               {"accept", fmt::format("{:.0f}", std::max(30.0 / scale(), 12.0) * 1000)}}) {
        timers.emplace_back("--set");
        timers.push_back(fmt::format("timers.{}-ms={}", key, value));
      }
    network_ = std::make_unique<ClassicNetwork>("classic", lans, timers);
    if (run({"tshark", "--version"}) == 0)
      capture_ = std::make_unique<Process>(
          std::vector<std::string>{"ip", "netns", "exec", network_->site().space("hub"), "tshark",
                                   "-q", "-i", network_->site().bridge(0, false), "-w",
                                   capture_file(), "udp port 525 or icmp"},
          network_->site().directory() + "/tshark.log");
    return *network_;
  }

  struct Timed {
    Host* host = nullptr;
    std::string name;
    std::string clock;  // its file
    std::unique_ptr<Process> process;
  };
  // Adds a host and starts the historical daemon there.
  Timed& timed(HostOptions options, bool may_lead = true) {
    const double offset = static_cast<double>(options.offset.count()) * 1e-6;
    const double drift = options.drift * 1e6;
    Timed& added = *timed_.emplace_back(std::make_unique<Timed>());
    added.name = options.name;
    added.host = &network_->add(options);
    added.clock = added.host->directory() + "/clock";
    start(added, may_lead, offset, drift);
    return added;
  }
  // The same, when it has become master; alone it waits for its election timer first.
  Timed& leading(HostOptions options) {
    Timed& added = timed(std::move(options));
    EXPECT_TRUE(wait(election(), [&] { return master_of(added, *added.host) == added.name; }));
    return added;
  }
  static void start(Timed& timed, bool may_lead, double offset_ms = 0, double drift_ppm = 0) {
    std::vector<std::string> words{"ip",
                                   "netns",
                                   "exec",
                                   timed.host->space(),
                                   "env",
                                   "TIMED_NAME=" + timed.name,
                                   fmt::format("TIMED_OFFSET_MS={:.0f}", offset_ms),
                                   fmt::format("TIMED_DRIFT_PPM={:.0f}", drift_ppm),
                                   "TIMED_CLOCK_FILE=" + timed.clock,
                                   environment("TEMPO_HISTORICAL_TIMED"),
                                   "-d"};
    if (may_lead) words.emplace_back("-M");
    timed.process = std::make_unique<Process>(words, timed.host->directory() + "/log");
  }

  static double offset_of(const Timed& timed) {
    std::ifstream file(timed.clock, std::ios::binary);
    std::int64_t us = 0;
    file.read(reinterpret_cast<char*>(&us), sizeof us);
    return static_cast<double>(us) * 1e-3;
  }
  static double offset_of(const Host& host) {
    return ClassicNetwork::offset_ms(host).value_or(1e9);
  }

  // The master that a historical daemon follows, as it says itself.
  static std::string master_of(const Timed& timed, const Host& asking) {
    const Printed printed =
        ClassicNetwork::tempo(asking, fmt::format("msite --timeout 1s {}", timed.host->address()));
    const std::size_t is = printed.out.find(" is ");
    return printed.status != 0 || is == std::string::npos
               ? ""
               : printed.out.substr(is + 4, printed.out.find('\n') - is - 4);
  }

  static bool close(double one, double other) { return std::abs(one - other) < kAgree_ms; }
  static Nanos rounds(double count) {
    return Nanos{static_cast<Nanos::rep>(count * 240e9 / scale())};
  }
  static Nanos election() { return Nanos{static_cast<Nanos::rep>(900e9 / scale())} + 30s; }
  bool wait(Nanos limit, const std::function<bool()>& done) { return network_->wait(limit, done); }
  static bool leads(const Host& host, std::size_t network = 0) {
    return ClassicNetwork::state(host, network) == "master";
  }

  std::unique_ptr<ClassicNetwork> network_;

 private:
  std::string capture_file() const { return network_->site().directory() + "/capture.pcapng"; }

  // Nothing that tempod sends is malformed or of another protocol. TEMPO_HISTORICAL_CAPTURES: a
  // directory that keeps the captures.
  void expect_that_tshark_decodes_all() {
    capture_->end(SIGINT);
    const std::string keep = environment("TEMPO_HISTORICAL_CAPTURES");
    std::error_code ignored;
    if (!keep.empty())
      std::filesystem::copy_file(capture_file(), fmt::format("{}/{}.pcapng", keep, GetParam().name),
                                 std::filesystem::copy_options::overwrite_existing, ignored);
    std::map<std::string, bool> tempods;
    for (std::size_t i = 0; i < network_->site().size(); ++i) {
      const Host& host = network_->site().host(i);
      const bool historical =
          std::ranges::any_of(timed_, [&](const auto& timed) { return timed->host == &host; });
      tempods[host.address()] = !historical;
    }
    const Printed decoded = printed_by(
        fmt::format("tshark -r {} -Y 'udp.port == 525' -T fields -e ip.src -e udp.length -e "
                    "tsp.type -e tsp.version -e tsp.name -e _ws.malformed 2>/dev/null",
                    capture_file()));
    int checked = 0;
    std::istringstream lines(decoded.out);
    for (std::string line; std::getline(lines, line);) {
      std::vector<std::string> fields;
      for (std::size_t at = 0; at != std::string::npos;) {
        const std::size_t end = line.find('\t', at);
        fields.push_back(line.substr(at, end == std::string::npos ? end : end - at));
        at = end == std::string::npos ? end : end + 1;
      }
      if (fields.size() < 6 || !tempods[fields[0]]) continue;
      ++checked;
      EXPECT_EQ(fields[1], std::to_string(8 + wire::tsp::kBytes)) << line;
      EXPECT_FALSE(fields[2].empty()) << line;
      EXPECT_EQ(fields[3], "1") << line;
      EXPECT_FALSE(fields[4].empty()) << line;
      EXPECT_TRUE(fields[5].empty()) << line;
    }
    EXPECT_GT(checked, 0) << "tshark has seen no datagram of tempod";
  }

  std::string logs_of_timed() {
    std::string text;
    for (const auto& timed : timed_)
      text += fmt::format("--- {} (timed), clock {:+.3f} ms\n", timed->name, offset_of(*timed));
    return text;
  }

  std::unique_ptr<Process> capture_;
  std::vector<std::unique_ptr<Timed>> timed_;
};

// The daemons slew a difference of up to 10 s, at 500 ppm, and set the clock by a larger one;
// tempod sets it by every Settime. So the clocks of these scenarios differ by more, or hardly.

// --- slave ---

void Historical::slave_takes_the_time_of_a_historical_master() {
  network();
  Timed& master = leading({.offset = 30s, .name = "old"});
  Host& slave = network_->tempod({.name = "tempod"});
  ASSERT_TRUE(wait(60s, [&] { return ClassicNetwork::master(slave) == "old"; }));
  EXPECT_TRUE(wait(10s + rounds(1), [&] { return close(offset_of(slave), offset_of(master)); }))
      << offset_of(slave) << " " << offset_of(master);
  EXPECT_TRUE(wait(
      rounds(3), [&] { return ClassicNetwork::counter(slave, "classic_received_adjtime") >= 1; }));
  EXPECT_TRUE(close(offset_of(slave), offset_of(master)));
}

void Historical::slave_that_drifts_is_kept_by_a_historical_master() {
  network();
  Timed& master = leading({.name = "old"});
  Host& slave = network_->tempod({.drift = 200e-6, .name = "tempod"});
  ASSERT_TRUE(wait(60s, [&] {
    return ClassicNetwork::master(slave) == "old" && close(offset_of(slave), offset_of(master));
  }));
  EXPECT_TRUE(wait(
      rounds(6), [&] { return ClassicNetwork::counter(slave, "classic_received_adjtime") >= 4; }));
  EXPECT_TRUE(close(offset_of(slave), offset_of(master)))
      << offset_of(slave) << " " << offset_of(master);
}

void Historical::slave_that_was_killed_joins_again() {
  network();
  leading({.name = "old"});
  Host& slave = network_->tempod({.name = "tempod"});
  ASSERT_TRUE(wait(60s, [&] { return ClassicNetwork::master(slave) == "old"; }));
  slave.kill_all();
  slave.start();
  EXPECT_TRUE(wait(60s, [&] { return ClassicNetwork::master(slave) == "old"; }));
  EXPECT_TRUE(wait(
      rounds(3), [&] { return ClassicNetwork::counter(slave, "classic_received_adjtime") >= 1; }));
}

void Historical::slave_that_is_told_to_elect_is_refused_by_its_master() {
  network();
  leading({.name = "old"});
  Host& slave = network_->tempod({.name = "tempod"});
  ASSERT_TRUE(wait(60s, [&] { return ClassicNetwork::master(slave) == "old"; }));
  // During the first 300 ms it still waits for other masters.
  ASSERT_TRUE(wait(10s, [&] { return ClassicNetwork::state(slave) == "follower"; }));
  ASSERT_EQ(ClassicNetwork::tempo(slave, "election " + slave.address()).status, 0);
  EXPECT_TRUE(
      wait(20s, [&] { return ClassicNetwork::counter(slave, "classic_sent_election") >= 1; }));
  EXPECT_TRUE(
      wait(20s, [&] { return ClassicNetwork::counter(slave, "classic_received_quit") >= 1; }));
  EXPECT_TRUE(wait(30s, [&] { return ClassicNetwork::master(slave) == "old"; }));
  EXPECT_FALSE(leads(slave));
}

// --- master ---

void Historical::master_sets_a_historical_slave() {
  network();
  Host& master = network_->tempod({.offset = -16s, .name = "tempod"});
  ASSERT_TRUE(wait(30s, [&] { return leads(master); }));
  Timed& slave = timed({.name = "old"}, false);
  EXPECT_TRUE(wait(60s, [&] { return close(offset_of(slave), offset_of(master)); }))
      << offset_of(slave) << " " << offset_of(master);
  EXPECT_EQ(master_of(slave, master), "tempod");
}

void Historical::master_keeps_three_historical_slaves_together() {
  network();
  Host& master = network_->tempod({.name = "tempod"});
  ASSERT_TRUE(wait(30s, [&] { return leads(master); }));
  std::vector<Timed*> slaves{&timed({.offset = 12s, .drift = 100e-6, .name = "old1"}, false),
                             &timed({.offset = -15s, .drift = -100e-6, .name = "old2"}, false),
                             &timed({.offset = 15ms, .name = "old3"}, false)};
  const auto together = [&] {
    return std::ranges::all_of(
        slaves, [&](const Timed* slave) { return close(offset_of(*slave), offset_of(master)); });
  };
  EXPECT_TRUE(wait(60s, together));
  EXPECT_TRUE(wait(rounds(6),
                   [&] { return ClassicNetwork::counter(master, "classic_sent_adjtime") >= 9; }));
  EXPECT_TRUE(wait(rounds(1), together));
}

void Historical::master_averages_its_clock_with_those_of_historical_slaves() {
  network();
  Host& master = network_->tempod({.drift = 150e-6, .name = "tempod"});
  ASSERT_TRUE(wait(30s, [&] { return leads(master); }));
  Timed& one = timed({.drift = -150e-6, .name = "old1"}, false);
  Timed& two = timed({.drift = -150e-6, .name = "old2"}, false);
  const auto together = [&] {
    return close(offset_of(one), offset_of(master)) && close(offset_of(two), offset_of(master));
  };
  EXPECT_TRUE(wait(60s, together));
  EXPECT_TRUE(wait(rounds(8),
                   [&] { return ClassicNetwork::counter(master, "classic_sent_adjtime") >= 10; }));
  EXPECT_TRUE(wait(rounds(1), together))
      << offset_of(master) << " " << offset_of(one) << " " << offset_of(two);
}

void Historical::master_refuses_the_candidacy_of_a_historical_slave() {
  network();
  Host& master = network_->tempod({.name = "tempod"});
  ASSERT_TRUE(wait(30s, [&] { return leads(master); }));
  Timed& slave = timed({.name = "old"});
  ASSERT_TRUE(wait(60s, [&] { return master_of(slave, master) == "tempod"; }));
  ASSERT_EQ(ClassicNetwork::tempo(master, "election " + slave.host->address()).status, 0);
  EXPECT_TRUE(wait(60s, [&] {
    return ClassicNetwork::counter(master, "classic_received_election") >= 1 &&
           ClassicNetwork::counter(master, "classic_sent_quit") >= 1;
  }));
  EXPECT_TRUE(leads(master));
  EXPECT_TRUE(wait(60s, [&] { return master_of(slave, master) == "tempod"; }));
}

void Historical::master_drops_a_slave_that_died() {
  network();
  Host& master = network_->tempod({.name = "tempod"});
  ASSERT_TRUE(wait(30s, [&] { return leads(master); }));
  Timed& slave = timed({.name = "old"}, false);
  const auto listed = [&] {
    const auto status = master.status();
    return status && !status->networks.empty() ? status->networks[0].listed : 99;
  };
  ASSERT_TRUE(wait(60s, [&] { return listed() == 1; }));
  slave.process->end(SIGKILL);
  EXPECT_TRUE(wait(rounds(3) + 30s, [&] { return listed() == 0; })) << listed();
}

// --- elections ---

void Historical::after_the_crash_of_a_historical_master_one_of_both_leads() {
  network();
  Timed& master = leading({.name = "old1"});
  Host& one = network_->tempod({.name = "tempod"});
  ASSERT_TRUE(wait(60s, [&] { return ClassicNetwork::master(one) == "old1"; }));
  Timed& two = timed({.name = "old2"});
  ASSERT_TRUE(wait(60s, [&] { return master_of(two, one) == "old1"; }));
  master.process->end(SIGKILL);
  EXPECT_TRUE(wait(2 * election(),
                   [&] {
                     const std::string said = master_of(two, one);
                     return (leads(one) && said == "tempod") ||
                            (ClassicNetwork::master(one) == "old2" && said == "old2");
                   }))
      << ClassicNetwork::state(one) << " " << ClassicNetwork::master(one) << " "
      << master_of(two, one);
  EXPECT_TRUE(wait(60s, [&] { return close(offset_of(one), offset_of(two)); }));
}

// The historical slave may not lead, so tempod must.
void Historical::candidate_is_accepted_by_a_historical_slave() {
  network();
  Timed& master = leading({.name = "old1"});
  Host& candidate = network_->tempod({.name = "tempod"});
  ASSERT_TRUE(wait(60s, [&] { return ClassicNetwork::master(candidate) == "old1"; }));
  Timed& slave = timed({.name = "old2"}, false);
  ASSERT_TRUE(wait(60s, [&] { return master_of(slave, candidate) == "old1"; }));
  master.process->end(SIGKILL);
  EXPECT_TRUE(wait(2 * election(), [&] { return leads(candidate); }));
  EXPECT_TRUE(wait(60s, [&] { return master_of(slave, candidate) == "tempod"; }));
  EXPECT_GE(ClassicNetwork::counter(candidate, "classic_received_accept"), 1U);
}

void Historical::slave_accepts_a_historical_candidate() {
  network();
  Host& master = network_->tempod({.name = "tempod1"});
  ASSERT_TRUE(wait(30s, [&] { return leads(master); }));
  Host& slave = network_->tempod({.name = "tempod2"}, {"--set", "may-lead=false"});
  ASSERT_TRUE(wait(30s, [&] { return ClassicNetwork::master(slave) == "tempod1"; }));
  Timed& candidate = timed({.name = "old"});
  ASSERT_TRUE(wait(60s, [&] { return master_of(candidate, slave) == "tempod1"; }));
  master.kill_all();
  EXPECT_TRUE(wait(2 * election(), [&] { return ClassicNetwork::master(slave) == "old"; }));
  EXPECT_GE(ClassicNetwork::counter(slave, "classic_sent_accept"), 1U);
  EXPECT_TRUE(wait(60s, [&] { return close(offset_of(slave), offset_of(candidate)); }));
}

void Historical::a_master_that_returns_follows_its_successor() {
  network();
  Host& first = network_->tempod({.name = "tempod"});
  ASSERT_TRUE(wait(30s, [&] { return leads(first); }));
  Timed& successor = timed({.name = "old"});
  ASSERT_TRUE(wait(60s, [&] { return master_of(successor, first) == "tempod"; }));
  first.kill_all();
  Host& watcher = network_->add({.name = "watcher"});
  ASSERT_TRUE(wait(2 * election(), [&] { return master_of(successor, watcher) == "old"; }));
  first.start();
  EXPECT_TRUE(wait(60s, [&] { return ClassicNetwork::master(first) == "old"; }));
}

// --- two masters ---

// After a partition, each side has a master.
void Historical::two_masters_become_one_tempod_first() {
  ClassicNetwork& net = network();
  net.site().set_trunk(false);
  Host& ours = net.tempod({.name = "alpha"});
  Timed& theirs = leading({.far = true, .name = "zulu"});
  ASSERT_TRUE(wait(60s, [&] { return leads(ours); }));
  Host& slave = net.tempod({.name = "mike"}, {"--set", "may-lead=false"});
  ASSERT_TRUE(wait(60s, [&] { return ClassicNetwork::master(slave) == "alpha"; }));
  net.site().set_trunk(true);
  EXPECT_TRUE(wait(rounds(4) + 60s,
                   [&] {
                     const std::string said = master_of(theirs, slave);
                     return (leads(ours) && said == "alpha") ||
                            (ClassicNetwork::master(ours) == "zulu" && said == "zulu");
                   }))
      << ClassicNetwork::state(ours) << " " << ClassicNetwork::master(ours) << " "
      << master_of(theirs, slave);
}

void Historical::two_masters_become_one_timed_first() {
  ClassicNetwork& net = network();
  net.site().set_trunk(false);
  Timed& theirs = leading({.far = true, .name = "alpha"});
  Host& ours = net.tempod({.name = "zulu"});
  ASSERT_TRUE(wait(60s, [&] { return leads(ours); }));
  Timed& slave = timed({.name = "mike"}, false);
  ASSERT_TRUE(wait(60s, [&] { return master_of(slave, ours) == "zulu"; }));
  net.site().set_trunk(true);
  EXPECT_TRUE(wait(rounds(4) + 60s,
                   [&] {
                     const std::string said = master_of(theirs, *slave.host);
                     return (leads(ours) && said == "zulu") ||
                            (ClassicNetwork::master(ours) == "alpha" && said == "alpha");
                   }))
      << ClassicNetwork::state(ours) << " " << ClassicNetwork::master(ours) << " "
      << master_of(theirs, *slave.host);
}

void Historical::a_newcomer_that_finds_two_masters_reports_them() {
  ClassicNetwork& net = network();
  net.site().set_trunk(false);
  Host& ours = net.tempod({.name = "alpha"});
  Timed& theirs = leading({.far = true, .name = "zulu"});
  ASSERT_TRUE(wait(60s, [&] { return leads(ours); }));
  net.site().set_trunk(true);
  Host& newcomer = net.tempod({.name = "newcomer"}, {"--set", "may-lead=false"});
  EXPECT_TRUE(wait(rounds(3) + 60s,
                   [&] {
                     const std::string one = ClassicNetwork::master(newcomer);
                     return !one.empty() && master_of(theirs, newcomer) == one &&
                            (leads(ours) ? one == "alpha" : ClassicNetwork::master(ours) == one);
                   }))
      << ClassicNetwork::state(ours) << " " << ClassicNetwork::master(newcomer) << " "
      << master_of(theirs, newcomer);
}

// --- submasters ---

void Historical::submaster_between_historical_daemons() {
  ClassicNetwork& net = network(2);
  Timed& root = leading({.lans = {0}, .offset = 30s, .name = "root"});
  Host& between = net.tempod({.lans = {0, 1}, .name = "between"});
  ASSERT_TRUE(
      wait(60s, [&] { return ClassicNetwork::master(between, 0) == "root" && leads(between, 1); }));
  Timed& leaf = timed({.lans = {1}, .offset = -13s, .name = "leaf"}, false);
  EXPECT_TRUE(wait(60s + rounds(2), [&] { return close(offset_of(leaf), offset_of(root)); }))
      << offset_of(leaf) << " " << offset_of(root);
}

void Historical::a_historical_submaster_between_tempods() {
  ClassicNetwork& net = network(2);
  Host& root = net.tempod({.lans = {0}, .offset = 15s, .name = "root"});
  ASSERT_TRUE(wait(60s, [&] { return leads(root); }));
  timed({.lans = {0, 1}, .name = "between"});
  Host& leaf =
      net.tempod({.lans = {1}, .offset = -3s, .name = "leaf"}, {"--set", "may-lead=false"});
  EXPECT_TRUE(
      wait(60s + 2 * election(), [&] { return ClassicNetwork::master(leaf) == "between"; }));
  EXPECT_TRUE(wait(60s + rounds(2), [&] { return close(offset_of(leaf), offset_of(root)); }))
      << offset_of(leaf) << " " << offset_of(root);
}

// --- the old control messages ---

void Historical::the_commands_of_timedc_reach_both() {
  ClassicNetwork& net = network();
  Host& master = net.tempod({.name = "tempod"});
  ASSERT_TRUE(wait(30s, [&] { return leads(master); }));
  Timed& slave = timed({.name = "old"}, false);
  ASSERT_TRUE(wait(60s, [&] { return master_of(slave, master) == "tempod"; }));
  for (const std::string& address : {master.address(), slave.host->address()}) {
    for (const char* command : {"msite", "trace-on", "trace-off"}) {
      // A host cannot reach its own address through its own daemon.
      const Printed printed =
          ClassicNetwork::tempo(address == master.address() ? *slave.host : master,
                                fmt::format("{} {}", command, address));
      EXPECT_EQ(printed.status, 0) << printed.out;
    }
  }
  const Printed difference = ClassicNetwork::tempo(master, "clockdiff " + slave.host->address());
  EXPECT_EQ(difference.status, 0) << difference.out;
}

void Historical::setdate_at_tempod_reaches_historical_slaves() {
  ClassicNetwork& net = network();
  Host& master = net.tempod({.name = "tempod"}, {"--set", "classic.setdate=true"});
  ASSERT_TRUE(wait(30s, [&] { return leads(master); }));
  Timed& slave = timed({.name = "old"}, false);
  ASSERT_TRUE(wait(60s, [&] { return master_of(slave, master) == "tempod"; }));
  Host& operator_host = net.add({.name = "operator"});
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  ClassicNetwork::send(operator_host, master.address(), std::to_underlying(Type::setdate), 7,
                       (std::int64_t{now.tv_sec} + 120) * 1'000'000 + now.tv_nsec / 1000,
                       "operator");
  EXPECT_TRUE(wait(20s, [&] { return std::abs(offset_of(master) - 120e3) < 2000; }))
      << offset_of(master);
  EXPECT_TRUE(wait(20s + rounds(1), [&] { return close(offset_of(slave), offset_of(master)); }))
      << offset_of(slave);
}

std::vector<Scenario> scenarios() {
  if (environment("TEMPO_HISTORICAL_TIMED").empty()) return {{"all", nullptr}};
  return {
      {"slave_takes_the_time_of_a_historical_master",
       &Historical::slave_takes_the_time_of_a_historical_master},
      {"slave_that_drifts_is_kept_by_a_historical_master",
       &Historical::slave_that_drifts_is_kept_by_a_historical_master},
      {"slave_that_was_killed_joins_again", &Historical::slave_that_was_killed_joins_again},
      {"slave_that_is_told_to_elect_is_refused_by_its_master",
       &Historical::slave_that_is_told_to_elect_is_refused_by_its_master},
      {"master_sets_a_historical_slave", &Historical::master_sets_a_historical_slave},
      {"master_keeps_three_historical_slaves_together",
       &Historical::master_keeps_three_historical_slaves_together},
      {"master_averages_its_clock_with_those_of_historical_slaves",
       &Historical::master_averages_its_clock_with_those_of_historical_slaves},
      {"master_refuses_the_candidacy_of_a_historical_slave",
       &Historical::master_refuses_the_candidacy_of_a_historical_slave},
      {"master_drops_a_slave_that_died", &Historical::master_drops_a_slave_that_died},
      {"after_the_crash_of_a_historical_master_one_of_both_leads",
       &Historical::after_the_crash_of_a_historical_master_one_of_both_leads},
      {"candidate_is_accepted_by_a_historical_slave",
       &Historical::candidate_is_accepted_by_a_historical_slave},
      {"slave_accepts_a_historical_candidate", &Historical::slave_accepts_a_historical_candidate},
      {"a_master_that_returns_follows_its_successor",
       &Historical::a_master_that_returns_follows_its_successor},
      {"two_masters_become_one_tempod_first", &Historical::two_masters_become_one_tempod_first},
      {"two_masters_become_one_timed_first", &Historical::two_masters_become_one_timed_first},
      {"a_newcomer_that_finds_two_masters_reports_them",
       &Historical::a_newcomer_that_finds_two_masters_reports_them},
      {"submaster_between_historical_daemons", &Historical::submaster_between_historical_daemons},
      {"a_historical_submaster_between_tempods",
       &Historical::a_historical_submaster_between_tempods},
      {"the_commands_of_timedc_reach_both", &Historical::the_commands_of_timedc_reach_both},
      {"setdate_at_tempod_reaches_historical_slaves",
       &Historical::setdate_at_tempod_reaches_historical_slaves},
  };
}

TEST_P(Historical, Scenario) { (this->*GetParam().play)(); }

INSTANTIATE_TEST_SUITE_P(Live, Historical, testing::ValuesIn(scenarios()),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

}  // namespace
}  // namespace tempo::testbed
