#include "lab/cli/sim/ring_counts.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "base/display_text.h"
#include "base/number_text.h"
#include "base/table.h"
#include "cli/common/terminal.h"
#include "lab/report/bars.h"

namespace tempo::cli {
namespace {

constexpr std::uint32_t kMaxStations = 1'024;  // in a file that is read

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

bool equitable(const RingAsked& asked) { return asked.kind == "equitable"; }

Json asked_json(const RingAsked& asked) {
  return Json::object()
      .add("kind", asked.kind)
      .add("stations", std::uint64_t{asked.stations})
      .add("range", std::uint64_t{asked.range})
      .add("stages", std::uint64_t{asked.stages})
      .add("gamma", asked.gamma)
      .add("loss", asked.loss)
      .add("duplicate", asked.duplicate)
      .add("crash", std::uint64_t{asked.crash})
      .add("faulty", std::uint64_t{asked.faulty})
      .add("candidates", std::uint64_t{asked.candidates})
      .add("variant", asked.variant)
      .add("fast", asked.fast)
      .add("seed", asked.seed)
      .add("runs", asked.runs);
}

// Everything that adds up, exactly.
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
      .add("hash", counts.hash)
      .add("wins", histogram_json(wins));
}

Result<Histogram> parse_histogram(const Json& json) {
  Histogram histogram;
  for (const std::string& key : json.keys()) {
    const auto value = parse_number<std::uint32_t>(key);
    const auto count = json.count_at(key);
    if (!value || !count) return std::unexpected("a count that is none");
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

Json ring_json(const RingAsked& asked, const RingCounts& counts, const std::string& shard) {
  Json json = Json::object();
  json.add("kind", asked.kind)
      .add("stations", std::uint64_t{asked.stations})
      .add("runs", counts.runs)
      .add("leaders", histogram_json(counts.leaders))
      .add(equitable(asked) ? "rounds" : "phases", moments_json(counts.rounds));
  if (equitable(asked)) json.add("productive_rounds", moments_json(counts.productive));
  if (equitable(asked) || !asked.fast) {
    json.add(equitable(asked) ? "hops" : "messages", mean_json(counts.hops, counts))
        .add("bits", mean_json(counts.bits, counts));
  }
  if (equitable(asked)) json.add("announcement_hops", mean_json(counts.announcement_hops, counts));
  if (equitable(asked) && !asked.fast) json.add("buffer_max", counts.buffer_max);
  if (!equitable(asked))
    json.add("first_phase_leaders", histogram_json(counts.first_phase_leaders));
  if (!counts.wins.empty()) {
    Json wins = Json::array();
    for (const std::uint64_t count : counts.wins) wins.push(count);
    json.add("wins", wins);
  }
  if (asked.faulty > 0)
    json.add("reelections", counts.reelections).add("faulty_again", counts.faulty_again);
  json.add("violations", counts.violations)
      .add("hash", fmt::format("{:016x}", counts.hash))
      .add("asked", asked_json(asked))
      .add("counts", counts_json(counts));
  if (!shard.empty()) json.add("shard", shard);
  return json;
}

std::string ring_table(const RingAsked& asked, const RingCounts& counts) {
  std::vector<report::Bar> rows;
  for (const auto& [value, count] : counts.rounds) {
    const double share = mean_of(count, counts);
    rows.push_back({fmt::format("{}", value), fmt::format("{:.6g}", share), share});
  }
  const bool unicode = stdout_shows_unicode();
  std::string text = fmt::format("{}\n\n{}\n", equitable(asked) ? "rounds" : "phases",
                                 report::bars(rows, stdout_width(), unicode));
  report::Table table({"what", {"value", report::Align::right}});
  const auto share = [&](std::uint64_t count) {
    return fmt::format("{} ({:.3f} %)", report::grouped(count), 100 * mean_of(count, counts));
  };
  table.row({"runs", report::grouped(counts.runs)});
  for (const auto& [leaders, count] : counts.leaders)
    table.row({fmt::format("{} leader{}", leaders, leaders == 1 ? "" : "s"), share(count)});
  const Moments rounds = moments_of(counts.rounds);
  table.row({equitable(asked) ? "rounds, mean / variance" : "phases, mean / variance",
             fmt::format("{:.5f} / {:.5f}", rounds.mean, rounds.variance)});
  if (equitable(asked)) {
    const Moments productive = moments_of(counts.productive);
    table.row({"productive rounds", fmt::format("{:.5f}", productive.mean)});
    table.row({"announcement hops, mean",
               fmt::format("{:.5g}", mean_of(counts.announcement_hops, counts))});
  }
  if (equitable(asked) || !asked.fast) {
    table.row({equitable(asked) ? "hops, mean" : "messages, mean",
               fmt::format("{:.6g}", mean_of(counts.hops, counts))});
    table.row({"bits, mean", fmt::format("{:.6g}", mean_of(counts.bits, counts))});
  }
  if (equitable(asked) && !asked.fast)
    table.row({"fullest buffer", fmt::format("{}", counts.buffer_max)});
  if (asked.crash > 0 || asked.faulty > 0)
    table.row({"elections, mean", fmt::format("{:.4g}", mean_of(counts.elections, counts))});
  if (asked.faulty > 0) {
    table.row({"after a faulty leader", report::grouped(counts.reelections)});
    table.row({"  faulty again", fmt::format("{} ({:.2f} %)", report::grouped(counts.faulty_again),
                                             counts.reelections == 0
                                                 ? 0.0
                                                 : 100 * static_cast<double>(counts.faulty_again) /
                                                       static_cast<double>(counts.reelections))});
  }
  table.row({"promises broken", report::grouped(counts.violations)});
  return text + table.text({.unicode = unicode});
}

Result<RingPart> parse_ring_part(std::string_view text) {
  TRY(json, Json::parse(text));
  const auto asked = json.at("asked");
  const auto counts = json.at("counts");
  if (!asked || !counts) return std::unexpected("this is not what `tempo sim ring --json` writes");
  RingPart part;
  const auto small = [&](const char* name, std::uint32_t& value) {
    value = static_cast<std::uint32_t>(asked->count_at(name).value_or(0));
  };
  const auto large = [&](const char* name, std::uint64_t& value) {
    value = counts->count_at(name).value_or(0);
  };
  part.asked.kind = asked->text_at("kind").value_or("");
  part.asked.variant = asked->text_at("variant").value_or("");
  small("stations", part.asked.stations);
  small("range", part.asked.range);
  small("stages", part.asked.stages);
  small("crash", part.asked.crash);
  small("faulty", part.asked.faulty);
  small("candidates", part.asked.candidates);
  part.asked.gamma = asked->number_at("gamma").value_or(0);
  part.asked.loss = asked->number_at("loss").value_or(0);
  part.asked.duplicate = asked->number_at("duplicate").value_or(0);
  part.asked.fast = asked->flag_at("fast").value_or(false);
  part.asked.seed = asked->count_at("seed").value_or(0);
  part.asked.runs = asked->count_at("runs").value_or(0);
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
  large("hash", part.counts.hash);
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
  if (part.asked.stations > kMaxStations ||
      (!wins.empty() && wins.rbegin()->first >= part.asked.stations))
    return std::unexpected("more stations win than there are");
  part.counts.wins.resize(wins.empty() ? 0 : part.asked.stations);
  for (const auto& [station, count] : wins) part.counts.wins[station] = count;
  return part;
}

}  // namespace tempo::cli
