#include "lab/cli/report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/display_text.h"
#include "base/json.h"
#include "base/result.h"
#include "base/table.h"
#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "lab/cli/output.h"
#include "lab/cli/parallel_runs.h"
#include "lab/papers/experiment.h"
#include "lab/papers/keep.h"
#include "lab/papers/page.h"
#include "lab/report/progress.h"
#include "lab/sim/trace.h"
#include "tempo_version.h"

namespace tempo::cli {
namespace {

using papers::Chapter;
using papers::Claim;
using papers::Experiment;
using papers::Findings;
using papers::Paper;
using papers::Verdict;

constexpr std::size_t kMinClaim = 30;  // columns of the table for the text of a claim
constexpr std::size_t kMaxClaim = 72;
constexpr std::size_t kMaxCell =
    26;  // for predictions and measurements; the page has the whole text

struct ReportPlan {
  std::optional<Paper> paper{};  // unset: all
  papers::Effort effort = papers::Effort::quick;
  std::vector<const Experiment*> experiments{};
};

Result<ReportPlan> parse_plan(const ReportArguments& arguments) {
  ReportPlan plan;
  std::string known;
  for (std::size_t i = 0; i < papers::kPapers; ++i) {
    const auto paper = static_cast<Paper>(i);
    known += std::string(name_of(paper)) + ", ";
    if (name_of(paper) == arguments.paper) plan.paper = paper;
  }
  if (!plan.paper && arguments.paper != "all")
    return std::unexpected(
        fmt::format("--paper must be one of {}all, not '{}'", known, arguments.paper));
  if (arguments.glance + arguments.quick + arguments.full > 1)
    return std::unexpected("--glance, --quick and --full exclude each other; choose one");
  if (const auto why_not = why_not_threads(arguments.threads)) return std::unexpected(*why_not);
  if (arguments.out.empty())
    return std::unexpected("--out must name a directory, for example --out tempo-report");
  if (arguments.glance) plan.effort = papers::Effort::glance;
  if (arguments.full) plan.effort = papers::Effort::full;
  for (const Experiment& one : papers::experiments())
    if (!plan.paper || one.paper == *plan.paper) plan.experiments.push_back(&one);
  return plan;
}

// A hash of this program: stored findings of another program are not reused.
std::uint64_t program_hash() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::uint64_t hash = 0;
  std::array<char, 1 << 16> buffer{};
  while (file) {
    buffer.fill(0);
    file.read(buffer.data(), buffer.size());
    for (std::size_t at = 0; at < static_cast<std::size_t>(file.gcount()); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, &buffer.at(at), sizeof word);
      hash = sim::mixed(hash, word);
    }
  }
  return hash;
}

// Expected time of an experiment, the unit of the progress bar.
std::uint64_t expected_ms(const Experiment& experiment, papers::Effort effort) {
  const double scale = effort == papers::Effort::full     ? 20
                       : effort == papers::Effort::glance ? 0.05
                                                          : 1;
  return static_cast<std::uint64_t>(experiment.seconds * 1000 * scale) + 1;
}

class ProgressWorkshop final : public papers::Workshop {
 public:
  ProgressWorkshop(const ReportArguments& arguments, const ReportPlan& plan)
      : effort_(plan.effort),
        seed_(arguments.seed),
        workers_(workers_for(arguments.threads)),
        progress_({.what = "report", .total = total(plan), .unit = "ms of work"}, steady_now,
                  report::stderr_terminal()) {}

  papers::Effort effort() const override { return effort_; }
  std::uint64_t seed() const override { return seed_; }
  std::uint32_t threads() const override { return workers_; }
  bool stopped() const override { return interrupted(); }
  void each(std::uint64_t count, const std::function<void(std::uint64_t)>& work) override {
    distribute(
        count, workers_, [&](std::uint32_t, std::uint64_t number) { work(number); },
        [&] { draw(); });
  }
  void breathe() override { draw(); }

  // Counts an experiment that an earlier run finished.
  void keep(const Experiment& experiment) { progress_.keep(expected_ms(experiment, effort_)); }
  void begin(const Experiment& experiment) {
    expected_ = expected_ms(experiment, effort_);
    before_ = progress_.done();
    began_ = steady_now();
    progress_.set_task(std::string(experiment.name));
    draw();
  }
  void end() { progress_.add(before_ + expected_ - progress_.done()); }
  void finish() { progress_.finish(); }

 private:
  static std::uint64_t total(const ReportPlan& plan) {
    std::uint64_t sum = 0;
    for (const Experiment* one : plan.experiments) sum += expected_ms(*one, plan.effort);
    return sum;
  }
  void draw() {
    const auto elapsed = static_cast<std::uint64_t>((steady_now() - began_) / Nanos{1ms});
    const std::uint64_t now = before_ + std::min(elapsed, expected_ - 1);
    if (now > progress_.done()) progress_.add(now - progress_.done());
    progress_.draw();
  }

  papers::Effort effort_;
  std::uint64_t seed_;
  std::uint32_t workers_;
  report::Progress progress_;
  std::uint64_t expected_ = 1;  // ms, of the running experiment
  std::uint64_t before_ = 0;    // progress when it began
  Instant began_ = steady_now();
};

// Elapsed time, and processor time of all cores.
std::string duration_text(Instant began) {
  return fmt::format("{:.1f} s, {:.1f} s of processor time",
                     std::chrono::duration<double>(steady_now() - began).count(),
                     static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
}

struct Run {
  std::vector<Chapter> chapters{};
  std::size_t kept = 0;  // number of chapters from an earlier run
  bool interrupted = false;
  bool written = true;
};

Run run_all(const ReportArguments& arguments, const ReportPlan& plan,
            const std::filesystem::path& directory) {
  const std::uint64_t program = program_hash();
  const auto file_of = [&](const Experiment& experiment) {
    return directory / (std::string(experiment.name) + ".json");
  };
  const auto key_of_one = [&](const Experiment& experiment) {
    return key_of(experiment, plan.effort, arguments.seed, program);
  };
  Run run;
  ProgressWorkshop workshop(arguments, plan);
  // Read stored findings first, so that the progress bar counts only the remaining work.
  std::vector<std::optional<Findings>> found;
  for (const Experiment* experiment : plan.experiments) {
    Result<Findings> kept =
        papers::read_kept(read_file(file_of(*experiment)).value_or(""), key_of_one(*experiment));
    if (kept) workshop.keep(*experiment);
    run.kept += kept.has_value();
    found.push_back(kept ? std::optional{*std::move(kept)} : std::nullopt);
  }
  for (std::size_t i = 0; i < found.size() && !interrupted(); ++i) {
    const Experiment& experiment = *plan.experiments[i];
    if (!found[i]) {
      workshop.begin(experiment);
      found[i] = experiment.run(workshop);
      if (interrupted()) break;
      if (!replace_file(file_of(experiment), kept_text(*found[i], key_of_one(experiment)))) {
        run.written = false;
        break;
      }
      workshop.end();
    }
    run.chapters.push_back({&experiment, *std::move(found[i])});
  }
  workshop.finish();
  run.interrupted = interrupted();
  return run;
}

std::vector<Claim> claims_of(const std::vector<Chapter>& chapters) {
  std::vector<Claim> all;
  for (const Chapter& chapter : chapters)
    all.insert(all.end(), chapter.findings.claims.begin(), chapter.findings.claims.end());
  return all;
}

std::uint64_t count_of(const std::vector<Claim>& claims, Verdict verdict) {
  return static_cast<std::uint64_t>(std::ranges::count(claims, verdict, &Claim::verdict));
}

Json summary_json(const ReportArguments& arguments, const ReportPlan& plan,
                  const std::vector<Claim>& claims) {
  Json list = Json::array();
  for (const Claim& claim : claims) list.push(json_of(claim));
  return Json::object()
      .add("version", kTempoVersion)
      .add("effort", name_of(plan.effort))
      .add("seed", fmt::format("{}", arguments.seed))
      .add("confidence", papers::kConfidence)
      .add("agrees", count_of(claims, Verdict::agrees))
      .add("errata", count_of(claims, Verdict::erratum))
      .add("undecided", count_of(claims, Verdict::undecided))
      .add("disagrees", count_of(claims, Verdict::disagrees))
      .add("claims", list);
}

std::string table_text(const std::vector<Claim>& claims) {
  const auto widest = [&](std::string Claim::* cell, std::size_t least) {
    for (const Claim& claim : claims) least = std::max(least, report::display_width(claim.*cell));
    return std::min(least, kMaxCell);
  };
  const std::size_t others = widest(&Claim::prediction, 9) + widest(&Claim::measurement, 8) +
                             widest(&Claim::interval, 8) + std::size_t{4 * 2} + 9;
  const std::size_t width = stdout_is_terminal() ? stdout_width() : others + kMaxClaim;
  const std::size_t claim_width =
      width > others + kMinClaim ? std::min(kMaxClaim, width - others) : kMinClaim;
  std::string text;
  for (std::size_t i = 0; i < papers::kPapers; ++i) {
    report::Table table({{std::string(name_of(static_cast<Paper>(i)))},
                         {"predicted", report::Align::right},
                         {"measured", report::Align::right},
                         {"interval", report::Align::right},
                         {"verdict"}});
    bool any = false;
    for (const Claim& claim : claims) {
      if (claim.paper != static_cast<Paper>(i)) continue;
      any = true;
      table.row({report::clipped(claim.says, claim_width),
                 report::clipped(claim.prediction, kMaxCell),
                 report::clipped(claim.measurement, kMaxCell),
                 report::clipped(claim.interval, kMaxCell), std::string(name_of(claim.verdict))});
    }
    if (any) text += table.text({.unicode = stdout_shows_unicode()}) + '\n';
  }
  return text;
}

bool write_results(const ReportArguments& arguments, const ReportPlan& plan,
                   const std::vector<Chapter>& chapters) {
  const std::vector<Claim> claims = claims_of(chapters);
  std::vector<report::Chart> charts;
  Json drawn = Json::array();
  for (const Chapter& chapter : chapters)
    for (const report::Chart& chart : chapter.findings.charts) {
      charts.push_back(chart);
      drawn.push(papers::json_of(chart));
    }
  const std::filesystem::path out = arguments.out;
  return replace_file(out / "report.html", page(chapters, {.effort = plan.effort,
                                                           .seed = arguments.seed,
                                                           .version = kTempoVersion})) &&
         replace_file(out / "results.json",
                      summary_json(arguments, plan, claims).add("charts", drawn).text()) &&
         replace_file(out / "claims.csv", claims_csv(claims)) &&
         replace_file(out / "charts.csv", report::charts_csv(charts));
}

}  // namespace

int report_papers(const ReportArguments& arguments) {
  const Result<ReportPlan> plan = parse_plan(arguments);
  if (!plan) return bad_usage(plan.error());
  const InterruptGuard guard;
  const Instant began = steady_now();
  const std::filesystem::path kept = std::filesystem::path(arguments.out) / "kept";
  std::error_code failure;
  std::filesystem::create_directories(kept, failure);
  if (failure)
    return bad_usage(fmt::format("cannot create the directory {}: {}; choose another with --out",
                                 kept.string(), failure.message()));
  const Run run = run_all(arguments, *plan, kept);
  if (run.interrupted) {
    print_error(
        "tempo-lab: interrupted after {} of {} experiments; run the same command again to resume\n",
        run.chapters.size(), plan->experiments.size());
    return kInterrupted;
  }
  if (!run.written || !write_results(arguments, *plan, run.chapters)) return kBadUsage;
  const std::vector<Claim> claims = claims_of(run.chapters);
  if (arguments.json) {
    print_json(summary_json(arguments, *plan, claims));
  } else {
    print("{}", table_text(claims));
    print("{} agree, {} errata, {} undecided, {} disagree; intervals of {:.2f} %{}; {}\n{}\n",
          count_of(claims, Verdict::agrees), count_of(claims, Verdict::erratum),
          count_of(claims, Verdict::undecided), count_of(claims, Verdict::disagrees),
          papers::kConfidence * 100,
          run.kept == 0 ? std::string()
                        : fmt::format("; {} of {} experiments from an earlier run", run.kept,
                                      plan->experiments.size()),
          duration_text(began), (std::filesystem::path(arguments.out) / "report.html").string());
  }
  return count_of(claims, Verdict::disagrees) == 0 ? kDone : kViolation;
}

}  // namespace tempo::cli
