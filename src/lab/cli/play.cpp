#include "lab/cli/play.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "base/json.h"
#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "lab/cli/output.h"
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

// One event of the story, and the states after it.
struct Scene {
  Instant at;
  std::string text;
  Json event = Json::object();      // for --json
  bool important = false;           // the animation lingers here
  std::vector<std::string> states;  // of every node
};

std::string message_text(std::string_view message) {
  if (message == "masterreq") return "asks all: is there a master?";
  if (message == "masterack") return "answers: I am the master";
  if (message == "masterup") return "announces to all: I am the new master";
  if (message == "slaveup") return "reports: I follow you";
  if (message == "election") return "announces to all: I want to be master";
  if (message == "accept") return "accepts";
  if (message == "refuse") return "refuses";
  if (message == "quit") return "says: stop, I am master";
  return std::string(message);
}

// The traces have the paper's word for a follower.
std::string state_text(std::string_view state) {
  return std::string(state == "slave" ? "follower" : state);
}

double seconds_of(Instant at) { return static_cast<double>(at.time_since_epoch().count()) / 1e9; }

std::string seconds_text(Instant at) { return fmt::format("{:8.4f} s", seconds_of(at)); }

// The master crashes some time after its election; a first run with the same seed shows which node
// that is.
Experiment plan(const PlayArguments& arguments) {
  Setup setup{.nodes = arguments.nodes,
              .rules = {.timing = *tempo::election::profile("lan"), .repeats = 0},
              .seed = arguments.seed};
  Experiment experiment = *plan_of(Scenario::start, setup, 0s);
  const Outcome first = run(experiment);
  const Instant crash = Instant{} + first.time_to_master + 2100ms;
  experiment.plan.push_back({.at = crash, .act = Act::crash, .node = first.final_masters.front()});
  experiment.peace_from = crash;
  experiment.limit = crash + 60s;
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
    Scene scene{.at = happening.at, .text = {}, .states = {}};
    const auto event = [&](const char* kind) {
      return Json::object()
          .add("at_s", seconds_of(happening.at))
          .add("event", kind)
          .add("node", std::uint64_t{node});
    };
    switch (happening.what) {
      case What::becomes:
        states[node - 1] = state_text(happening.label);
        scene.text = fmt::format("node {} becomes {}", node, states[node - 1]);
        scene.event = event("state").add("state", states[node - 1]);
        scene.important = happening.label == "master" || happening.label == "candidate";
        break;
      case What::sent:
        // Beacons and corrections are the steady state and are left out.
        if (happening.label == "loop" || happening.label == "adjtime" ||
            happening.label == "settime" || happening.label == "ack")
          continue;
        scene.text = fmt::format("node {} {}{}", node, message_text(happening.label), to);
        scene.event = event("message").add("message", happening.label);
        if (happening.peer != kNobody)
          scene.event.add("to", std::uint64_t{index(happening.peer) + 1});
        break;
      case What::disturbed:
        if (happening.label == "crashes")
          states[node - 1] = "crashed";
        else if (happening.label != "starts")
          continue;
        scene.text = fmt::format("node {} {}", node, happening.label);
        scene.event = event(happening.label == "crashes" ? "crash" : "start");
        scene.important = happening.label == "crashes";
        break;
      case What::received:
      case What::lost:
        continue;
    }
    scene.event.add("text", scene.text);
    scene.states = states;
    scenes.push_back(std::move(scene));
  }
  return scenes;
}

std::string colour_of(const std::string& state) {
  if (state == "master") return "\x1b[1;32m";
  if (state == "candidate") return "\x1b[1;33m";
  if (state == "accept") return "\x1b[36m";
  if (state == "follower") return "\x1b[34m";
  if (state == "crashed") return "\x1b[31m";
  return "\x1b[90m";
}

constexpr std::size_t kFeed = 10;  // lines of events on the screen

void draw(const Scene& scene, const std::deque<std::string>& feed, bool first) {
  const std::size_t height = scene.states.size() + kFeed + 4;
  std::string out;
  if (!first) out += fmt::format("\x1b[{}A", height);
  out += fmt::format("\x1b[K  time {}\n\x1b[K\n", seconds_text(scene.at));
  for (std::size_t i = 0; i < scene.states.size(); ++i) {
    const std::string& state = scene.states[i];
    const char* mark = state == "master" ? "★" : state == "crashed" || state == "down" ? "✕" : "●";
    out += fmt::format("\x1b[K    {}{} node {}  {}\x1b[0m\n", colour_of(state), mark, i + 1, state);
  }
  out += "\x1b[K\n\x1b[K  events\n";
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
    feed.push_back(fmt::format("{}  {}", seconds_text(scene.at), scene.text));
    if (feed.size() > kFeed) feed.pop_front();
    draw(scene, feed, first);
    first = false;
    std::this_thread::sleep_for(
        std::chrono::duration<double>(seconds * (scene.important ? 6 : 1) / weight));
  }
}

}  // namespace

int play(const PlayArguments& arguments) {
  if (arguments.nodes < 3 || arguments.nodes > 20)
    return bad_usage(
        fmt::format("--nodes must be from 3 to 20, not {}; 'tempo-lab sim election' simulates more",
                    arguments.nodes));
  const Experiment experiment = plan(arguments);
  sim::Trace trace(true);
  const Outcome outcome = run(experiment, &trace);
  const std::vector<Scene> scenes = scenes_of(trace, arguments.nodes);
  const InterruptGuard guard;
  if (arguments.json) {
    for (const Scene& scene : scenes) print_json_line(scene.event);
  } else {
    print("An election among {} nodes, simulated with the election code of tempod (seed {}).\n\n",
          arguments.nodes, arguments.seed);
    if (arguments.plain || !stdout_is_terminal() || !stdout_shows_unicode())
      for (const Scene& scene : scenes) print("{}  {}\n", seconds_text(scene.at), scene.text);
    else
      animate(scenes, arguments.seconds);
  }
  if (interrupted()) {
    print_error("tempo-lab: interrupted\n");
    return kInterrupted;
  }
  if (outcome.final_masters.size() != 1) {
    print_error("tempo-lab: the election did not end with one master\n");
    return kViolation;
  }
  const std::uint64_t master = index(outcome.final_masters.front()) + 1;
  if (arguments.json) {
    print_json_line(Json::object().add("event", "end").add("master", master));
    return kDone;
  }
  print(
      "\nNode {} is the new master; no operator had to act.\n\n"
      "Try next:\n"
      "  tempo-lab sim election --scenario master-crash --nodes 7 --diagram election.html\n"
      "      a diagram of every message\n"
      "  tempo-lab sim election --scenario churn --nodes 7 --loss 0.1 --runs 1000\n"
      "      a thousand runs with faults; every property is checked\n"
      "  tempo-lab sim election --scenario two-candidates --nodes 5 --diagram -\n"
      "      two candidates at once, drawn in the terminal\n"
      "  tempo-lab sim election --help\n",
      master);
  return kDone;
}

}  // namespace tempo::cli
