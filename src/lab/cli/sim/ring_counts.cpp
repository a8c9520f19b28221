#include "lab/cli/sim/ring_counts.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "base/display_text.h"
#include "base/number_text.h"
#include "base/table.h"
#include "cli/common/terminal.h"
#include "lab/cli/output.h"
#include "lab/report/bars.h"

namespace tempo::cli {
namespace {

constexpr std::uint32_t kMaxStations = 1'024;  // accepted from a file

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments_of(const Histogram& histogram) {
  double runs = 0;
  double sum = 0;
  for (const auto& [value, count] : histogram) {
    runs += static_cast<double>(count);
    sum += static_cast<double>(value) * static_cast<double>(count);
  }
  if (runs == 0) return {};
  Moments moments{.mean = sum / runs};
  for (const auto& [value, count] : histogram)
    moments.variance += std::pow(value - moments.mean, 2) * static_cast<double>(count) / runs;
  return moments;
}

double mean_of(std::uint64_t sum, const RingCounts& counts) {
  return static_cast<double>(sum) / static_cast<double>(std::max<std::uint64_t>(counts.runs, 1));
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

void add(Histogram& to, const Histogram& from) {
  for (const auto& [value, count] : from) to[value] += count;
}

Json histogram_json(const Histogram& histogram) {
  Json json = Json::object();
  for (const auto& [value, count] : histogram) json.add(fmt::format("{}", value), count);
  return json;
}
Json moments_json(const Histogram& histogram) {
  const Moments moments = moments_of(histogram);
  return Json::object().add("mean", moments.mean).add("var", moments.variance);
}
Json mean_json(std::uint64_t sum, const RingCounts& counts) {
  return Json::object().add("mean", mean_of(sum, counts));
}

bool equitable(const RingPlan& plan) { return plan.kind == "equitable"; }

Json plan_json(const RingPlan& plan) {
  return Json::object()
      .add("kind", plan.kind)
      .add("stations", std::uint64_t{plan.stations})
      .add("range", std::uint64_t{plan.range})
      .add("stages", std::uint64_t{plan.stages})
      .add("gamma", plan.gamma)
      .add("loss", plan.loss)
      .add("duplicate", plan.duplicate)
      .add("crash", std::uint64_t{plan.crash})
      .add("faulty", std::uint64_t{plan.faulty})
      .add("candidates", std::uint64_t{plan.candidates})
      .add("variant", plan.variant)
      .add("fast", plan.fast)
      .add("seed", fmt::format("{}", plan.seed))
      .add("runs", plan.runs);
}

// Everything that the sum of several shards needs, exactly.
Json counts_json(const RingCounts& counts) {
  Histogram wins;
  for (std::uint32_t i = 0; i < counts.wins.size(); ++i) wins[i] = counts.wins[i];
  return Json::object()
      .add("runs", counts.runs)
      .add("leaders", histogram_json(counts.leaders))
      .add("rounds", histogram_json(counts.rounds))
      .add("productive", histogram_json(counts.productive))
      .add("first_phase_leaders", histogram_json(counts.first_phase_leaders))
      .add("hops", counts.hops)
      .add("announcement_hops", counts.announcement_hops)
      .add("bits", counts.bits)
      .add("buffer_max", counts.buffer_max)
      .add("elections", counts.elections)
      .add("reelections", counts.reelections)
      .add("faulty_again", counts.faulty_again)
      .add("violations", counts.violations)
      .add("hash", hash_text(counts.hash))
      .add("wins", histogram_json(wins));
}

Result<Histogram> parse_histogram(const Json& json) {
  Histogram histogram;
  for (const std::string& key : json.keys()) {
    const auto value = parse_number<std::uint32_t>(key);
    const auto count = json.count_at(key);
    if (!value || !count) return std::unexpected("a histogram contains an invalid count");
    histogram[*value] = *count;
  }
  return histogram;
}

}  // namespace

RingCounts& RingCounts::operator+=(const RingCounts& other) {
  runs += other.runs;
  add(leaders, other.leaders);
  add(rounds, other.rounds);
  add(productive, other.productive);
  add(first_phase_leaders, other.first_phase_leaders);
  hops += other.hops;
  announcement_hops += other.announcement_hops;
  bits += other.bits;
  buffer_max = std::max(buffer_max, other.buffer_max);
  elections += other.elections;
  reelections += other.reelections;
  faulty_again += other.faulty_again;
  violations += other.violations;
  hash += other.hash;
  if (wins.size() < other.wins.size()) wins.resize(other.wins.size());
  for (std::size_t i = 0; i < other.wins.size(); ++i) wins[i] += other.wins[i];
  return *this;
}

Json ring_json(const RingPlan& plan, const RingCounts& counts, const std::string& shard) {
  Json json = Json::object();
  json.add("kind", plan.kind)
      .add("stations", std::uint64_t{plan.stations})
      .add("runs", counts.runs)
      .add("leaders", histogram_json(counts.leaders))
      .add(equitable(plan) ? "rounds" : "phases", moments_json(counts.rounds));
  if (equitable(plan)) json.add("productive_rounds", moments_json(counts.productive));
  if (equitable(plan) || !plan.fast) {
    json.add(equitable(plan) ? "hops" : "messages", mean_json(counts.hops, counts))
        .add("bits", mean_json(counts.bits, counts));
  }
  if (equitable(plan)) json.add("announcement_hops", mean_json(counts.announcement_hops, counts));
  if (equitable(plan) && !plan.fast) json.add("buffer_max", counts.buffer_max);
  if (!equitable(plan)) json.add("first_phase_leaders", histogram_json(counts.first_phase_leaders));
  if (!counts.wins.empty()) {
    Json wins = Json::array();
    for (const std::uint64_t count : counts.wins) wins.push(count);
    json.add("wins", wins);
  }
  if (plan.faulty > 0)
    json.add("reelections", counts.reelections).add("faulty_again", counts.faulty_again);
  json.add("violations", counts.violations)
      .add("hash", hash_text(counts.hash))
      .add("asked", plan_json(plan))
      .add("counts", counts_json(counts));
  if (!shard.empty()) json.add("shard", shard);
  return json;
}

std::string ring_table(const RingPlan& plan, const RingCounts& counts) {
  std::vector<report::Bar> rows;
  for (const auto& [value, count] : counts.rounds) {
    const double share = mean_of(count, counts);
    rows.push_back({fmt::format("{}", value), fmt::format("{:.6g}", share), share});
  }
  const bool unicode = stdout_shows_unicode();
  std::string text = fmt::format("{}\n\n{}\n", equitable(plan) ? "rounds" : "phases",
                                 report::bars(rows, stdout_width(), unicode));
  report::Table table({"what", {"value", report::Align::right}});
  const auto share = [&](std::uint64_t count) {
    return fmt::format("{} ({:.3f} %)", report::grouped(count), 100 * mean_of(count, counts));
  };
  table.row({"runs", report::grouped(counts.runs)});
  for (const auto& [leaders, count] : counts.leaders)
    table.row({fmt::format("{} leader{}", leaders, leaders == 1 ? "" : "s"), share(count)});
  const Moments rounds = moments_of(counts.rounds);
  table.row({equitable(plan) ? "rounds, mean / variance" : "phases, mean / variance",
             fmt::format("{:.5f} / {:.5f}", rounds.mean, rounds.variance)});
  if (equitable(plan)) {
    const Moments productive = moments_of(counts.productive);
    table.row({"productive rounds", fmt::format("{:.5f}", productive.mean)});
    table.row({"announcement hops, mean",
               fmt::format("{:.5g}", mean_of(counts.announcement_hops, counts))});
  }
  if (equitable(plan) || !plan.fast) {
    table.row({equitable(plan) ? "hops, mean" : "messages, mean",
               fmt::format("{:.6g}", mean_of(counts.hops, counts))});
    table.row({"bits, mean", fmt::format("{:.6g}", mean_of(counts.bits, counts))});
  }
  if (equitable(plan) && !plan.fast)
    table.row({"largest buffer", fmt::format("{}", counts.buffer_max)});
  if (plan.crash > 0 || plan.faulty > 0)
    table.row({"elections, mean", fmt::format("{:.4g}", mean_of(counts.elections, counts))});
  if (plan.faulty > 0) {
    table.row({"elections after a faulty leader", report::grouped(counts.reelections)});
    table.row({"  faulty again", fmt::format("{} ({:.2f} %)", report::grouped(counts.faulty_again),
                                             counts.reelections == 0
                                                 ? 0.0
                                                 : 100 * static_cast<double>(counts.faulty_again) /
                                                       static_cast<double>(counts.reelections))});
  }
  table.row({"properties violated", report::grouped(counts.violations)});
  return text + table.text({.unicode = unicode});
}

Result<RingPart> parse_ring_part(std::string_view text) {
  TRY(json, answer_in(text));
  const auto plan = json.at("asked");
  const auto counts = json.at("counts");
  if (!plan || !counts)
    return std::unexpected("it is not the output of 'tempo-lab sim ring --json'");
  RingPart part;
  const auto small = [&](const char* name, std::uint32_t& value) {
    value = static_cast<std::uint32_t>(plan->count_at(name).value_or(0));
  };
  const auto large = [&](const char* name, std::uint64_t& value) {
    value = counts->count_at(name).value_or(0);
  };
  part.plan.kind = plan->text_at("kind").value_or("");
  part.plan.variant = plan->text_at("variant").value_or("");
  small("stations", part.plan.stations);
  small("range", part.plan.range);
  small("stages", part.plan.stages);
  small("crash", part.plan.crash);
  small("faulty", part.plan.faulty);
  small("candidates", part.plan.candidates);
  part.plan.gamma = plan->number_at("gamma").value_or(0);
  part.plan.loss = plan->number_at("loss").value_or(0);
  part.plan.duplicate = plan->number_at("duplicate").value_or(0);
  part.plan.fast = plan->flag_at("fast").value_or(false);
  part.plan.seed = parse_number<std::uint64_t>(plan->text_at("seed").value_or("")).value_or(0);
  part.plan.runs = plan->count_at("runs").value_or(0);
  part.shard = json.text_at("shard").value_or("");
  large("runs", part.counts.runs);
  large("hops", part.counts.hops);
  large("announcement_hops", part.counts.announcement_hops);
  large("bits", part.counts.bits);
  large("buffer_max", part.counts.buffer_max);
  large("elections", part.counts.elections);
  large("reelections", part.counts.reelections);
  large("faulty_again", part.counts.faulty_again);
  large("violations", part.counts.violations);
  const std::string hash = counts->text_at("hash").value_or("");
  std::from_chars(hash.data(), hash.data() + hash.size(), part.counts.hash, 16);
  const auto histogram = [&](const char* name, Histogram& into) -> Result<void> {
    const auto found = counts->at(name);
    if (!found || !found->is_object()) return std::unexpected("a histogram is missing");
    TRY(read, parse_histogram(*found));
    into = read;
    return {};
  };
  for (const auto& [name, into] : {std::pair{"leaders", &part.counts.leaders},
                                   {"rounds", &part.counts.rounds},
                                   {"productive", &part.counts.productive},
                                   {"first_phase_leaders", &part.counts.first_phase_leaders}})
    if (const Result<void> read = histogram(name, *into); !read)
      return std::unexpected(read.error());
  Histogram wins;
  if (const Result<void> read = histogram("wins", wins); !read)
    return std::unexpected(read.error());
  if (part.plan.stations > kMaxStations ||
      (!wins.empty() && wins.rbegin()->first >= part.plan.stations))
    return std::unexpected("it counts wins of stations that do not exist");
  part.counts.wins.resize(wins.empty() ? 0 : part.plan.stations);
  for (const auto& [station, count] : wins) part.counts.wins[station] = count;
  return part;
}

}  // namespace tempo::cli
