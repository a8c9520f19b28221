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
constexpr NodeId kByzantine{3};
constexpr std::uint32_t kNodes = 7;
constexpr Nanos kLong = 60s;  // longer than several elections
constexpr Incarnation kForgedIncarnation{77};

// A settled network with master node 1, as printed.
class Scene {
 public:
  explicit Scene(std::uint64_t seed, std::vector<Ppb> rates = {}, std::uint32_t nodes = kNodes)
      : setup_(printed(seed, std::move(rates), nodes)),
        settled_(settled(setup_)),
        cluster_(setup_) {
    for (const Fault& fault : settled_.plan) cluster_.apply(fault);
  }

  Cluster& cluster() { return cluster_; }
  void pass(Nanos span) { cluster_.run_until(cluster_.now() + span); }
  void apply(Fault fault) {
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
  Experiment settled_;
  Cluster cluster_;
};

// Each function returns true if the purpose of the algorithm failed.

bool messages_from_nowhere(std::uint64_t seed) {
  Scene scene(seed);
  scene.apply({.act = Act::crash, .node = kMaster});
  for (std::uint32_t i = 1; i <= 60; ++i) {
    scene.cluster().world().inject(
        kMaster, kNobody,
        {.kind = Kind::election, .incarnation = kForgedIncarnation, .sequence = Sequence{i}});
    scene.pass(900ms);
  }
  return scene.masters() == 0;
}

bool forged_quit(std::uint64_t seed) {
  Scene scene(seed);
  scene.cluster().world().inject(kByzantine, kMaster,
                                 {.kind = Kind::quit,
                                  .incarnation = kForgedIncarnation,
                                  .sequence = Sequence{1000},
                                  .epoch = {0, kByzantine, kForgedIncarnation}});
  scene.pass(10ms);
  return scene.masters() == 0;
}

// One Accept arrives as a Refuse.
bool undetected_error(std::uint64_t seed) {
  Scene scene(seed);
  scene.apply({.act = Act::crash, .node = kMaster});
  bool done = false;
  scene.cluster().world().set_corruption([done](NodeId, Message& message) mutable {
    if (done || message.kind != Kind::accept) return;
    message.kind = Kind::refuse;
    done = true;
  });
  scene.apply({.act = Act::stand, .node = NodeId{1}});
  scene.pass(2s);
  return scene.masters() == 0;
}

// Elections and Masterups reach only their sender's half; all other messages arrive.
bool no_broadcast(std::uint64_t seed) {
  Scene scene(seed);
  for (std::uint32_t from = 0; from < kNodes; ++from)
    for (std::uint32_t to = 0; to < kNodes; ++to)
      for (const Kind kind : {Kind::election, Kind::masterup})
        if ((from < kNodes / 2) != (to < kNodes / 2))
          scene.apply({.act = Act::lose,
                       .node = NodeId{from},
                       .peer = NodeId{to},
                       .kind = kind,
                       .any_kind = false});
  scene.apply({.act = Act::crash, .node = kMaster});
  scene.pass(kLong);
  return scene.masters() > 1;
}

// Pauses the master; it also loses the messages that arrive during the pause.
void pause_master(Scene& scene, Nanos lasts) {
  scene.apply({.act = Act::deaf, .node = kMaster, .lasts = lasts});
  scene.apply({.act = Act::pause, .node = kMaster, .lasts = lasts});
}

bool pause(std::uint64_t seed) {
  Scene scene(seed);
  pause_master(scene, 20s);
  scene.pass(kLong);
  return scene.masters() > 1;
}

// A node that accepts no candidate and never becomes one.
bool byzantine(std::uint64_t seed) {
  Scene scene(seed);
  scene.apply({.act = Act::crash, .node = kMaster});
  scene.cluster().world().set_corruption([](NodeId from, Message& message) {
    if (from == kByzantine && (message.kind == Kind::accept || message.kind == Kind::election))
      message.kind = Kind::refuse;
  });
  scene.pass(kLong);
  bool led = false;
  for (std::uint32_t i = 1; i < kNodes; ++i)
    led |= NodeId{i} != kByzantine &&
           scene.cluster().world().machine(NodeId{i}).state() == State::master;
  return !led;
}

// The clock of the only survivor advances by a second in more than eight minutes.
bool stopped_clock(std::uint64_t seed) {
  Scene scene(seed, {Ppb{0}, Ppb{-998'000'000}}, 2);
  scene.apply({.act = Act::crash, .node = kMaster});
  scene.pass(kLong);
  return scene.masters() == 0;
}

struct Hypothesis {
  const char* section;
  const char* broken;
  bool (*fails)(std::uint64_t seed);
};
constexpr std::array<Hypothesis, 7> kHypotheses{{
    {"3A", "messages without a sender (Elections of a dead machine): no node is elected",
     messages_from_nowhere},
    {"3A", "a forged message (Quit, in another's name): the master resigns", forged_quit},
    {"3A",
     "an undetected error (an Accept arrives as a Refuse): a candidate without a rival "
     "is not elected",
     undetected_error},
    {"3A", "broadcasts do not reach all nodes: two masters", no_broadcast},
    {"3B", "a master pauses and continues later: two masters", pause},
    {"3B", "a Byzantine machine (refuses every candidate): no other node is elected", byzantine},
    {"3B", "a clock almost stops: a dead master is not replaced within a minute", stopped_clock},
}};

}  // namespace

Findings tempo_hypotheses(Workshop& workshop) {
  Findings findings;
  const std::uint64_t runs = workshop.runs(40);
  for (const Hypothesis& one : kHypotheses) {
    // Not bool: several would share a byte, and threads write concurrently.
    const auto failed = gathered(workshop, runs, [&](std::uint64_t number) -> char {
      return one.fails(workshop.seed() + number) ? '\1' : '\0';
    });
    findings.claims.push_back(happens(cited_tempo(one.section, one.broken),
                                      static_cast<std::uint64_t>(std::ranges::count(failed, '\1')),
                                      failed.size()));
  }
  // With all hypotheses satisfied the same network works.
  Setup kept = plain_setup("lan", kNodes);
  kept.rules.variant = election::kAsPrinted;
  std::uint64_t wrong = 0;
  const auto outcomes =
      elections(workshop, sim::election::Scenario::master_crash, kept, workshop.runs(400));
  for (const sim::election::Outcome& outcome : outcomes)
    wrong += outcome.final_masters.size() == 1 && !outcome.ever_two_masters ? 0U : 1U;
  findings.claims.push_back(never(
      cited_tempo(
          "3",
          "with all hypotheses satisfied, a master's crash does not lead to exactly one master"),
      wrong, outcomes.size()));
  Scene scene(workshop.seed(), {}, 4);
  const Instant before = scene.cluster().now();
  pause_master(scene, 8s);
  scene.pass(12s);
  findings.diagrams.push_back(
      diagram_of(scene.trace(), "tempo-pause", "A master pauses, as printed",
                 "Node 1 pauses; the others elect another master. When "
                 "node 1 continues there are two masters, and no message informs them.",
                 {.nodes = 4, .from = before, .to = before + 10s}));
  return findings;
}

}  // namespace tempo::papers
