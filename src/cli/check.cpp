#include "cli/check.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "base/json/json.h"
#include "base/result.h"
#include "cli/check_explore.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "lab/check/core_model.h"
#include "lab/check/election/election_model.h"
#include "lab/check/election/replay.h"
#include "lab/check/explore.h"
#include "lab/report/progress.h"
#include "lab/report/table.h"
#include "lab/report/words.h"

namespace tempo::cli {
namespace {

using check::Budget;
using check::Finding;

constexpr std::size_t kLeastMemory = std::size_t{1} << 20;
constexpr std::uint32_t kMostOfOneFault = 20;
constexpr std::uint32_t kUsualStagger = 16;  // ticks: the first is master before the next starts
constexpr std::uint32_t kMostTicks = 200;

int refuse(const std::string& why) {
  fmt::print(stderr, "tempo check: {}\n", why);
  return kBadUsage;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "512M", "4G".
Result<std::size_t> bytes_of(const std::string& text) {
  const std::size_t last = text.empty() ? 0 : text.size() - 1;
  const char unit = text.empty() ? ' ' : text[last];
  const unsigned shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
  const auto value = number(std::string_view{text}.substr(0, shift == 0 ? text.size() : last));
  if (!value || *value > (std::uint64_t{1} << 40 >> shift) || *value << shift < kLeastMemory)
    return std::unexpected(
        fmt::format("--memory '{}' is not an amount from 1M on; say 512M or 4G", text));
  return static_cast<std::size_t>(*value << shift);
}

Result<std::vector<std::uint32_t>> list_of(std::string_view text, const char* option) {
  std::vector<std::uint32_t> list;
  for (std::string_view rest = text;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto value = number(rest.substr(0, comma));
    if (!value || *value > kMostTicks)
      return std::unexpected(
          fmt::format("{} is a list of numbers up to {} separated by commas, "
                      "not '{}'",
                      option, kMostTicks, text));
    list.push_back(static_cast<std::uint32_t>(*value));
    if (comma == rest.size()) return list;
    rest.remove_prefix(comma + 1);
  }
}

// The arguments, understood.
struct Order {
  check::Freedom freedom;
  check::ElectionModel model;
  std::size_t memory = 0;
};

Result<void> understand_delay(const std::string& text, check::Freedom& freedom) {
  const std::size_t dots = text.find("..");
  const auto low = number(std::string_view{text}.substr(0, dots));
  const auto high =
      dots == std::string::npos ? low : number(std::string_view{text}.substr(dots + 2));
  if (!low || !high || *low < 1 || *high < *low || *high > 20)
    return std::unexpected(
        fmt::format("--delay '{}' is not a range of ticks from 1 to 20, such as 1..2", text));
  freedom.delay_min = static_cast<std::uint8_t>(*low);
  freedom.delay_max = static_cast<std::uint8_t>(*high);
  return {};
}

Result<void> understand_beginning(const CheckElectionArguments& arguments, Order& order) {
  check::Freedom& freedom = order.freedom;
  if (arguments.starts.empty()) {
    for (std::uint32_t i = 0; i < freedom.nodes; ++i)
      freedom.starts[i] = static_cast<std::uint8_t>(i * kUsualStagger);
  } else {
    TRY(starts, list_of(arguments.starts, "--starts"));
    if (starts.size() != freedom.nodes)
      return std::unexpected(
          fmt::format("--starts needs a tick for each of the {} nodes", freedom.nodes));
    for (std::uint32_t i = 0; i < freedom.nodes; ++i)
      freedom.starts[i] = static_cast<std::uint8_t>(starts[i]);
  }
  if (arguments.cut.empty() != (arguments.cut_until == 0))
    return std::unexpected("--cut and --cut-until belong together");
  if (arguments.cut_until > kMostTicks)
    return std::unexpected(fmt::format("--cut-until is at most {}", kMostTicks));
  if (arguments.cut.empty()) return {};
  TRY(side, list_of(arguments.cut, "--cut"));
  for (const std::uint32_t node : side) {
    if (node < 1 || node > freedom.nodes)
      return std::unexpected(
          fmt::format("--cut names nodes from 1 to {}, not {}", freedom.nodes, node));
    freedom.side |= static_cast<std::uint8_t>(1U << (node - 1));
  }
  freedom.cut_until = static_cast<std::uint8_t>(arguments.cut_until);
  order.model.parted = true;
  return {};
}

Result<Order> understand(const CheckElectionArguments& arguments) {
  Order order;
  TRY(variant, election::parse_variant(arguments.variant));
  TRY(memory, bytes_of(arguments.memory));
  order.memory = memory;
  if (arguments.profile != "tiny")
    return std::unexpected(fmt::format(
        "a check needs times in ticks; the profile is tiny, not '{}'", arguments.profile));
  if (arguments.nodes < 1 || arguments.nodes > check::kMostNodes)
    return std::unexpected(
        fmt::format("--nodes must be from 1 to {}, not {}", check::kMostNodes, arguments.nodes));
  order.freedom.nodes = arguments.nodes;
  for (const std::uint32_t count : {arguments.losses, arguments.duplicates, arguments.crashes,
                                    arguments.restarts, arguments.pauses})
    if (count > kMostOfOneFault)
      return std::unexpected(
          fmt::format("at most {} faults of one kind can be checked", kMostOfOneFault));
  if (arguments.restarts > 0 && arguments.crashes == 0)
    return std::unexpected("a node restarts after a crash: --restarts needs --crashes");
  order.freedom.budget = {.losses = static_cast<std::uint8_t>(arguments.losses),
                          .duplicates = static_cast<std::uint8_t>(arguments.duplicates),
                          .crashes = static_cast<std::uint8_t>(arguments.crashes),
                          .restarts = static_cast<std::uint8_t>(arguments.restarts),
                          .pauses = static_cast<std::uint8_t>(arguments.pauses)};
  if (arguments.timing == "free")
    order.freedom.timing = check::Timing::free;
  else if (arguments.timing != "bounded")
    return std::unexpected(fmt::format("--timing is bounded or free, not '{}'", arguments.timing));
  if (arguments.network == "fifo")
    order.freedom.network = check::Network::fifo;
  else if (arguments.network == "set")
    order.freedom.network = check::Network::set;
  else if (arguments.network == "ordered")
    order.freedom.network = check::Network::ordered;
  else if (arguments.network != "bag")
    return std::unexpected(
        fmt::format("--network is bag, fifo, set or ordered, not '{}'", arguments.network));
  if (arguments.threads > 2) return std::unexpected("--threads is 1 or 2");
  if (arguments.candidacies < 1 || arguments.candidacies > 3)
    return std::unexpected("--candidacies must be from 1 to 3");
  if (order.freedom.timing == check::Timing::free &&
      (!arguments.starts.empty() || !arguments.cut.empty()))
    return std::unexpected("free timing has no ticks: leave out --starts and --cut");
  order.model.rules = check::tiny_rules(variant);
  order.model.candidacies = arguments.candidacies;
  order.model.timed = order.freedom.timing == check::Timing::bounded;
  if (const Result<void> done = understand_delay(arguments.delay, order.freedom); !done)
    return std::unexpected(done.error());
  if (order.freedom.timing == check::Timing::bounded)
    if (const Result<void> done = understand_beginning(arguments, order); !done)
      return std::unexpected(done.error());
  return order;
}

std::vector<std::string> assumptions(const Order& order) {
  const check::Freedom& freedom = order.freedom;
  std::vector<std::string> list;
  if (freedom.timing == check::Timing::bounded) {
    list.emplace_back(
        "time goes in whole ticks, the same for all; every delay is a whole number of them "
        "within the bounds");
    list.emplace_back("timers fire in the tick in which they are due");
    std::string starts;
    for (std::uint32_t i = 0; i < freedom.nodes; ++i)
      starts += fmt::format("{}{}", i == 0 ? "" : ", ", freedom.starts[i]);
    list.push_back(fmt::format("the nodes start in ticks {}", starts));
  } else {
    list.emplace_back(
        "time is not looked at: any timer that is set may fire, and every other deadline counts as "
        "passed");
  }
  list.push_back(fmt::format(
      "each node stands for election at most {} {}; what comes later is taken to end well",
      order.model.candidacies, order.model.candidacies == 1 ? "time" : "times"));
  list.emplace_back("what becomes of a message is decided when it is sent");
  if (freedom.network == check::Network::ordered)
    list.emplace_back("broadcasts arrive everywhere in the order of sending");
  if (freedom.network == check::Network::set)
    list.emplace_back("equal messages sent in one tick on one link are one");
  if (freedom.budget.pauses != 0)
    list.emplace_back("a pause of more than 40 ticks counts as one of 40");
  if (freedom.cut_until != 0)
    list.push_back(
        fmt::format("nothing passes between the two parts before tick {}", freedom.cut_until));
  list.emplace_back(
      "can-always-come-good asks for a way without further faults, not that every way is taken");
  return list;
}

// Runs a search with a line of progress; Ctrl-C ends it and leaves what was found.
template <class Model>
Finding searched(check::Space<Model>& space, std::size_t memory, std::uint32_t threads) {
  const InterruptGuard guard;
  report::Progress progress({.what = "states", .unit = "states"}, steady_now,
                            report::stderr_terminal());
  std::uint64_t shown = 0;
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, 2U);
  check::Search<Model> search(space, {.memory = memory,
                                      .threads = threads == 0 ? cores : threads,
                                      .progress = [&](const check::Progress& at) {
                                        progress.add(at.states - shown);
                                        shown = at.states;
                                        progress.draw();
                                        return !interrupted();
                                      }});
  Finding finding = search.run();
  progress.finish();
  return finding;
}

double per_second(const Finding& finding) {
  return static_cast<double>(finding.states) / std::max(finding.seconds, 1e-9);
}
double bytes_per_state(const Finding& finding) {
  return finding.states == 0
             ? 0.0
             : static_cast<double>(finding.bytes) / static_cast<double>(finding.states);
}

Json json_of(const Finding& finding) {
  Json json = Json::object();
  json.add("states", finding.states)
      .add("transitions", finding.transitions)
      .add("depth", std::uint64_t{finding.depth})
      .add("seconds", finding.seconds)
      .add("states_per_second", per_second(finding))
      .add("bytes_per_state", bytes_per_state(finding))
      .add("complete", finding.complete);
  if (!finding.stopped.empty()) json.add("stopped", finding.stopped);
  return json;
}

void print(const Finding& finding) {
  report::Table table({"what", {"value", report::Align::right}});
  table.row({"states", report::grouped(finding.states)});
  table.row({"transitions", report::grouped(finding.transitions)});
  table.row({"longest shortest way", fmt::format("{} steps", finding.depth)});
  table.row({"seconds", fmt::format("{:.2f}", finding.seconds)});
  table.row({"states/s", report::grouped(static_cast<std::uint64_t>(per_second(finding)))});
  table.row({"bytes/state", fmt::format("{:.1f}", bytes_per_state(finding))});
  fmt::print("{}", table.text({.unicode = stdout_shows_unicode()}));
}

int status_of(const Finding& finding) {
  if (finding.violation) return kBrokenPromise;
  return finding.stopped == "interrupted" ? kInterrupted : kDone;
}

int report_election(const CheckElectionArguments& arguments, const Order& order,
                    check::Space<check::ElectionModel>& space, const Finding& finding) {
  std::string script;
  if (finding.violation) {
    std::vector<check::Move> way = finding.violation->stem;
    way.insert(way.end(), finding.violation->cycle.begin(), finding.violation->cycle.end());
    std::string story = finding.violation->promise + " is broken";
    if (!finding.violation->cycle.empty())
      story +=
          fmt::format("; from step {} on it goes in a circle", finding.violation->stem.size() + 1);
    script = check::replay_script(space, way, story);
  }
  if (!script.empty() && !arguments.replay.empty() && !write_file(arguments.replay, script))
    return kBadUsage;
  if (!script.empty() && !arguments.diagram.empty()) {
    const Result<check::Replayed> replayed = check::replay(script);
    if (!replayed) return refuse("the finding cannot be played: " + replayed.error());
    if (!show_diagram(
            replayed->trace,
            {.title = finding.violation->promise + " is broken", .nodes = replayed->nodes},
            arguments.diagram))
      return kBadUsage;
  }
  if (arguments.json) {
    Json words = Json::array();
    for (const std::string& line : assumptions(order)) words.push(line);
    Json violations = Json::array();
    if (finding.violation)
      violations.push(Json::object()
                          .add("property", finding.violation->promise)
                          .add("steps", std::uint64_t{finding.violation->stem.size()})
                          .add("cycle", std::uint64_t{finding.violation->cycle.size()})
                          .add("replay", script));
    fmt::print("{}",
               json_of(finding).add("assumptions", words).add("violations", violations).text());
    return status_of(finding);
  }
  print(finding);
  fmt::print("\nassuming that\n");
  for (const std::string& line : assumptions(order)) fmt::print("  - {}\n", line);
  if (finding.violation)
    fmt::print("\n{} is broken, after {} steps and no fewer:\n\n{}\n", finding.violation->promise,
               finding.violation->stem.size(), script);
  else if (finding.complete)
    fmt::print(
        "\nEvery reachable state was seen. obeys-newest, conservative, sole-candidate-wins and\n"
        "always-led hold where they are promised, there is no dead end, and from every state the\n"
        "network can still come to have one master that all follow.\n");
  else
    fmt::print("\nNot complete: {}. Nothing broken among the states seen.\n", finding.stopped);
  if (finding.violation)
    fmt::print(
        "Play it again: tempo check election ... --replay FILE, then tempo sim replay FILE\n");
  return status_of(finding);
}

}  // namespace

int check_election(const CheckElectionArguments& arguments) {
  const Result<Order> order = understand(arguments);
  if (!order) return refuse(order.error());
  check::Space<check::ElectionModel> space(order->model, order->freedom);
  if (arguments.explore) return explore_by_hand(space);
  const Finding finding = searched(space, order->memory, arguments.threads);
  return report_election(arguments, *order, space, finding);
}

int check_core_model(const CheckCoreArguments& arguments) {
  const Result<std::size_t> memory = bytes_of(arguments.memory);
  if (!memory) return refuse(memory.error());
  if (arguments.nodes < 1 || arguments.nodes > check::kMostNodes)
    return refuse(fmt::format("--nodes must be from 1 to {}", check::kMostNodes));
  if (arguments.threads > 2) return refuse("--threads is 1 or 2");
  if (arguments.timeouts > 100 || arguments.capacity < 1 ||
      arguments.capacity * arguments.nodes > 64 / arguments.nodes)
    return refuse(
        "--timeouts is at most 100, --capacity at least 1, and all inboxes together hold "
        "at most 64 messages");
  const check::CoreModel model{arguments.timeouts};
  check::Space<check::CoreModel> space(
      model, check::core_freedom(arguments.nodes, arguments.capacity, arguments.symmetry));
  const Finding finding = searched(space, *memory, arguments.threads);
  if (arguments.json)
    fmt::print("{}", json_of(finding).text());
  else
    print(finding);
  if (!finding.complete && !arguments.json) fmt::print("\nNot complete: {}.\n", finding.stopped);
  return status_of(finding);
}

}  // namespace tempo::cli
