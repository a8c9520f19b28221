// How well two real daemons agree over virtual Ethernet, where the truth is known: both stand on
// one kernel's clock. Needs root, else it says so and ends.
//
//   bench_veth [SECONDS]     60 unless told otherwise, after 90 to settle
//
// Each daemon publishes its clock as a line over the one raw clock; the difference of the two lines
// at one instant is the whole error: stamps, estimate and steering.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "api/page_file.h"
#include "beside.h"
#include "support/site.h"

namespace tempo::testbed {
namespace {

constexpr double kBarRms = 50;   // nanoseconds
constexpr double kBarP99 = 200;  // nanoseconds

// What a daemon's page says, not carried on yet.
class SteeredClock {
 public:
  explicit SteeredClock(const std::string& socket)
      : descriptor_(::open(page::path_for(socket).c_str(), O_RDONLY)),
        mapping_(descriptor_, false) {}
  ~SteeredClock() { ::close(descriptor_); }
  SteeredClock(const SteeredClock&) = delete;
  SteeredClock& operator=(const SteeredClock&) = delete;

  bool there() const { return !mapping_.none(); }
  // What it shows at `raw`, less `base`, in nanoseconds.
  double at(Instant raw, WallTime base) const {
    const auto loaded = page::load(*mapping_.page());
    if (!loaded) return std::nan("");
    const page::Hand& hand = loaded->content.time;
    const Nanos age = raw - loaded->content.raw;
    return static_cast<double>((hand.shows + age - base).count()) +
           static_cast<double>(age.count()) * hand.rate;
  }
  WallTime shows() const {
    const auto loaded = page::load(*mapping_.page());
    return loaded ? loaded->content.time.shows : WallTime{};
  }

 private:
  int descriptor_;
  page::Mapping mapping_;
};

std::vector<double> measure(const SteeredClock& master, const SteeredClock& slave, int seconds) {
  constexpr int kASecond = 10;
  const WallTime base = master.shows();
  std::vector<double> errors;
  for (int i = 0; i < seconds * kASecond; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1000 / kASecond));
    const Instant raw = page::read_moment_closely().raw;
    errors.push_back(slave.at(raw, base) - master.at(raw, base));
  }
  return errors;
}

bool report(const std::vector<double>& errors) {
  double sum = 0;
  double squares = 0;
  std::vector<double> sizes;
  for (const double error : errors) {
    sum += error;
    squares += error * error;
    sizes.push_back(std::abs(error));
  }
  std::ranges::sort(sizes);
  const auto count = static_cast<double>(errors.size());
  const double rms = std::sqrt(squares / count);
  const double p99 = sizes[sizes.size() * 99 / 100];
  fmt::print(
      "virtual Ethernet, one kernel clock: rms {:.0f} ns (bar {:.0f}), p99 {:.0f} ns (bar {:.0f}), "
      "largest {:.0f} ns, mean {:+.0f} ns, {} readings\n",
      rms, kBarRms, p99, kBarP99, sizes.back(), sum / count, errors.size());
  return rms <= kBarRms && p99 <= kBarP99;
}

int measure_two_daemons(int seconds) {
  if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) {
    fmt::print("bench_veth: {}\n", obstacle);
    return 0;
  }
  if (::access(bench::beside("tempod").c_str(), X_OK) != 0) {
    fmt::print("bench_veth: there is no tempod beside it; 'make build' makes it\n");
    return 1;
  }
  Site site({.tempod = bench::beside("tempod")});
  for (int i = 0; i < 2; ++i) site.add();
  site.start_all();
  if (!site.wait(30s, [&] { return site.master() >= 0; })) {
    fmt::print("bench_veth: no master\n{}", site.describe());
    return 1;
  }
  std::this_thread::sleep_for(90s);  // until the slave knows the master well
  const auto master = static_cast<std::size_t>(site.master());
  const SteeredClock masters(site.host(master).socket());
  const SteeredClock slaves(site.host(1 - master).socket());
  if (!masters.there() || !slaves.there()) {
    fmt::print("bench_veth: a daemon publishes no page\n");
    return 1;
  }
  return report(measure(masters, slaves, seconds)) ? 0 : 1;
}

}  // namespace
}  // namespace tempo::testbed

int main(int argc, char** argv) {
  CLI::App arguments("how well two real daemons agree over virtual Ethernet");
  int seconds = 60;
  arguments.add_option("seconds", seconds, "after 90 to settle")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  CLI11_PARSE(arguments, argc, argv);
  return tempo::testbed::measure_two_daemons(seconds);
}
