#include "lab/studies/sync/experiment.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <deque>
#include <limits>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "base/number_text.h"
#include "base/span_text.h"
#include "lab/sim/allan.h"
#include "lab/studies/sync/network.h"

namespace tempo::sim::sync {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr Nanos kCritical = 60s;  // period of close observation after each event
constexpr Nanos kClosely = 100ms;
// Span that determines the rate of network time while a liar leads.
constexpr Nanos kRateSpan = 64s;
constexpr double kPermanent = 10;           // seconds within the limit that count as permanent
constexpr std::uint32_t kBend = 32;         // seconds to each side of the second difference
constexpr double kMaxDisturbance = 200e-6;  // of a rate
constexpr std::uint32_t kAfter = 60;        // seconds after the master's death

double microseconds(Nanos span) { return static_cast<double>(span.count()) * 1e-3; }

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at =
      std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size())));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(at));
  return values[at];
}

// Running root mean square.
struct Squares {
  double sum = 0;
  double count = 0;
  void add(double value) {
    sum += value * value;
    ++count;
  }
  double root() const { return count > 0 ? std::sqrt(sum / count) : 0; }
};

class Judge {
 public:
  explicit Judge(const Experiment& experiment)
      : experiment_(experiment), network_(experiment), phases_(network_.size()) {
    outcome_.errors.resize(experiment.clients);
  }

  Outcome run() {
    for (Instant at{kClosely}; at <= Instant{experiment_.seconds * 1s}; at += kClosely) {
      const bool whole = at.time_since_epoch() % 1s == 0ns;
      if (!whole && !critical(at)) continue;
      network_.run_until(at);
      if (at < Instant{kCritical}) watch_start();
      check_bounds();
      if (whole) judge(static_cast<std::uint32_t>(at.time_since_epoch() / 1s));
    }
    finish();
    return std::move(outcome_);
  }

 private:
  bool judged(std::uint32_t second) const { return second > experiment_.discard; }
  bool honest(std::uint32_t i) const { return network_.up(i) && !network_.lies(i); }

  // True in the first minute and in the minute after each event.
  bool critical(Instant at) const {
    const auto within = [at](Instant from) { return at >= from && at - from < kCritical; };
    const auto after = [&](std::optional<std::uint32_t> second) {
      return second && within(Instant{*second * 1s});
    };
    return within(Instant{}) || within(network_.lies_from()) || after(experiment_.kill_master_at) ||
           after(experiment_.change_at) ||
           std::ranges::any_of(experiment_.disturbances, [at](const Disturbance& one) {
             return at >= Instant{one.from * 1s} && at < Instant{one.until() * 1s} + kCritical;
           });
  }

  // Largest offset of a client from the master; unset while there is no master.
  std::optional<Nanos> worst() const {
    const auto master = network_.master();
    if (!master) return std::nullopt;
    const WallTime truth = network_.reading(*master).time;
    Nanos worst{0};
    for (std::uint32_t i = 0; i < network_.size(); ++i)
      if (i != *master) {
        if (!network_.up(i)) return std::nullopt;
        worst = std::max(worst, std::chrono::abs(network_.reading(i).time - truth));
      }
    return worst;
  }

  void watch_start() {
    const Instant first = network_.watch().first_masterup;
    if (first == kNever) return;
    const double since = in_seconds(network_.now() - first);
    const std::optional<Nanos> worst_now = worst();
    const auto update = [&](double& converged, Nanos limit) {
      const bool within = worst_now && *worst_now <= limit;
      if (!within && since - converged < kPermanent) converged = -1;
      if (within && converged < 0) converged = since;
    };
    update(outcome_.converged_1ms, 1ms);
    update(outcome_.converged_20us, 20us);
  }

  void check_bounds() {
    const auto truth = network_time();
    if (!truth) return;
    for (std::uint32_t i = 0; i < network_.size(); ++i) {
      if (!honest(i)) continue;
      const node::Reading reading = network_.reading(i);
      outcome_.bound_violations += reading.earliest > *truth || *truth > reading.latest;
    }
  }

  // The time that the bounds must contain; unset while there is no master. While a liar leads,
  // network time continues as the last honest master left it.
  std::optional<WallTime> network_time() {
    const auto master = network_.master();
    if (!master) return std::nullopt;
    const Instant now = network_.now();
    if (!network_.lies(*master)) {
      if (last_honest_ != master) honest_times_.clear();
      last_honest_ = master;
      const WallTime time = network_.reading(*master).time;
      honest_times_.push_back({now, time});
      while (now - honest_times_.front().at > kRateSpan) honest_times_.pop_front();
      return time;
    }
    if (honest_times_.empty()) return std::nullopt;
    const auto& [from, first] = honest_times_.front();
    const auto& [to, last] = honest_times_.back();
    const double rate = to > from ? in_seconds(last - first) / in_seconds(to - from) : 1;
    return last + Nanos{std::llround(rate * static_cast<double>((now - to).count()))};
  }

  void judge(std::uint32_t second) {
    const auto master = network_.master();
    if (judged(second) && steps_before_ == kUncounted) steps_before_ = network_.watch().steps;
    const Nanos passed = second * 1s;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    double mean = 0;
    double mean_of_all = 0;
    double all = 0;
    std::vector<double> clients;
    std::vector<double> widths;
    const double network =
        master ? microseconds(network_.reading(*master).time - kWallStart - passed) : kNone;
    for (std::uint32_t i = 0; i < network_.size(); ++i) {
      if (i > 0) outcome_.errors[i - 1].push_back(kNone);
      if (!honest(i)) continue;
      const node::Reading reading = network_.reading(i);
      const double ahead = microseconds(reading.time - kWallStart - passed);
      low = std::min(low, ahead);
      high = std::max(high, ahead);
      mean_of_all += ahead;
      ++all;
      if (master && i == *master) continue;
      clients.push_back(ahead);
      mean += ahead;
      if (i > 0 && master) outcome_.errors[i - 1].back() = ahead - network;
      if (!judged(second)) continue;
      truths_.add(ahead);
      if (master) {
        to_master_.add(ahead - network);
        errors_.push_back(std::abs(ahead - network));
      }
      if (reading.status != node::Reading::Status::unsynchronized)
        widths.push_back(microseconds(reading.latest - reading.earliest));
    }
    outcome_.course.push_back(all > 0 ? mean_of_all / all : kNone);
    outcome_.widths.push_back(widths.empty() ? kNone : quantile(widths, 0.5));
    all_widths_.insert(all_widths_.end(), widths.begin(), widths.end());
    if (!judged(second) || clients.empty()) return;
    for (std::size_t a = 0; a < clients.size(); ++a)
      for (std::size_t b = a + 1; b < clients.size(); ++b) pairs_.add(clients[a] - clients[b]);
    record_spread(second, high - low);
    course_.push_back(mean / static_cast<double>(clients.size()));
    scale_.push_back(course_.back() * 1e-6);
    if (master && !network_.lies(*master)) scale_.back() = network * 1e-6;
    for (std::uint32_t i = 0; i < network_.size(); ++i)
      phases_[i].push_back(network_.seconds_ahead(i));
  }

  void record_spread(std::uint32_t second, double spread) {
    spreads_.push_back(spread);
    const auto killed = experiment_.kill_master_at;
    if (!killed) return;
    if (second <= *killed) before_.push_back(spread);
    if (second > *killed && second <= *killed + kAfter)
      outcome_.election_spread = std::max(outcome_.election_spread, spread);
  }

  void finish() {
    outcome_.rms = to_master_.root();
    outcome_.p99 = quantile(errors_, 0.99);
    outcome_.most = errors_.empty() ? 0 : std::ranges::max(errors_);
    outcome_.true_rms = truths_.root();
    outcome_.client_to_client_rms = pairs_.root();
    outcome_.spread_p99 = quantile(spreads_, 0.99);
    outcome_.spread_before_p99 = quantile(before_, 0.99);
    outcome_.bound_width = quantile(all_widths_, 0.5);
    outcome_.least_trip = microseconds(network_.least_trip());
    for (std::size_t i = kBend; i + kBend < course_.size(); ++i)
      outcome_.bend = std::max(
          outcome_.bend, std::abs(course_[i + kBend] - 2 * course_[i] + course_[i - kBend]) / 2);
    for (std::size_t k = 0; k < kTaus.size(); ++k) {
      const double tau = kTaus[k];
      std::vector<double> members;
      for (std::uint32_t i = experiment_.isolated ? 0 : 1; i < network_.size(); ++i)
        members.push_back(allan_deviation(phases_[i], 1, tau));
      std::ranges::sort(members);
      outcome_.member_adev[k] =
          (members[(members.size() - 1) / 2] + members[members.size() / 2]) / 2;
      outcome_.ensemble_adev[k] = allan_deviation(scale_, 1, tau);
    }
    outcome_.packets_per_second =
        static_cast<double>(network_.watch().packets) / experiment_.seconds;
    outcome_.steps = network_.watch().steps - (steps_before_ == kUncounted ? 0 : steps_before_);
    outcome_.master_changes = network_.watch().reigns - 1;
    outcome_.config_hash = network_.config_hash();
  }

  static constexpr std::uint64_t kUncounted = std::numeric_limits<std::uint64_t>::max();

  const Experiment& experiment_;
  Network network_;
  Outcome outcome_;
  Squares to_master_;
  Squares truths_;
  Squares pairs_;
  std::vector<double> errors_;
  std::vector<double> spreads_;
  std::vector<double> before_;
  std::vector<double> all_widths_;
  std::vector<double> course_;  // mean of the honest clients, us ahead of true time
  std::vector<double> scale_;   // network time, s ahead of true time
  std::vector<std::vector<double>> phases_;
  std::uint64_t steps_before_ = kUncounted;
  // Recent network time under the last honest master, for the span that determines its rate.
  struct Moment {
    Instant at;
    WallTime time;
  };
  std::deque<Moment> honest_times_;
  std::optional<std::uint32_t> last_honest_;
};

}  // namespace

std::string_view name_of(Lie lie) {
  constexpr std::array<std::string_view, 5> kNames{"none", "constant", "drifting", "random",
                                                   "gone"};
  return kNames.at(static_cast<std::size_t>(lie));
}

Result<Liars> parse_liars(std::string_view text) {
  const std::size_t colon = text.find(':');
  Liars liars;
  const char* const end = text.data() + std::min(colon, text.size());
  const auto [stop, failure] = std::from_chars(text.data(), end, liars.count);
  if (colon != std::string_view::npos && failure == std::errc{} && stop == end)
    for (const Lie lie : {Lie::constant, Lie::drifting, Lie::random, Lie::gone})
      if (text.substr(colon + 1) == name_of(lie)) {
        liars.lie = lie;
        return liars;
      }
  return std::unexpected(fmt::format(
      "bad --liars '{}': use COUNT:KIND with the kind constant, drifting, random or gone", text));
}

Result<double> parse_frequency(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  if (failure == std::errc{} && unit.empty()) return value;
  if (failure == std::errc{} && unit == "ppm") return value * 1e-6;
  if (failure == std::errc{} && unit == "ppb") return value * 1e-9;
  return std::unexpected(fmt::format("'{}' is not a frequency; write 50ppm, 3ppb or 5e-5", text));
}

Result<Disturbance> parse_disturbance(std::string_view text) {
  const auto refuse = [text] {
    return std::unexpected(
        fmt::format("bad --disturb '{}': use NODE:rate:5ppm@SECOND, NODE:jump:-200us@SECOND or "
                    "NODE:ramp:5ppm/SECONDS@SECOND",
                    text));
  };
  const auto number = [](std::string_view digits, std::uint32_t& into) {
    const auto parsed = parse_number<std::uint32_t>(digits);
    if (parsed) into = *parsed;
    return parsed.has_value();
  };
  const std::size_t first = text.find(':');
  const std::size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  const std::size_t at = text.rfind('@');
  if (second == text.npos || at == text.npos || at < second) return refuse();
  Disturbance disturbance;
  if (!number(text.substr(0, first), disturbance.node)) return refuse();
  if (!number(text.substr(at + 1), disturbance.from) || disturbance.from == 0) return refuse();
  const std::string_view kind = text.substr(first + 1, second - first - 1);
  std::string_view amount = text.substr(second + 1, at - second - 1);
  if (kind == "ramp") {
    const std::size_t slash = amount.find('/');
    if (slash == amount.npos) return refuse();
    if (!number(amount.substr(slash + 1), disturbance.lasts) || disturbance.lasts == 0)
      return refuse();
    amount = amount.substr(0, slash);
    disturbance.what = Disturbance::What::ramp;
  } else if (kind == "jump") {
    disturbance.what = Disturbance::What::clock_jump;
  } else if (kind != "rate") {
    return refuse();
  }
  const bool negative = amount.starts_with('-');
  if (negative || amount.starts_with('+')) amount.remove_prefix(1);
  if (disturbance.what == Disturbance::What::clock_jump) {
    const Result<Nanos> by = parse_span(amount);
    if (!by) return refuse();
    disturbance.amount = in_seconds(*by);
  } else {
    const Result<double> by = parse_frequency(amount);
    if (!by || !(*by >= 0 && *by <= kMaxDisturbance)) return refuse();
    disturbance.amount = *by;
  }
  if (negative) disturbance.amount = -disturbance.amount;
  return disturbance;
}

double apart(const Outcome& a, const Outcome& b, std::uint32_t from, std::uint32_t to) {
  CHECK(from >= 1 && to <= a.course.size() && to <= b.course.size());
  Squares gaps;
  for (std::uint32_t second = from; second <= to; ++second)
    gaps.add(a.course[second - 1] - b.course[second - 1]);
  return gaps.root();
}

Outcome run(const Experiment& experiment) { return Judge(experiment).run(); }

std::vector<Outcome> run_seeds(const Experiment& experiment, std::uint32_t seeds,
                               std::uint32_t threads) {
  std::vector<Outcome> outcomes(seeds);
  std::atomic<std::uint32_t> next{0};
  const auto work = [&] {
    for (std::uint32_t i = next++; i < seeds; i = next++) {
      Experiment one = experiment;
      one.seed += i;
      outcomes[i] = run(one);
    }
  };
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  for (std::uint32_t i = 1; i < std::min(threads, seeds); ++i) workers.emplace_back(work);
  work();
  workers.clear();
  return outcomes;
}

}  // namespace tempo::sim::sync
