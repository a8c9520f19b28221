// Agreement of two real daemons over virtual Ethernet, where the true offset is known: both use one
// kernel's clock. Needs root, otherwise it prints why and exits.
//
//   bench_veth [SECONDS]     default: 60, after 90 to settle
//
// Each daemon publishes its clock as a line over the same raw clock; the difference of the two
// lines at one instant is the total error of timestamps, estimate and steering.
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

constexpr double kTargetRms = 50;   // nanoseconds
constexpr double kTargetP99 = 200;  // nanoseconds

// The clock line in a daemon's time page.
class PublishedClock {
 public:
  explicit PublishedClock(const std::string& socket)
      : descriptor_(::open(page::path_for(socket).c_str(), O_RDONLY)),
        mapping_(descriptor_, false) {}
  ~PublishedClock() { ::close(descriptor_); }
  PublishedClock(const PublishedClock&) = delete;
  PublishedClock& operator=(const PublishedClock&) = delete;

  bool published() const { return !mapping_.empty(); }
  // Its reading at `raw` minus `base`, nanoseconds; NaN: not published.
  double at(Instant raw, WallTime base) const {
    const auto loaded = page::load(*mapping_.page());
    if (!loaded) return std::nan("");
    const page::ClockLine& line = loaded->content.time;
    const Nanos age = raw - loaded->content.raw;
    return static_cast<double>((line.shows + age - base).count()) +
           static_cast<double>(age.count()) * line.rate;
  }
  WallTime shows() const {
    const auto loaded = page::load(*mapping_.page());
    return loaded ? loaded->content.time.shows : WallTime{};
  }

 private:
  int descriptor_;
  page::Mapping mapping_;
};

std::vector<double> measure(const PublishedClock& master, const PublishedClock& follower,
                            int seconds) {
  constexpr int kPerSecond = 10;
  const WallTime base = master.shows();
  std::vector<double> errors;
  for (int i = 0; i < seconds * kPerSecond; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1000 / kPerSecond));
    const Instant raw = page::read_moment_closely().raw;
    errors.push_back(follower.at(raw, base) - master.at(raw, base));
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
      "virtual Ethernet, one kernel clock: rms {:.0f} ns (target {:.0f}), p99 {:.0f} ns (target "
      "{:.0f}), "
      "largest {:.0f} ns, mean {:+.0f} ns, {} readings\n",
      rms, kTargetRms, p99, kTargetP99, sizes.back(), sum / count, errors.size());
  return rms <= kTargetRms && p99 <= kTargetP99;
}

int measure_two_daemons(int seconds) {
  if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) {
    fmt::print("bench_veth: {}\n", obstacle);
    return 0;
  }
  if (::access(bench::beside("tempod").c_str(), X_OK) != 0) {
    fmt::print("bench_veth: no tempod in the same directory; build it with 'make build'\n");
    return 1;
  }
  Site site({.tempod = bench::beside("tempod")});
  for (int i = 0; i < 2; ++i) site.add();
  site.start_all();
  if (!site.wait(30s, [&] { return site.master() >= 0; })) {
    fmt::print("bench_veth: no master\n{}", site.describe());
    return 1;
  }
  std::this_thread::sleep_for(90s);  // until the follower has a good estimate of the master
  const auto master = static_cast<std::size_t>(site.master());
  const PublishedClock master_clock(site.host(master).socket());
  const PublishedClock follower_clock(site.host(1 - master).socket());
  if (!master_clock.published() || !follower_clock.published()) {
    fmt::print("bench_veth: a daemon publishes no time page\n");
    return 1;
  }
  return report(measure(master_clock, follower_clock, seconds)) ? 0 : 1;
}

}  // namespace
}  // namespace tempo::testbed

int main(int argc, char** argv) {
  CLI::App arguments("agreement of two real daemons over virtual Ethernet");
  int seconds = 60;
  arguments.add_option("seconds", seconds, "duration of the measurement, after 90 s to settle")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  CLI11_PARSE(arguments, argc, argv);
  return tempo::testbed::measure_two_daemons(seconds);
}
