#include <fstream>
#include <iterator>
#include <vector>

#include <fmt/core.h>

#include "base/display_text.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "lab/cli/output.h"
#include "lab/cli/sim/commands.h"
#include "lab/sim/trace_text.h"
#include "lab/studies/election/replay.h"

namespace tempo::cli {
namespace {

// Larger than any trace of Trace::kMaxHappenings lines.
constexpr std::size_t kMaxBytes = 256 << 20;

Result<std::string> text_of(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::vector<char> part(1 << 16);
  while (file && text.size() <= kMaxBytes) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof() || file.bad())
    return std::unexpected(fmt::format("cannot read {}; check its name and permissions", path));
  return text;
}

void print_states(const std::vector<std::string>& names, const std::vector<std::string>& states) {
  for (std::size_t i = 0; i < states.size(); ++i)
    if (!states[i].empty()) print("  {}: {}\n", names[i], states[i]);
}

int replay_script(const ReplayArguments& arguments, const std::string& script) {
  const Result<check::Replayed> replayed = check::replay(script);
  if (!replayed) return bad_usage(fmt::format("{}: {}", arguments.file, replayed.error()));
  if (!arguments.diagram.empty() &&
      !show_diagram(replayed->trace, {.title = arguments.file, .nodes = replayed->nodes},
                    arguments.diagram))
    return kBadUsage;
  if (arguments.json) {
    Json states = Json::array();
    for (const std::string& state : replayed->states) states.push(state);
    print_json(Json::object()
                   .add("nodes", std::uint64_t{replayed->nodes})
                   .add("steps", std::uint64_t{replayed->steps})
                   .add("states", states)
                   .add("trace_hash", fmt::format("{:016x}", replayed->trace.hash())));
    return kDone;
  }
  if (arguments.trace) print("{}", sim::text(replayed->trace, true));
  print("{} steps; every node reached the state that the script states\n", replayed->steps);
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < replayed->states.size(); ++i)
    numbers.push_back(std::to_string(i + 1));
  print_states(numbers, replayed->states);
  return kDone;
}

int show_trace(const ReplayArguments& arguments, const std::string& text) {
  const Result<sim::ReadTrace> read = sim::read_trace(text);
  if (!read) return bad_usage(fmt::format("{}: {}", arguments.file, read.error()));
  if (!arguments.diagram.empty() &&
      !show_diagram(
          read->trace,
          {.title = arguments.file,
           .subtitle = read->one_sided ? "Trace of one host: send times of other hosts and the "
                                         "delivery of its own messages are unknown."
                                       : "",
           .nodes = read->nodes,
           .names = read->names},
          arguments.diagram))
    return kBadUsage;
  const std::size_t happenings = read->trace.happenings().size();
  if (arguments.json) {
    Json names = Json::array();
    for (const std::string& name : read->names) names.push(name);
    Json states = Json::array();
    for (const std::string& state : read->states) states.push(state);
    print_json(Json::object()
                   .add("nodes", std::uint64_t{read->nodes})
                   .add("happenings", std::uint64_t{happenings})
                   .add("names", names)
                   .add("states", states)
                   .add("trace_hash", fmt::format("{:016x}", read->trace.hash())));
    return kDone;
  }
  if (arguments.trace) print("{}", sim::text(read->trace, true));
  if (arguments.diagram == "-") return kDone;
  print("{} events of {} nodes; final states\n", report::grouped(happenings), read->nodes);
  print_states(read->names, read->states);
  return kDone;
}

}  // namespace

int sim_replay(const ReplayArguments& arguments) {
  if (const auto conflict = json_conflict(arguments.json, arguments.trace, arguments.diagram))
    return bad_usage(*conflict);
  const Result<std::string> text = text_of(arguments.file);
  if (!text) return bad_usage(text.error());
  return sim::looks_like_trace(*text) ? show_trace(arguments, *text)
                                      : replay_script(arguments, *text);
}

}  // namespace tempo::cli
