// Time until a new master is elected after the old one's process dies or its link is cut, and the
// cost of an idle daemon. Uses real daemons in network namespaces; needs root, otherwise it prints
// why and exits.
//
//   bench_daemon [--rounds N] [--load K] [--only kill]     K busy processes run at the same time
//
// A time is from the kill or the cut until this program reads "became-master" from another daemon.
// The daemons and this program run with the real-time priority of production.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "beside.h"
#include "client/client.h"
#include "platform/confinement.h"
#include "support/site.h"

namespace tempo::testbed {
namespace {

using Clock = std::chrono::steady_clock;

// Receives the events of all hosts but one.
class EventListeners {
 public:
  EventListeners(Site& site, std::size_t except) {
    ipc::Request request;
    request.verb = ipc::Verb::events;
    for (std::size_t i = 0; i < site.size(); ++i) {
      if (i == except) continue;
      auto client = client::Client::connect(site.host(i).socket(), 1s);
      if (!client || !client->send(request)) continue;
      // After this answer the daemon sends every event.
      const auto answer = client->next(1s);
      if (answer && *answer) clients_.push_back(std::move(*client));
    }
  }
  std::size_t size() const { return clients_.size(); }
  // Time at which a host became master; nullopt: none did before the limit.
  std::optional<Clock::time_point> wait_for_master(Clock::time_point limit) {
    std::vector<pollfd> ends;
    ends.reserve(clients_.size());
    for (const client::Client& client : clients_)
      ends.push_back({.fd = client.descriptor(), .events = POLLIN, .revents = 0});
    while (Clock::now() < limit) {
      ::poll(ends.data(), ends.size(), 50);
      const Clock::time_point now = Clock::now();
      for (std::size_t i = 0; i < ends.size(); ++i) {
        if (ends[i].revents == 0) continue;
        for (;;) {
          const auto reply = clients_[i].next(0s);
          if (!reply || !*reply) break;
          const auto event = ipc::event_of(**reply);
          if (event && event->name == "became-master") return now;
        }
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<client::Client> clients_;
};

enum class How : std::uint8_t { kill, cut };

void measure(const std::string& profile, How how, int rounds, double target_median,
             double target_worst) {
  Site site({.tempod = bench::beside("tempod"), .profile = profile, .realtime = true});
  for (int i = 0; i < 5; ++i) site.add({.offset = i * 10ms, .drift = (i - 2) * 10e-6});
  site.start_all();
  std::vector<double> times;
  std::vector<std::string> missed;  // reason for each round that was not measured
  for (int round = 0; round < rounds; ++round) {
    const auto steady = [&] {
      if (site.master() < 0) return false;
      for (std::size_t i = 0; i < site.size(); ++i) {
        const auto status = site.host(i).status();
        if (!status || status->status == "unsynchronized") return false;
      }
      return true;
    };
    if (!site.wait(30s, steady)) {
      missed.emplace_back("no steady network");
      continue;
    }
    std::this_thread::sleep_for(1500ms);  // until the master has named an heir
    const int master = site.master();
    if (master < 0) {
      missed.emplace_back("the master changed by itself");
      continue;
    }
    const auto victim = static_cast<std::size_t>(master);
    EventListeners listeners(site, victim);
    if (listeners.size() + 1 != site.size()) {
      missed.emplace_back("a host did not answer");
      continue;
    }
    const Clock::time_point begin = Clock::now();
    if (how == How::kill)
      site.host(victim).kill_worker();
    else
      site.host(victim).set_link(false);
    const Clock::time_point end = Clock::now();
    const auto heard = listeners.wait_for_master(begin + 20s);
    if (how == How::cut) site.host(victim).set_link(true);
    if (!heard) {
      missed.emplace_back("no other host became master");
      continue;
    }
    // Another program cuts the link and takes some time: measure from its end.
    times.push_back(
        std::chrono::duration<double, std::milli>(*heard - (how == How::cut ? end : begin))
            .count());
  }
  std::ranges::sort(times);
  if (times.empty()) {
    fmt::print("{:<6} {:<12} no measurement\n", profile, how == How::kill ? "kill -9" : "cut");
    return;
  }
  fmt::print(
      "{:<6} {:<10} median {:8.1f} ms (target {:6.0f})   worst {:8.1f} ms (target {:6.0f})   of "
      "{}{}\n",
      profile, how == How::kill ? "kill -9" : "link cut", times[times.size() / 2], target_median,
      times.back(), target_worst, times.size(),
      missed.empty() ? "" : fmt::format(", {} missed", missed.size()));
  for (const std::string& why : missed) fmt::print("       not measured: {}\n", why);
  std::fflush(stdout);
}

long resident_kb(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/status", process));
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
  return 0;
}

double cpu_seconds(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  std::istringstream rest(text.substr(text.rfind(')') + 2));
  std::string field;
  double ticks = 0;
  for (int i = 3; i <= 15 && rest >> field; ++i)
    if (i == 14 || i == 15) ticks += std::atof(field.c_str());
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void measure_idle() {
  Site site({.tempod = bench::beside("tempod")});
  for (int i = 0; i < 10; ++i) site.add({.offset = i * 10ms, .drift = (i - 5) * 10e-6});
  site.start_all();
  if (!site.wait(30s, [&] { return site.master() >= 0; })) {
    fmt::print("idle: no master\n");
    return;
  }
  std::this_thread::sleep_for(80s);  // until the followers have good estimates of the master
  const auto master = static_cast<std::size_t>(site.master());
  const std::size_t follower = (master + 1) % site.size();
  const pid_t workers[] = {site.host(master).worker(), site.host(follower).worker()};
  const double before[] = {cpu_seconds(workers[0]), cpu_seconds(workers[1])};
  constexpr int kSeconds = 30;
  std::this_thread::sleep_for(std::chrono::seconds(kSeconds));
  for (int i = 0; i < 2; ++i)
    fmt::print("idle   {:<10} {:.1f} MB resident (target 8), {:.2f} % of a core (target 0.2)\n",
               i == 0 ? "master" : "follower", static_cast<double>(resident_kb(workers[i])) / 1024,
               (cpu_seconds(workers[i]) - before[i]) / kSeconds * 100);
}

int measure_all(int rounds, int load, bool all) {
  if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) {
    fmt::print("bench_daemon: {}\n", obstacle);
    return 0;
  }
  if (::access(bench::beside("tempod").c_str(), X_OK) != 0) {
    fmt::print("bench_daemon: no tempod in the same directory; build it with 'make build'\n");
    return 1;
  }
  std::vector<pid_t> busy;
  for (int i = 0; i < load; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (std::atomic<std::uint64_t> count{0};;) count.fetch_add(1, std::memory_order_relaxed);
    }
    busy.push_back(child);
  }
  // The busy processes above keep their ordinary priority.
  if (const auto urgent = sys::run_real_time(21, sys::Children::ordinary); !urgent)
    fmt::print("bench_daemon: {}\n", urgent.error());
  fmt::print("election of a new master, five hosts{}\n",
             load > 0 ? fmt::format(", {} busy processes", load) : "");
  measure("fast", How::kill, rounds, 20, 100);
  if (all) {
    measure("fast", How::cut, rounds, 80, 250);
    measure("lan", How::kill, std::max(rounds / 5, 1), 500, 500);
    measure("lan", How::cut, std::max(rounds / 5, 1), 6000, 6000);
  }
  for (const pid_t child : busy) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  if (load == 0 && all) measure_idle();
  return 0;
}

}  // namespace
}  // namespace tempo::testbed

int main(int argc, char** argv) {
  CLI::App arguments("time until a new master is elected, and the cost of an idle daemon");
  int rounds = 25;
  int load = 0;
  std::string only;
  arguments.add_option("--rounds", rounds, "number of rounds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  arguments.add_option("--load", load, "number of busy processes")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  arguments.add_option("--only", only, "measure only this row")->check(CLI::IsMember({"kill"}));
  CLI11_PARSE(arguments, argc, argv);
  return tempo::testbed::measure_all(rounds, load, only.empty());
}
