// Speed of the simulator on TEMPO's broadcast election with the production machine.
//
// N slaves lose their master; one stands, N-1 accept, it becomes master, N-1 report: 3N-1 messages
// as the paper counts them (a broadcast once), 5(N-1) deliveries. The same run also times a plain
// std::priority_queue loop that only pushes and pops the same messages with the same random delays:
// the cost of a minimal hand-written simulator. One core, no trace; times are thread CPU time, so
// that other load matters less.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <queue>
#include <vector>

#include <fmt/core.h>

#include "lab/sim/world.h"
#include "protocol/election/master.h"

namespace tempo::election {
namespace {

using Sim = sim::World<MasterElection>;

constexpr NodeId kOldMaster{0};
constexpr NodeId kCandidate{1};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Measured {
  double messages_per_second = 0;
  double events_per_second = 0;
};

std::size_t resident_bytes() {
  std::size_t pages = 0;
  std::size_t resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%zu %zu", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * 4096;
}

// A network of `survivors` + 1 nodes whose master has just died.
void bring_up(Sim& world, std::uint32_t survivors) {
  world.start(kOldMaster);
  world.run_until(Instant{1500ms});
  world.set_connected(false);
  for (std::uint32_t i = 1; i <= survivors; ++i) world.start(NodeId{i});
  world.set_connected(true);
  world.run_until(Instant{4400ms});
  world.crash(kOldMaster);
  world.run_until(Instant{4420ms});
}

Measured simulate(std::uint32_t survivors, std::uint64_t seed, const Rules& rules) {
  sim::NoWatch watch;
  Sim world(
      {.nodes = survivors + 1, .seed = seed},
      [&](NodeId self, Incarnation incarnation) {
        return MasterElection({self, incarnation}, rules);
      },
      watch);
  bring_up(world, survivors);
  const std::uint64_t events_before = world.events();
  const double start = thread_seconds();
  world.command(kCandidate, Command::stand);
  world.run_until(world.now() + 220ms);
  const double seconds = thread_seconds() - start;
  if (world.machine(kCandidate).state() != State::master ||
      world.machine(kCandidate).list().size() != survivors - 1) {
    fmt::print(stderr, "the election did not end with the candidate as master of all survivors\n");
    std::exit(1);
  }
  return {(3.0 * survivors - 1) / seconds,
          static_cast<double>(world.events() - events_before) / seconds};
}

// The same messages with the same delays: Election, Accepts, Acks, Masterup, Slaveups.
double plain_loop(std::uint32_t survivors, std::uint64_t seed) {
  struct Event {
    std::int64_t time;
    std::uint64_t sequence;
    std::uint32_t from, to;
    Message message;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };
  std::vector<Stream> delays;
  for (std::uint32_t i = 0; i <= survivors; ++i)
    delays.emplace_back(seed, std::to_underlying(sim::Cause::delay), i);
  const sim::Delay delay = sim::Link{}.delay;
  std::priority_queue<Event> queue;
  std::uint64_t sequence = 0;
  std::int64_t now = 0;
  std::uint64_t slaveups = 0;
  const auto send = [&](std::uint32_t from, std::uint32_t to, Kind kind) {
    queue.push(
        {now + delay.sample(delays[from]).count(), ++sequence, from, to, Message{.kind = kind}});
  };
  const auto broadcast = [&](std::uint32_t from, Kind kind) {
    for (std::uint32_t to = 0; to <= survivors; ++to)
      if (to != from) send(from, to, kind);
  };
  const double start = thread_seconds();
  const auto drain = [&] {
    while (!queue.empty()) {
      const Event event = queue.top();
      queue.pop();
      now = event.time;
      if (event.to == index(kOldMaster)) continue;
      switch (event.message.kind) {
        case Kind::election:
          send(event.to, event.from, Kind::accept);
          break;
        case Kind::accept:
          send(event.to, event.from, Kind::ack);
          break;
        case Kind::masterup:
          send(event.to, event.from, Kind::slaveup);
          break;
        case Kind::slaveup:
          ++slaveups;
          break;
        default:
          break;
      }
    }
  };
  broadcast(index(kCandidate), Kind::election);
  drain();
  broadcast(index(kCandidate), Kind::masterup);
  drain();
  const double seconds = thread_seconds() - start;
  if (slaveups != survivors - 1) std::exit(1);
  return (3.0 * survivors - 1) / seconds;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Memory of one network per node, measured before this process holds any other.
std::size_t bytes_per_node(std::uint32_t survivors, const Rules& rules) {
  sim::NoWatch watch;
  const std::size_t before = resident_bytes();
  Sim world(
      {.nodes = survivors + 1, .seed = 99},
      [&](NodeId self, Incarnation incarnation) {
        return MasterElection({self, incarnation}, rules);
      },
      watch);
  bring_up(world, survivors);
  return (std::max(resident_bytes(), before) - before) / survivors;
}

void measure() {
  const Rules rules{.timing = *profile("lan"), .repeats = 0};
  // The large network first: freed memory of smaller ones would hide part of its use.
  const std::size_t large = bytes_per_node(100'000, rules);
  fmt::print(
      "broadcast election, production machine, one core (medians); {} bytes per node at N = "
      "100,000\n",
      large);
  fmt::print("{:>8} {:>14} {:>14} {:>16} {:>8}\n", "N", "messages/s", "events/s",
             "plain loop msg/s", "ratio");
  bool met = true;
  for (const std::uint32_t survivors : {100U, 1'000U, 10'000U, 100'000U}) {
    const int runs = survivors <= 1'000 ? 31 : survivors <= 10'000 ? 9 : 3;
    std::vector<double> messages;
    std::vector<double> events;
    std::vector<double> plain;
    std::vector<double> ratios;
    for (int run = 0; run < runs; ++run) {
      const auto seed = static_cast<std::uint64_t>(run) + 1;
      const Measured measured = simulate(survivors, seed, rules);
      plain.push_back(plain_loop(survivors, seed));
      messages.push_back(measured.messages_per_second);
      events.push_back(measured.events_per_second);
      ratios.push_back(measured.messages_per_second / plain.back());
    }
    fmt::print("{:>8} {:>14.0f} {:>14.0f} {:>16.0f} {:>8.2f}\n", survivors, median(messages),
               median(events), median(plain), median(ratios));
    std::fflush(stdout);
    if (survivors == 1'000) met = met && median(messages) >= 5e6 && median(ratios) >= 0.65;
    if (survivors == 10'000) met = met && median(messages) >= 4e6;
  }
  fmt::print(
      "targets: N=1,000 at least 5 M messages/s and 0.65 of the plain loop; N=10,000 at least 4 M: "
      "{}\n",
      met ? "met" : "NOT met");
}

}  // namespace
}  // namespace tempo::election

int main() {
  tempo::election::measure();
  return 0;
}
