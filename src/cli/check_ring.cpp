#include "cli/check_ring.h"

#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/json/json.h"
#include "base/result.h"
#include "cli/check_search.h"
#include "cli/terminal.h"
#include "lab/check/ring/ring_models.h"
#include "lab/report/table.h"
#include "lab/report/words.h"

namespace tempo::cli {
namespace {

using check::Finding;
using check::Happening;
using check::Move;

constexpr std::uint32_t kMostStations = 5;
constexpr std::uint32_t kMostOfOneFault = 4;
constexpr std::uint32_t kMostElections = 4;  // numbers looked at

std::string timer_name(const election::RingElection&, std::uint32_t /*timer*/) { return "link"; }
std::string timer_name(const election::AnonymousRingElection&, std::uint32_t timer) {
  return timer == 0 ? "clock" : "link";
}

// One step in words.
template <class Model>
std::string text_of(const check::Space<Model>& space, const Move& move) {
  const auto& parts = space.parts();
  const std::string who = move.node == kNobody ? "" : fmt::format("{}", index(move.node) + 1);
  std::string text;
  switch (move.what) {
    case Happening::start:
      text = who + " starts";
      break;
    case Happening::deliver:
      text = fmt::format("{}->{} {} arrives", index(parts.flight(move.detail).from) + 1, who,
                         name_of(parts.message(move.detail)));
      break;
    case Happening::wake:
      text = fmt::format("{}'s {} timer fires", who,
                         timer_name(parts.machine(parts.outcome(move.outcome).local), move.detail));
      break;
    case Happening::command:
      text = who + " wakes up";
      break;
    case Happening::tick:
      return fmt::format("{} tick{}", move.detail, move.detail == 1 ? "" : "s");
    case Happening::crash:
      return who + " crashes";
    case Happening::miss:
      return fmt::format("{}->{} {} comes too early", index(parts.flight(move.detail).from) + 1,
                         who, name_of(parts.message(move.detail)));
    default:
      return who + " rests";
  }
  for (const std::uint32_t drawn : parts.draws(parts.outcome(move.outcome)))
    text += fmt::format(", draws {}", drawn + 1);
  for (unsigned i = 0; i < 64; ++i) {
    if ((move.lost >> i & 1) != 0) text += fmt::format(", message {} is lost", i + 1);
    if ((move.twice >> i & 1) != 0) text += fmt::format(", message {} goes twice", i + 1);
  }
  return text +
         fmt::format(" = {}", name_of(parts.machine(parts.outcome(move.outcome).local).state()));
}

template <class Model>
std::vector<std::string> texts_of(const check::Space<Model>& space,
                                  const std::vector<Move>& moves) {
  std::vector<std::string> texts;
  for (const Move& move : moves) texts.push_back(text_of(space, move));
  return texts;
}

// What was found, in words.
struct Answer {
  Finding finding;
  std::vector<std::string> stem{};
  std::vector<std::string> cycle{};
};

template <class Model>
Answer answer_of(const Model& model, const check::Freedom& freedom,
                 const typename Model::Machine::Command& wake,
                 const CheckRingArguments& arguments) {
  const std::uint32_t wakers = arguments.wakers == 0 ? freedom.nodes : arguments.wakers;
  std::vector<std::pair<NodeId, typename Model::Machine::Command>> commands;
  for (std::uint32_t i = 0; i < wakers; ++i) commands.emplace_back(NodeId{i}, wake);
  check::Space<Model> space(model, freedom, commands);
  Answer answer{.finding = searched(space, {.threads = arguments.threads})};
  if (answer.finding.violation) {
    answer.stem = texts_of(space, answer.finding.violation->stem);
    answer.cycle = texts_of(space, answer.finding.violation->cycle);
  }
  return answer;
}

std::vector<std::string> assumptions(const CheckRingArguments& arguments) {
  std::vector<std::string> list{
      "time goes in whole ticks, the same for all; every delay is a whole number of them within "
      "the bounds",
      "timers fire in the tick in which they are due",
      arguments.wakers == 0
          ? "each station may wake up at any time, or be woken by a message"
          : fmt::format("the first {} may wake up at any time, the others by a message",
                        arguments.wakers)};
  if (arguments.losses + arguments.duplicates + arguments.crashes == 0)
    list.emplace_back("each link keeps the order of its messages");
  else
    list.emplace_back("datagrams arrive in any order");
  if (arguments.kind == "equitable")
    list.push_back(
        fmt::format("what comes after election number {} is taken to end well", kMostElections));
  else
    list.emplace_back("all stations are equally fast");
  list.emplace_back(
      "can-always-come-good asks for a way without further faults, not that every "
      "way is taken");
  return list;
}

Result<void> understand(const CheckRingArguments& arguments) {
  if (arguments.kind != "equitable" && arguments.kind != "anonymous")
    return std::unexpected(
        fmt::format("--kind is equitable or anonymous, not '{}'", arguments.kind));
  if (arguments.stations < 2 || arguments.stations > kMostStations)
    return std::unexpected(
        fmt::format("--stations must be from 2 to {}, not {}", kMostStations, arguments.stations));
  if (arguments.range < 2 || arguments.range > 8)
    return std::unexpected(fmt::format("--range must be from 2 to 8, not {}", arguments.range));
  if (arguments.stages < 1 || arguments.stages > 8)
    return std::unexpected(fmt::format("--stages must be from 1 to 8, not {}", arguments.stages));
  if (arguments.delay < 1 || arguments.delay > 4)
    return std::unexpected(
        fmt::format("--delay must be from 1 to 4 ticks, not {}", arguments.delay));
  for (const std::uint32_t count : {arguments.losses, arguments.duplicates, arguments.crashes})
    if (count > kMostOfOneFault)
      return std::unexpected(
          fmt::format("at most {} faults of one kind can be checked", kMostOfOneFault));
  if (arguments.crashes >= arguments.stations)
    return std::unexpected("--crashes must be below --stations: somebody has to be left");
  if (arguments.wakers > arguments.stations)
    return std::unexpected(
        fmt::format("--wakers must be at most --stations, not {}", arguments.wakers));
  if (arguments.threads > 2) return std::unexpected("--threads is 1 or 2");
  const bool equitable = arguments.kind == "equitable";
  const std::string& variant = arguments.variant;
  const bool known =
      variant.empty() ||
      (equitable ? variant == "equitable" || variant == "ties-by-id" || variant == "highest-id"
                 : variant == "corrected" || variant == "printed-next-timer");
  if (!known)
    return std::unexpected(fmt::format(
        "--variant of the {} ring is {}, not '{}'", arguments.kind,
        equitable ? "equitable, ties-by-id or highest-id" : "corrected or printed-next-timer",
        variant));
  return {};
}

Answer answer_to(const CheckRingArguments& arguments) {
  const check::RingWorld world{
      .stations = arguments.stations,
      .delay_max = static_cast<std::uint8_t>(arguments.delay),
      .budget = {.losses = static_cast<std::uint8_t>(arguments.losses),
                 .duplicates = static_cast<std::uint8_t>(arguments.duplicates),
                 .crashes = static_cast<std::uint8_t>(arguments.crashes)}};
  if (arguments.kind == "equitable") {
    using election::ring::Method;
    const Method method = arguments.variant == "ties-by-id"   ? Method::ties_by_id
                          : arguments.variant == "highest-id" ? Method::highest_id
                                                              : Method::equitable;
    const check::EquitableModel model{
        .rules = {.link = link_rules(world), .range = arguments.range, .method = method},
        .elections = kMostElections};
    return answer_of(model, freedom_of(world), election::ring::Command::wake, arguments);
  }
  const check::AnonymousModel model{
      .rules = anonymous_rules(world, arguments.stages, arguments.variant == "printed-next-timer")};
  return answer_of(model, freedom_of(world), election::anonymous::Command::wake, arguments);
}

Json lines_json(const std::vector<std::string>& lines) {
  Json list = Json::array();
  for (const std::string& line : lines) list.push(line);
  return list;
}

void print_json(const CheckRingArguments& arguments, const Answer& answer) {
  const Finding& finding = answer.finding;
  Json violations = Json::array();
  if (finding.violation)
    violations.push(Json::object()
                        .add("property", finding.violation->promise)
                        .add("steps", std::uint64_t{answer.stem.size()})
                        .add("cycle", std::uint64_t{answer.cycle.size()})
                        .add("stem_steps", lines_json(answer.stem))
                        .add("cycle_steps", lines_json(answer.cycle)));
  Json json = Json::object();
  json.add("states", finding.states)
      .add("transitions", finding.transitions)
      .add("depth", std::uint64_t{finding.depth})
      .add("seconds", finding.seconds)
      .add("states_per_second", states_per_second(finding))
      .add("complete", finding.complete);
  if (!finding.stopped.empty()) json.add("stopped", finding.stopped);
  fmt::print("{}", json.add("assumptions", lines_json(assumptions(arguments)))
                       .add("violations", violations)
                       .text());
}

void print_text(const CheckRingArguments& arguments, const Answer& answer) {
  const Finding& finding = answer.finding;
  report::Table table({"what", {"value", report::Align::right}});
  table.row({"states", report::grouped(finding.states)});
  table.row({"transitions", report::grouped(finding.transitions)});
  table.row({"longest shortest way", fmt::format("{} steps", finding.depth)});
  table.row({"seconds", fmt::format("{:.2f}", finding.seconds)});
  table.row({"states/s", report::grouped(static_cast<std::uint64_t>(states_per_second(finding)))});
  fmt::print("{}\nassuming that\n", table.text({.unicode = stdout_shows_unicode()}));
  for (const std::string& line : assumptions(arguments)) fmt::print("  - {}\n", line);
  if (finding.violation) {
    fmt::print("\n{} is broken:\n\n", finding.violation->promise);
    for (const std::string& line : answer.stem) fmt::print("  {}\n", line);
    if (!answer.cycle.empty()) fmt::print("\nand from there in a circle:\n\n");
    for (const std::string& line : answer.cycle) fmt::print("  {}\n", line);
  } else if (finding.complete) {
    fmt::print("\nEvery reachable state was seen. {}\n",
               arguments.kind == "equitable"
                   ? "No election has two leaders, and from every state the ring can still come to "
                     "have one\nleader that all who live follow."
                   : "Nobody who alone drew 1 gives up, and from every state the ring can still "
                     "come to an end.");
  } else {
    fmt::print("\nNot complete: {}. Nothing broken among the states seen.\n", finding.stopped);
  }
}

}  // namespace

int check_ring(const CheckRingArguments& arguments) {
  if (const Result<void> understood = understand(arguments); !understood)
    return refuse_check(understood.error());
  const Answer answer = answer_to(arguments);
  arguments.json ? print_json(arguments, answer) : print_text(arguments, answer);
  return status_of(answer.finding);
}

}  // namespace tempo::cli
