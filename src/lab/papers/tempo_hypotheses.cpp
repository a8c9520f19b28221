#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "lab/papers/check_trace.h"
#include "lab/papers/tempo_paper.h"

namespace tempo::papers {
namespace {

using election::Kind;
using election::Message;
using election::State;
using sim::election::Act;
using sim::election::Cluster;
using sim::election::Experiment;
using sim::election::Fault;
using sim::election::Setup;

constexpr NodeId kMaster{0};
constexpr NodeId kLiar{3};
constexpr std::uint32_t kNodes = 7;
constexpr Nanos kLong = 60s;  // any number of elections would fit in
constexpr Incarnation kNobodys{77};

// A network at peace under node 1, as printed.
class Scene {
 public:
  explicit Scene(std::uint64_t seed, std::vector<Ppb> rates = {}, std::uint32_t nodes = kNodes)
      : setup_(printed(seed, std::move(rates), nodes)),
        bounded_delay_(settled(setup_)),
        cluster_(setup_) {
    for (const Fault& fault : bounded_delay_.plan) cluster_.apply(fault);
  }

  Cluster& cluster() { return cluster_; }
  void pass(Nanos span) { cluster_.run_until(cluster_.now() + span); }
  void happen(Fault fault) {
    fault.at = cluster_.now();
    cluster_.apply(fault);
  }
  std::uint32_t masters() const { return cluster_.watches().reigns.count(); }
  const sim::Trace& trace() const { return cluster_.watches().tracer.trace(); }

 private:
  static Setup printed(std::uint64_t seed, std::vector<Ppb> rates, std::uint32_t nodes) {
    Setup setup = plain_setup("lan", nodes);
    setup.rules.variant = election::kAsPrinted;
    setup.seed = seed;
    setup.rates = std::move(rates);
    setup.keep_trace = true;
    return setup;
  }

  Setup setup_;
  Experiment bounded_delay_;
  Cluster cluster_;
};

// Each says whether what the algorithm is for went wrong.

bool messages_from_nowhere(std::uint64_t seed) {
  Scene scene(seed);
  scene.happen({.act = Act::crash, .node = kMaster});
  for (std::uint32_t i = 1; i <= 60; ++i) {
    scene.cluster().world().inject(
        kMaster, kNobody,
        {.kind = Kind::election, .incarnation = kNobodys, .sequence = Sequence{i}});
    scene.pass(900ms);
  }
  return scene.masters() == 0;
}

bool forged_quit(std::uint64_t seed) {
  Scene scene(seed);
  scene.cluster().world().inject(kLiar, kMaster,
                                 {.kind = Kind::quit,
                                  .incarnation = kNobodys,
                                  .sequence = Sequence{1000},
                                  .epoch = {0, kLiar, kNobodys}});
  scene.pass(10ms);
  return scene.masters() == 0;
}

// One Accept arrives as a Refuse.
bool undetected_error(std::uint64_t seed) {
  Scene scene(seed);
  scene.happen({.act = Act::crash, .node = kMaster});
  bool done = false;
  scene.cluster().world().set_corruption([done](NodeId, Message& message) mutable {
    if (done || message.kind != Kind::accept) return;
    message.kind = Kind::refuse;
    done = true;
  });
  scene.happen({.act = Act::stand, .node = NodeId{1}});
  scene.pass(2s);
  return scene.masters() == 0;
}

// Elections and Masterups reach only the half they come from; all else arrives.
bool no_broadcast(std::uint64_t seed) {
  Scene scene(seed);
  for (std::uint32_t from = 0; from < kNodes; ++from)
    for (std::uint32_t to = 0; to < kNodes; ++to)
      for (const Kind kind : {Kind::election, Kind::masterup})
        if ((from < kNodes / 2) != (to < kNodes / 2))
          scene.happen({.act = Act::lose,
                        .node = NodeId{from},
                        .peer = NodeId{to},
                        .kind = kind,
                        .any_kind = false});
  scene.happen({.act = Act::crash, .node = kMaster});
  scene.pass(kLong);
  return scene.masters() > 1;
}

// For so long that there is no room for what it should have heard meanwhile.
void pause_master(Scene& scene, Nanos lasts) {
  scene.happen({.act = Act::deaf, .node = kMaster, .lasts = lasts});
  scene.happen({.act = Act::pause, .node = kMaster, .lasts = lasts});
}

bool pause(std::uint64_t seed) {
  Scene scene(seed);
  pause_master(scene, 20s);
  scene.pass(kLong);
  return scene.masters() > 1;
}

// Accepts nobody, and never asks anybody.
bool byzantine(std::uint64_t seed) {
  Scene scene(seed);
  scene.happen({.act = Act::crash, .node = kMaster});
  scene.cluster().world().set_corruption([](NodeId from, Message& message) {
    if (from == kLiar && (message.kind == Kind::accept || message.kind == Kind::election))
      message.kind = Kind::refuse;
  });
  scene.pass(kLong);
  bool led = false;
  for (std::uint32_t i = 1; i < kNodes; ++i)
    led |=
        NodeId{i} != kLiar && scene.cluster().world().machine(NodeId{i}).state() == State::master;
  return !led;
}

// The clock of the only survivor shows a second in more than eight minutes.
bool clock_that_stands(std::uint64_t seed) {
  Scene scene(seed, {Ppb{0}, Ppb{-998'000'000}}, 2);
  scene.happen({.act = Act::crash, .node = kMaster});
  scene.pass(kLong);
  return scene.masters() == 0;
}

struct Hypothesis {
  const char* section;
  const char* broken;
  bool (*fails)(std::uint64_t seed);
};
constexpr std::array<Hypothesis, 7> kHypotheses{{
    {"3A", "messages come from nowhere (Elections of a dead machine): nobody is elected",
     messages_from_nowhere},
    {"3A", "a message is forged (Quit, in another's name): the master goes", forged_quit},
    {"3A",
     "an error is not detected (an Accept arrives as a Refuse): a candidate without rival "
     "is not elected",
     undetected_error},
    {"3A", "broadcasts do not reach all: two masters", no_broadcast},
    {"3B", "a master pauses and goes on later: two masters", pause},
    {"3B", "a machine lies (refuses whoever stands): nobody else is elected", byzantine},
    {"3B", "a clock all but stands: a dead master is not replaced within a minute",
     clock_that_stands},
}};

}  // namespace

Findings tempo_hypotheses(Workshop& workshop) {
  Findings findings;
  const std::uint64_t runs = workshop.runs(40);
  for (const Hypothesis& one : kHypotheses) {
    // Not bools: of these several share a byte, and threads write side by side.
    const auto failed = gathered(workshop, runs, [&](std::uint64_t number) -> char {
      return one.fails(workshop.seed() + number) ? '\1' : '\0';
    });
    findings.claims.push_back(happens(said_of_tempo(one.section, one.broken),
                                      static_cast<std::uint64_t>(std::ranges::count(failed, '\1')),
                                      failed.size()));
  }
  // With every hypothesis kept the same network does what it is for.
  Setup kept = plain_setup("lan", kNodes);
  kept.rules.variant = election::kAsPrinted;
  std::uint64_t wrong = 0;
  const auto outcomes =
      elections(workshop, sim::election::Scenario::master_crash, kept, workshop.runs(400));
  for (const sim::election::Outcome& outcome : outcomes)
    wrong += outcome.final_masters.size() == 1 && !outcome.ever_two_masters ? 0U : 1U;
  findings.claims.push_back(never(
      said_of_tempo("3", "with all of them kept, a master's crash leads to other than one master"),
      wrong, outcomes.size()));
  Scene scene(workshop.seed(), {}, 4);
  const Instant before = scene.cluster().now();
  pause_master(scene, 8s);
  scene.pass(12s);
  findings.diagrams.push_back(diagram_of(
      scene.trace(), "tempo-pause", "A master pauses, as printed",
      "Node 1 stands still; the others elect another. When it goes on there are two, and nothing "
      "tells them.",
      {.nodes = 4, .from = before, .to = before + 10s}));
  return findings;
}

}  // namespace tempo::papers
