#include "lab/cli/sweep/sweep.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "lab/cli/arguments.h"
#include "lab/cli/mpi_group.h"
#include "lab/cli/output.h"
#include "lab/cli/parallel_runs.h"
#include "lab/cli/shard.h"
#include "lab/cli/sim/commands.h"
#include "lab/cli/sim/ring_counts.h"
#include "lab/cli/sweep/sweep_files.h"
#include "lab/cli/sweep/sweep_progress.h"
#include "lab/cli/sweep/results.h"
#include "tempo_version.h"

namespace tempo::cli {
namespace {

using sweep::Lines;
using sweep::Part;
using sweep::Share;
using sweep::Spec;

// The result of one process, sent to the first: its lines, or the reason why it stopped.
struct Done {
  Lines lines;
  std::uint64_t resumed = 0;  // number of lines from an earlier run
  std::string error{};        // of the first cell that cannot run; empty: none
  bool interrupted = false;
};

// --- one cell ---

struct Answer {
  int status = kDone;
  std::string line{};   // of the results; empty: none
  std::string error{};  // reason for an empty line; empty: interrupted
};

Answer run_cell(const Spec& spec, std::uint64_t cell) {
  std::vector<std::string> words = spec.arguments(cell);
  words.insert(words.begin(), "tempo-lab");
  words.emplace_back("--json");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  OutputCapture capture;
  const int status = run_lab_command_line(static_cast<int>(pointers.size()), pointers.data());
  if (status == kInterrupted) return {.status = status};
  const Result<Json> result = answer_in(capture.out);
  if ((status == kDone || status == kViolation) && result)
    return {.status = status, .line = sweep::cell_line(spec, cell, status, *result)};
  std::string where;  // the options of this cell
  for (const sweep::Setting& setting : spec.at(cell))
    where += fmt::format(" {}={}", setting.option, sweep::text_of(setting.value));
  return {.status = kBadUsage,
          .error = fmt::format("cell {} ({}{}): {}", cell, spec.command, where,
                               result ? "no result" : result.error())};
}

// --- the work of one process ---

struct Work {
  std::string header;
  std::string out;
  std::uint32_t rank = 0;
  std::uint32_t workers = 1;
  std::uint64_t all = 0;               // cells of all processes
  Lines known{};                       // from an earlier run
  std::vector<std::uint64_t> cells{};  // to run
};

void run_missing_cells(const Spec& spec, const Work& work, SweepProgress& progress, Done& done) {
  PartFile part_file(work.out, work.rank, work.header);
  std::mutex mutex;
  std::atomic<bool> stop{false};
  const auto run_one = [&](std::uint32_t /*worker*/, std::uint64_t number) {
    if (stop) return;
    const std::uint64_t cell = work.cells[number];
    const Answer answer = run_cell(spec, cell);
    const std::scoped_lock lock(mutex);
    if (!answer.line.empty()) {
      part_file.add(answer.line);
      done.lines.emplace(cell, answer.line);
      progress.add();
      return;
    }
    stop = true;
    if (done.error.empty()) done.error = answer.error;
  };
  distribute(work.cells.size(), work.workers, run_one, [&] { progress.update(); });
  done.interrupted =
      done.error.empty() && done.lines.size() < work.known.size() + work.cells.size();
}

Done run_cells(const Spec& spec, const Work& work, MpiGroup& mpi_group) {
  Done done{.lines = work.known, .resumed = work.known.size()};
  const InterruptGuard guard;
  SweepProgress progress(mpi_group, {.all = work.all, .kept = work.known.size()});
  if (!work.cells.empty()) run_missing_cells(spec, work, progress, done);
  progress.finish();
  return done;
}

// --- results sent to the first process ---

std::string packed(const Done& done, const std::string& header) {
  return Json::object()
             .add("error", done.error)
             .add("interrupted", done.interrupted)
             .add("resumed", done.resumed)
             .line() +
         '\n' + sweep::json_lines(header, done.lines);
}

Result<Done> unpacked(const std::string& text) {
  const std::size_t end = text.find('\n');
  TRY(head, Json::parse(std::string_view{text}.substr(0, end)));
  TRY(part, sweep::parse_part(std::string_view{text}.substr(end + 1)));
  return Done{.lines = std::move(part.lines),
              .resumed = head.count_at("resumed").value_or(0),
              .error = head.text_at("error").value_or(""),
              .interrupted = head.flag_at("interrupted").value_or(false)};
}

std::string without_ending(const std::string& path) {
  return path.ends_with(".toml") ? path.substr(0, path.size() - 5) : path;
}

std::uint64_t violations_in(const Lines& lines) {
  return static_cast<std::uint64_t>(std::ranges::count_if(lines, [](const auto& line) {
    const Result<Json> json = Json::parse(line.second);
    return json && json->whole_at("status") != kDone;
  }));
}

// Writes the results and prints their paths.
int write_results(const std::string& out, const std::string& header, const Lines& lines,
                  std::uint64_t resumed, bool json) {
  const std::string results = out + ".jsonl";
  const std::string table = out + ".csv";
  if (!replace_file(results, sweep::json_lines(header, lines)) ||
      !replace_file(table, sweep::csv(lines)))
    return kBadUsage;
  const std::uint64_t broken = violations_in(lines);
  if (json) {
    print_json(Json::object()
                   .add("cells", std::uint64_t{lines.size()})
                   .add("resumed", resumed)
                   .add("broken", broken)
                   .add("results", results)
                   .add("table", table));
  } else {
    print("{} cells{}: {} and {}\n", lines.size(),
          resumed > 0 ? fmt::format(", {} of them from an earlier run", resumed) : "", results,
          table);
    if (broken > 0) print("in {} of them a property was violated (status 1)\n", broken);
  }
  return broken > 0 ? kViolation : kDone;
}

struct SweepPlan {
  Spec spec;
  Share share;
  std::string out;
};

Result<SweepPlan> parse_plan(const SweepArguments& arguments, const std::string& text,
                             const sweep::Commands& known) {
  auto spec = sweep::read_spec(text, known);
  if (!spec) {
    std::string all;
    for (const TomlMistake& mistake : spec.error())
      all += fmt::format("{}{}:{}:{}: {}", all.empty() ? "" : "\ntempo-lab: ", arguments.spec,
                         mistake.at.line, mistake.at.column, mistake.what);
    return std::unexpected(all);
  }
  TRY(shard, shard_of(arguments.shard));
  if (const auto why_not = why_not_threads(arguments.threads)) return std::unexpected(*why_not);
  std::string out = arguments.out.empty() ? without_ending(arguments.spec) : arguments.out;
  if (shard.of > 1) out += fmt::format(".{}-of-{}", shard.number, shard.of);
  return SweepPlan{*std::move(spec), shard, std::move(out)};
}

Work work_of(const SweepPlan& plan, const MpiGroup& mpi_group, std::uint32_t threads) {
  Work work{.header = sweep::header_line(plan.spec, kTempoVersion, plan.share),
            .out = plan.out,
            .rank = mpi_group.rank(),
            .workers = workers_for(threads)};
  const Lines stored = stored_lines(plan.out, work.header);
  const Share mine{mpi_group.rank() + 1, mpi_group.count()};
  for (std::uint64_t cell = 0, nth = 0; cell < plan.spec.cells(); ++cell) {
    if (!plan.share.has(cell)) continue;
    ++work.all;
    if (!mine.has(nth++)) continue;
    if (const auto found = stored.find(cell); found != stored.end())
      work.known.insert(*found);
    else
      work.cells.push_back(cell);
  }
  return work;
}

int run_plan(const SweepPlan& plan, const SweepArguments& arguments, MpiGroup& mpi_group) {
  const Work work = work_of(plan, mpi_group, arguments.threads);
  const Done done = run_cells(plan.spec, work, mpi_group);
  Lines all;
  std::string error;
  bool interrupted = false;
  std::uint64_t resumed = 0;
  for (const std::string& text : mpi_group.gathered(packed(done, work.header))) {
    const Result<Done> part = unpacked(text);
    if (!part) return mpi_group.agreed(bad_usage("invalid results from another process of mpirun"));
    all.insert(part->lines.begin(), part->lines.end());
    if (error.empty()) error = part->error;
    interrupted |= part->interrupted;
    resumed += part->resumed;
  }
  int status = kDone;
  if (mpi_group.rank() == 0) {
    if (!error.empty()) {
      status = bad_usage(error);
    } else if (interrupted) {
      print_error("tempo-lab: interrupted; run the same command again to resume\n");
      status = kInterrupted;
    } else {
      status = write_results(plan.out, work.header, all, resumed, arguments.json);
    }
  }
  // Keep the part files if the results could not be written.
  const bool keep = status == kInterrupted || (status == kBadUsage && error.empty());
  status = mpi_group.agreed(status);
  if (mpi_group.agreed(keep ? 1 : 0) == 0) remove_stored_lines(plan.out, mpi_group.rank());
  return status;
}

}  // namespace

int sweep(const SweepArguments& arguments, const sweep::Commands& known) {
  auto mpi_group = MpiGroup::join();
  if (!mpi_group) return bad_usage(mpi_group.error());
  std::optional<std::string> text;
  if ((*mpi_group)->rank() == 0) text = read_file(arguments.spec);
  std::string shared = text ? "=" + *text : "";
  (*mpi_group)->spread(shared);
  const bool is_first = (*mpi_group)->rank() == 0;
  if (shared.empty()) {
    if (is_first)
      bad_usage(fmt::format("cannot read {}; check its name and permissions", arguments.spec));
    return kBadUsage;
  }
  const Result<SweepPlan> plan = parse_plan(arguments, shared.substr(1), known);
  if (!plan) {
    if (is_first) bad_usage(plan.error());
    return kBadUsage;
  }
  return run_plan(*plan, arguments, **mpi_group);
}

int merge(const MergeArguments& arguments) {
  std::vector<Part> parts;
  for (const std::string& path : arguments.files) {
    const std::optional<std::string> text = read_file(path);
    if (!text)
      return bad_usage(fmt::format("cannot read {}; check its name and permissions", path));
    Result<Part> part = sweep::parse_part(*text);
    // Shards of one `sim ring` are added up instead.
    if (!part && parts.empty() && parse_ring_part(*text))
      return sim_merge({.files = arguments.files, .json = arguments.json});
    if (!part) return bad_usage(fmt::format("{} {}", path, part.error()));
    parts.push_back(*std::move(part));
  }
  if (arguments.out.empty())
    return bad_usage("--out OUT is missing; the results go to OUT.jsonl and OUT.csv");
  const Result<Part> whole = sweep::merged(std::move(parts));
  if (!whole) return bad_usage(whole.error());
  if (whole->lines.size() < whole->cells) {
    std::uint64_t first = 0;
    while (whole->lines.contains(first)) ++first;
    return bad_usage(fmt::format("{} of {} cells are missing, the first is {}; give all shards",
                                 whole->cells - whole->lines.size(), whole->cells, first));
  }
  return write_results(arguments.out, whole->description, whole->lines, 0, arguments.json);
}

}  // namespace tempo::cli
