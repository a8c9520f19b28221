#include "lab/cli/play.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "lab/sim/trace.h"
#include "lab/studies/election/scenario.h"

namespace tempo::cli {
namespace {

using sim::Happening;
using sim::What;
using sim::election::Act;
using sim::election::Experiment;
using sim::election::Outcome;
using sim::election::Scenario;
using sim::election::Setup;

// One thing worth telling, and the picture after it.
struct Scene {
  Instant at;
  std::string told;
  bool important = false;           // the show lingers here
  std::vector<std::string> states;  // of every node, after it
};

std::string in_words(std::string_view message) {
  if (message == "masterreq") return "asks all: is there a master?";
  if (message == "masterack") return "answers: I am the master";
  if (message == "masterup") return "tells all: I am the new master";
  if (message == "slaveup") return "reports: I follow you";
  if (message == "election") return "tells all: I want to be master";
  if (message == "accept") return "accepts";
  if (message == "refuse") return "refuses";
  if (message == "quit") return "says: stop, I am master";
  return std::string(message);
}

std::string seconds_text(Instant at) {
  return fmt::format("{:8.4f} s", static_cast<double>(at.time_since_epoch().count()) / 1e9);
}

// The master dies some time after it has won; who it is shows in a first run with the same seed.
Experiment plan(const PlayArguments& arguments) {
  Setup setup{.nodes = arguments.nodes,
              .rules = {.timing = *tempo::election::profile("lan"), .repeats = 0},
              .seed = arguments.seed};
  Experiment experiment = *plan_of(Scenario::start, setup, 0s);
  const Outcome first = run(experiment);
  const Instant death = Instant{} + first.time_to_master + 2100ms;
  experiment.plan.push_back({.at = death, .act = Act::crash, .node = first.final_masters.front()});
  experiment.peace_from = death;
  experiment.limit = death + 60s;
  return experiment;
}

std::vector<Scene> scenes_of(const sim::Trace& trace, std::uint32_t nodes) {
  std::vector<Scene> scenes;
  std::vector<std::string> states(nodes, "down");
  for (const Happening& happening : trace.happenings()) {
    const std::uint32_t node = happening.node == kNobody ? 0 : index(happening.node) + 1;
    const std::string to = happening.peer == kNobody
                               ? std::string{}
                               : fmt::format(" ({} -> {})", node, index(happening.peer) + 1);
    Scene scene{.at = happening.at, .told = {}, .states = {}};
    switch (happening.what) {
      case What::becomes:
        states[node - 1] = happening.label;
        scene.told = fmt::format("node {} becomes {}", node, happening.label);
        scene.important = happening.label == "master" || happening.label == "candidate";
        break;
      case What::sent:
        // The beacon and the corrections are the steady state; the story is in the rest.
        if (happening.label == "loop" || happening.label == "adjtime" ||
            happening.label == "settime" || happening.label == "ack")
          continue;
        scene.told = fmt::format("node {} {}{}", node, in_words(happening.label), to);
        break;
      case What::disturbed:
        if (happening.label == "crashes")
          states[node - 1] = "dead";
        else if (happening.label != "starts")
          continue;
        scene.told =
            fmt::format("node {} {}", node, happening.label == "crashes" ? "dies" : "starts");
        scene.important = happening.label == "crashes";
        break;
      case What::received:
      case What::lost:
        continue;
    }
    scene.states = states;
    scenes.push_back(std::move(scene));
  }
  return scenes;
}

std::string colour_of(const std::string& state) {
  if (state == "master") return "\x1b[1;32m";
  if (state == "candidate") return "\x1b[1;33m";
  if (state == "accept") return "\x1b[36m";
  if (state == "slave") return "\x1b[34m";
  if (state == "dead") return "\x1b[31m";
  return "\x1b[90m";
}

constexpr std::size_t kFeed = 10;  // lines of story on the screen

void draw(const Scene& scene, const std::deque<std::string>& feed, bool first) {
  const std::size_t height = scene.states.size() + kFeed + 4;
  std::string out;
  if (!first) out += fmt::format("\x1b[{}A", height);
  out += fmt::format("\x1b[K  time {}\n\x1b[K\n", seconds_text(scene.at));
  for (std::size_t i = 0; i < scene.states.size(); ++i) {
    const std::string& state = scene.states[i];
    const char* mark = state == "master" ? "★" : state == "dead" || state == "down" ? "✕" : "●";
    out += fmt::format("\x1b[K    {}{} node {}  {}\x1b[0m\n", colour_of(state), mark, i + 1, state);
  }
  out += "\x1b[K\n\x1b[K  what happens\n";
  for (std::size_t i = 0; i < kFeed; ++i)
    out += fmt::format("\x1b[K    {}\n", i < feed.size() ? feed[i] : std::string{});
  fmt::print("{}", out);
  std::fflush(stdout);
}

void animate(const std::vector<Scene>& scenes, double seconds) {
  double weight = 0;
  for (const Scene& scene : scenes) weight += scene.important ? 6 : 1;
  std::deque<std::string> feed;
  bool first = true;
  for (const Scene& scene : scenes) {
    if (interrupted()) return;
    feed.push_back(fmt::format("{}  {}", seconds_text(scene.at), scene.told));
    if (feed.size() > kFeed) feed.pop_front();
    draw(scene, feed, first);
    first = false;
    std::this_thread::sleep_for(
        std::chrono::duration<double>(seconds * (scene.important ? 6 : 1) / weight));
  }
}

}  // namespace

int play(const PlayArguments& arguments) {
  if (arguments.nodes < 3 || arguments.nodes > 20) {
    fmt::print(stderr, "tempo: play shows 3 to 20 nodes, not {}; for more use tempo sim election\n",
               arguments.nodes);
    return kBadUsage;
  }
  const Experiment experiment = plan(arguments);
  sim::Trace trace(true);
  const Outcome outcome = run(experiment, &trace);
  std::vector<Scene> scenes = scenes_of(trace, arguments.nodes);

  fmt::print(
      "An election among {} machines, simulated with the code that the daemon runs (seed {}).\n\n",
      arguments.nodes, arguments.seed);
  const InterruptGuard guard;
  if (arguments.plain || !stdout_is_terminal() || !stdout_shows_unicode()) {
    for (const Scene& scene : scenes) fmt::print("{}  {}\n", seconds_text(scene.at), scene.told);
  } else {
    animate(scenes, arguments.seconds);
  }
  if (interrupted()) return kInterrupted;
  if (outcome.final_masters.size() != 1) {
    fmt::print(stderr, "tempo: the election did not end with one master\n");
    return kViolation;
  }
  fmt::print(
      "\nNode {} is master; the old one is gone and nobody had to do anything.\n\n"
      "What to try next:\n"
      "  tempo sim election --scenario master-crash --nodes 7 --diagram election.html\n"
      "      the same, as a picture of every message\n"
      "  tempo sim election --scenario churn --nodes 7 --loss 0.1 --runs 1000\n"
      "      a thousand bad days, and every promise checked\n"
      "  tempo sim election --scenario two-candidates --nodes 5 --diagram -\n"
      "      two stand at once, drawn in the terminal\n"
      "  tempo sim election --help\n",
      index(outcome.final_masters.front()) + 1);
  return kDone;
}

}  // namespace tempo::cli
