#include "lab/cli/sweep.h"

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
#include "lab/cli/sim/ring_counts.h"
#include "lab/cli/sim/sim_ring.h"
#include "lab/cli/sweep_files.h"
#include "lab/cli/sweep_progress.h"
#include "lab/sweep/results.h"
#include "tempo_version.h"

namespace tempo::cli {
namespace {

using sweep::Lines;
using sweep::Part;
using sweep::Share;
using sweep::Spec;

// What mpirun's processes tell each other: one part's lines, or why it stopped.
struct Done {
  Lines lines;
  std::uint64_t resumed = 0;  // so many of them were there from before
  std::string wrong{};        // the first cell that cannot be run, and why
  bool interrupted = false;
};

// --- one cell ---

struct Answer {
  int status = kDone;
  std::string line{};   // empty: none
  std::string wrong{};  // why there is none
};

// What a command complained of, without its name and the end of the line.
std::string_view reason_in(std::string_view complaint) {
  if (complaint.starts_with("tempo") && complaint.find(": ") != std::string_view::npos)
    complaint.remove_prefix(complaint.find(": ") + 2);
  while (complaint.ends_with('\n')) complaint.remove_suffix(1);
  return complaint.empty() ? "it gives no results" : complaint;
}

Answer run_cell(const Spec& spec, std::uint64_t cell) {
  std::vector<std::string> words = spec.arguments(cell);
  words.insert(words.begin(), "tempo");
  words.emplace_back("--json");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  OutputCapture hearing;
  const int status = run_lab_command_line(static_cast<int>(pointers.size()), pointers.data());
  if (status == kInterrupted) return {.status = status};
  const Result<Json> result = Json::parse(hearing.out);
  if ((status == kDone || status == kViolation) && result)
    return {.status = status, .line = sweep::cell_line(spec, cell, status, *result)};
  std::string where;
  for (const sweep::Setting& setting : spec.at(cell))
    where += fmt::format(" {}={}", setting.option, sweep::text_of(setting.value));
  return {.status = kBadUsage,
          .wrong =
              fmt::format("cell {} ({}{}): {}", cell, spec.command, where, reason_in(hearing.err))};
}

// --- what one process does ---

// What falls to this process.
struct Work {
  std::string header;
  std::string out;
  std::uint32_t rank = 0;
  std::uint32_t workers = 1;
  std::uint64_t all = 0;               // cells of all processes
  Lines known{};                       // from before
  std::vector<std::uint64_t> cells{};  // still to be run
};

void run_missing_cells(const Spec& spec, const Work& work, SweepProgress& progress, Done& done) {
  SweepDiary diary(work.out, work.rank, work.header);
  std::mutex mutex;
  std::atomic<bool> stop{false};
  const auto run_one = [&](std::uint32_t /*worker*/, std::uint64_t number) {
    if (stop) return;
    const std::uint64_t cell = work.cells[number];
    const Answer answer = run_cell(spec, cell);
    const std::scoped_lock lock(mutex);
    if (!answer.line.empty()) {
      diary.add(answer.line);
      done.lines.emplace(cell, answer.line);
      progress.add();
      return;
    }
    stop = true;
    if (done.wrong.empty()) done.wrong = answer.wrong;
  };
  share_out(work.cells.size(), work.workers, run_one, [&] { progress.look(); });
  done.interrupted =
      done.wrong.empty() && done.lines.size() < work.known.size() + work.cells.size();
}

Done run_cells(const Spec& spec, const Work& work, MpiGroup& mpi_group) {
  Done done{.lines = work.known, .resumed = work.known.size()};
  const InterruptGuard guard;
  SweepProgress progress(mpi_group, {.all = work.all, .kept = work.known.size()});
  if (!work.cells.empty()) run_missing_cells(spec, work, progress, done);
  progress.finish();
  return done;
}

// --- what all processes have to tell the first ---

std::string packed(const Done& done, const std::string& header) {
  return Json::object()
             .add("wrong", done.wrong)
             .add("interrupted", done.interrupted)
             .add("resumed", done.resumed)
             .line() +
         '\n' + sweep::json_lines(header, done.lines);
}

Result<Done> unpacked(const std::string& text) {
  const std::size_t end = text.find('\n');
  TRY(told, Json::parse(std::string_view{text}.substr(0, end)));
  TRY(part, sweep::parse_part(std::string_view{text}.substr(end + 1)));
  return Done{.lines = std::move(part.lines),
              .resumed = told.count_at("resumed").value_or(0),
              .wrong = told.text_at("wrong").value_or(""),
              .interrupted = told.flag_at("interrupted").value_or(false)};
}

int refuse(const std::string& why) {
  print_error("tempo: {}\n", why);
  return kBadUsage;
}

std::string without_ending(const std::string& path) {
  return path.ends_with(".toml") ? path.substr(0, path.size() - 5) : path;
}

std::uint64_t broken_in(const Lines& lines) {
  return static_cast<std::uint64_t>(std::ranges::count_if(lines, [](const auto& line) {
    const Result<Json> json = Json::parse(line.second);
    return json && json->whole_at("status") != kDone;
  }));
}

// Writes what there is and says where.
int conclude(const std::string& out, const std::string& header, const Lines& lines,
             std::uint64_t resumed, bool json) {
  const std::string results = out + ".jsonl";
  const std::string table = out + ".csv";
  if (!replace_file(results, sweep::json_lines(header, lines)) ||
      !replace_file(table, sweep::csv(lines)))
    return kBadUsage;
  const std::uint64_t broken = broken_in(lines);
  if (json) {
    print("{}", Json::object()
                    .add("cells", std::uint64_t{lines.size()})
                    .add("resumed", resumed)
                    .add("broken", broken)
                    .add("results", results)
                    .add("table", table)
                    .text());
  } else {
    print("{} cells{}: {} and {}\n", lines.size(),
          resumed > 0 ? fmt::format(", {} of them from before", resumed) : "", results, table);
    if (broken > 0) print("in {} of them a promise was broken (status 1)\n", broken);
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
      all += fmt::format("{}{}:{}:{}: {}", all.empty() ? "" : "\ntempo: ", arguments.spec,
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
  const Lines before = kept_lines(plan.out, work.header);
  const Share mine{mpi_group.rank() + 1, mpi_group.count()};
  for (std::uint64_t cell = 0, nth = 0; cell < plan.spec.cells(); ++cell) {
    if (!plan.share.has(cell)) continue;
    ++work.all;
    if (!mine.has(nth++)) continue;
    if (const auto found = before.find(cell); found != before.end())
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
  std::string wrong;
  bool interrupted = false;
  std::uint64_t resumed = 0;
  for (const std::string& text : mpi_group.gathered(packed(done, work.header))) {
    const Result<Done> part = unpacked(text);
    if (!part) return mpi_group.agreed(refuse("what another process sent cannot be read"));
    all.insert(part->lines.begin(), part->lines.end());
    if (wrong.empty()) wrong = part->wrong;
    interrupted |= part->interrupted;
    resumed += part->resumed;
  }
  int status = kDone;
  if (mpi_group.rank() == 0) {
    if (!wrong.empty()) {
      status = refuse(wrong);
    } else if (interrupted) {
      print_error("tempo: interrupted; the same command goes on from here\n");
      status = kInterrupted;
    } else {
      status = conclude(plan.out, work.header, all, resumed, arguments.json);
    }
  }
  // Where the results could not be written, what is done is not lost.
  const bool keep = status == kInterrupted || (status == kBadUsage && wrong.empty());
  status = mpi_group.agreed(status);
  if (mpi_group.agreed(keep ? 1 : 0) == 0) forget_lines(plan.out, mpi_group.rank());
  return status;
}

}  // namespace

int sweep(const SweepArguments& arguments, const sweep::Commands& known) {
  auto mpi_group = MpiGroup::join();
  if (!mpi_group) return refuse(mpi_group.error());
  std::optional<std::string> text;
  if ((*mpi_group)->rank() == 0) text = read_file(arguments.spec);
  std::string shared = text ? "=" + *text : "";
  (*mpi_group)->spread(shared);
  const bool speaks = (*mpi_group)->rank() == 0;
  if (shared.empty()) {
    if (speaks) refuse(fmt::format("cannot read {}", arguments.spec));
    return kBadUsage;
  }
  const Result<SweepPlan> plan = parse_plan(arguments, shared.substr(1), known);
  if (!plan) {
    if (speaks) refuse(plan.error());
    return kBadUsage;
  }
  return run_plan(*plan, arguments, **mpi_group);
}

int merge(const MergeArguments& arguments) {
  std::vector<Part> parts;
  for (const std::string& path : arguments.files) {
    const std::optional<std::string> text = read_file(path);
    if (!text) return refuse(fmt::format("cannot read {}", path));
    Result<Part> part = sweep::parse_part(*text);
    // The shards of one `sim ring` add up instead.
    if (!part && parts.empty() && parse_ring_part(*text))
      return sim_merge({.files = arguments.files, .json = arguments.json});
    if (!part) return refuse(fmt::format("{} {}", path, part.error()));
    parts.push_back(*std::move(part));
  }
  if (arguments.out.empty()) return refuse("--out says where results go: to OUT.jsonl and OUT.csv");
  const Result<Part> whole = sweep::merged(std::move(parts));
  if (!whole) return refuse(whole.error());
  if (whole->lines.size() < whole->cells) {
    std::uint64_t first = 0;
    while (whole->lines.contains(first)) ++first;
    return refuse(fmt::format("{} of {} cells are missing, the first is {}; name all parts",
                              whole->cells - whole->lines.size(), whole->cells, first));
  }
  return conclude(arguments.out, whole->description, whole->lines, 0, arguments.json);
}

}  // namespace tempo::cli
