// Cost of a lock between three real daemons in network namespaces (needs root, otherwise it prints
// why and exits), with clients that use libtempo. The same run measures etcd and redis where they
// are installed, each as a single server on the loopback interface.
//
//   bench_lock [--seconds S]
//
// A "fresh" lock has never been held before; the lease of an "again" lock is still with this host.
// Datagrams are those of all three daemons by their own counters, less those sent without locks.
// Then the cost of `tempo lock` around a command, compared with flock(1), and the time until the
// next waiter has the lock of a holder that was killed.
#include "tempo/lock.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/table.h"
#include "beside.h"
#include "lock_rivals.h"
#include "lock_row.h"
#include "platform/confinement.h"
#include "support/site.h"

namespace tempo::bench {
namespace {

using testbed::Site;

constexpr std::size_t kHosts = 3;

std::optional<std::uint64_t> datagrams(Site& site) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < kHosts; ++i) {
    const auto status = site.host(i).status();
    if (!status) return std::nullopt;
    all += status->counters.at("datagrams_sent");
  }
  return all;
}

bool ready(Site& site) {
  for (std::size_t i = 0; i < kHosts; ++i) {
    const auto status = site.host(i).status();
    if (!status || !status->locks.contains("; locks ")) return false;
  }
  return true;
}

Locks connected(const std::string& socket) {
  auto locks = Locks::connect(socket);
  if (!locks) {
    fmt::print(stderr, "{}\n", locks.error().message);
    std::exit(1);
  }
  return std::move(*locks);
}

bool once(Locks& locks, const std::string& name) {
  const auto lock = locks.acquire(name);
  if (!lock) fmt::print(stderr, "{}\n", lock.error().message);
  return lock.has_value();
}

// --- commands under a lock ---

// Times both commands alternately, so that other load affects both.
void time_commands(Site& site) {
  const std::vector<std::string> ours{beside("tempo"), "lock", "--socket", site.host(0).socket(),
                                      "command",       "--",   "true"};
  const std::vector<std::string> theirs{"flock", site.directory() + "/flock", "true"};
  Timed tempo;
  Timed flock;
  constexpr int kTimes = 100;
  for (int i = 0; i < kTimes; ++i)
    for (const auto& [command, into] : {std::pair{&theirs, &flock}, {&ours, &tempo}}) {
      const auto from = Clock::now();
      if (testbed::run(*command) != 0) return;
      into->us.push_back(micros(Clock::now() - from));
    }
  const double more = (tempo.at(0.5) - flock.at(0.5)) / 1000;
  fmt::print("tempo lock -- true: {:.1f} ms, flock: {:.1f} ms; {:.1f} ms more, target 10 {}\n",
             tempo.at(0.5) / 1000, flock.at(0.5) / 1000, more, more <= 10 ? "met" : "not met");
}

// Kills a holder on the first host while a program on the second waits, and times until the program
// has the lock.
Timed time_inheritance(Site& site, const std::function<pid_t(const std::string&)>& hold) {
  Timed timed;
  constexpr int kTimes = 20;
  Locks locks = connected(site.host(1).socket());
  for (int i = 0; i < kTimes; ++i) {
    const std::string name =
        fmt::format("killed-{}-{}", i, Clock::now().time_since_epoch().count());
    const pid_t holder = hold(name);
    for (int tries = 0; tries < 1000 && locks.acquire(name, {.wait = 0s}); ++tries) usleep(1000);
    Clock::time_point killed;
    std::thread killer([&] {
      usleep(50'000);  // until the other program waits
      killed = Clock::now();
      kill(holder, SIGKILL);
    });
    const auto lock = locks.acquire(name, {.wait = 20s});
    const auto acquired = Clock::now();
    killer.join();
    waitpid(holder, nullptr, 0);
    if (!lock) break;
    timed.us.push_back(micros(acquired - killed));
  }
  return timed;
}

void print_inheritance(const char* holder, Timed timed) {
  fmt::print(
      "{} killed: the next waiter has the lock after {:.2f} ms, at most {:.2f}, target 50 {}\n",
      holder, timed.at(0.5) / 1000, timed.at(1) / 1000,
      !timed.us.empty() && timed.at(1) <= 50'000 ? "met" : "not met");
}

void time_inheritances(Site& site) {
  const std::string socket = site.host(0).socket();
  print_inheritance("program", time_inheritance(site, [&](const std::string& name) {
                      std::fflush(nullptr);
                      const pid_t child = fork();
                      if (child != 0) return child;
                      Locks own = connected(socket);
                      const auto lock = own.acquire(name);
                      pause();
                      _exit(0);
                    }));
  print_inheritance("tempo lock", time_inheritance(site, [&](const std::string& name) {
                      std::fflush(nullptr);
                      const pid_t child = fork();
                      if (child != 0) return child;
                      execl(beside("tempo").c_str(), "tempo", "lock", "--socket", socket.c_str(),
                            name.c_str(), "--", "sleep", "60", static_cast<char*>(nullptr));
                      _exit(127);
                    }));
}

std::optional<Row> tempo_row(Clock::duration span) {
  Site site(
      {.tempod = beside("tempod"), .realtime = true, .arguments = {"--set", "locks.expect=3"}});
  for (std::size_t i = 0; i < kHosts; ++i) site.add();
  site.start_all();
  if (!site.wait(30s, [&] { return site.master() >= 0 && ready(site); })) {
    fmt::print(stderr, "{}", site.describe());
    return std::nullopt;
  }
  Row row{.name = "tempo, three daemons"};
  Locks locks = connected(site.host(0).socket());
  const auto idle_from = datagrams(site);
  const auto idle_start = Clock::now();
  usleep(1'000'000);
  const double idle =
      static_cast<double>(*datagrams(site) - *idle_from) / micros(Clock::now() - idle_start);
  const auto before = datagrams(site);
  const auto start = Clock::now();
  row.fresh.us.clear();
  constexpr std::size_t kFresh = 2000;
  for (std::size_t i = 0; i < kFresh; ++i) {
    const auto from = Clock::now();
    if (!once(locks, fmt::format("fresh-{}", i))) return std::nullopt;
    row.fresh.us.push_back(micros(Clock::now() - from));
  }
  const double sent =
      static_cast<double>(*datagrams(site) - *before) - idle * micros(Clock::now() - start);
  usleep(3'000'000);  // until the leases of the fresh locks have expired
  const auto cached = datagrams(site);
  const auto cached_start = Clock::now();
  row.again = time(span, 1'000'000, [&](std::size_t) { return once(locks, "again"); });
  const double again =
      static_cast<double>(*datagrams(site) - *cached) - idle * micros(Clock::now() - cached_start);
  row.eight = contend(span, [&](std::size_t i) -> Contender {
    auto own = std::make_shared<Locks>(connected(site.host(i % kHosts).socket()));
    return [own] { return once(*own, "eight"); };
  });
  fmt::print("datagrams per lock: fresh {:.2f} (target 3), again {:.4f}\n",
             sent / static_cast<double>(kFresh), again / static_cast<double>(row.again.us.size()));
  time_commands(site);
  time_inheritances(site);
  return row;
}

void print(std::vector<Row>& rows) {
  report::Table table({"",
                       {"fresh, median us", report::Align::right},
                       {"p99", report::Align::right},
                       {"again, median us", report::Align::right},
                       {"one client, /s", report::Align::right},
                       {"eight, /s", report::Align::right},
                       {"most/least", report::Align::right}});
  for (Row& row : rows)
    table.row({row.name, fmt::format("{:.0f}", row.fresh.at(0.5)),
               fmt::format("{:.0f}", row.fresh.at(0.99)), fmt::format("{:.0f}", row.again.at(0.5)),
               fmt::format("{:.0f}", row.again.per_s), fmt::format("{:.0f}", row.eight.per_s),
               fmt::format("{:.2f}", row.eight.spread())});
  fmt::print("{}", table.text());
}

void print_targets(Row& tempo) {
  fmt::print(
      "targets: fresh median 150 us {}, one client 5000/s {}, eight 2000/s {}, most/least 1.5 {}\n",
      tempo.fresh.at(0.5) <= 150 ? "met" : "not met", tempo.again.per_s >= 5000 ? "met" : "not met",
      tempo.eight.per_s >= 2000 ? "met" : "not met",
      tempo.eight.spread() > 0 && tempo.eight.spread() <= 1.5 ? "met" : "not met");
}

int measure(Clock::duration span) {
  std::vector<Row> rows;
  auto own = tempo_row(span);
  if (!own) return 1;
  rows.push_back(std::move(*own));
  for (const auto& rival : {redis_row, etcd_row})
    if (auto row = rival(span)) rows.push_back(std::move(*row));
  print(rows);
  for (std::size_t i = 1; i < rows.size(); ++i)
    fmt::print("{} / tempo: fresh {:.2f}, one client {:.2f}, eight {:.2f}\n", rows[i].name,
               rows[i].fresh.at(0.5) / rows[0].fresh.at(0.5),
               rows[0].again.per_s / rows[i].again.per_s,
               rows[0].eight.per_s / rows[i].eight.per_s);
  print_targets(rows[0]);
  return 0;
}

}  // namespace
}  // namespace tempo::bench

int main(int argc, char** argv) {
  CLI::App arguments("cost of a lock between real daemons");
  double seconds = 3;
  arguments.add_option("--seconds", seconds, "duration of each measurement")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  CLI11_PARSE(arguments, argc, argv);
  if (const std::string obstacle = tempo::testbed::Site::obstacle(); !obstacle.empty()) {
    fmt::print("bench_lock: skipped: {}\n", obstacle);
    return 0;
  }
  // The same priority as the daemons.
  if (const auto urgent = tempo::sys::run_real_time(19, tempo::sys::Children::ordinary); !urgent)
    fmt::print("{}\n", urgent.error());
  return tempo::bench::measure(std::chrono::duration_cast<tempo::bench::Clock::duration>(
      std::chrono::duration<double>(seconds)));
}
