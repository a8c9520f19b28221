// What the checker found, as a trace that can be drawn: a tick is a millisecond, and what happens
// within one tick is drawn one below the other.
//
// The trace is not read off the checker's states. Machines of its own, which nobody packs, renames
// or merges, play the way again, move by move with the same draws; whether they did what the
// checker says they do is told with the trace.
//
// What things are called is the caller's to say, by a type with
//   std::string message(const Message&)      "priority 2"
//   std::string state(const Machine&)        "active"
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/check/explore.h"
#include "lab/papers/experiment.h"
#include "lab/report/space_time.h"
#include "lab/sim/trace.h"

namespace tempo::papers {

struct DrawnWay {
  sim::Trace trace{true};
  std::deque<std::string> labels{};  // the trace points to them
  bool replayed = true;              // the machines did in every step what the checker said
  std::uint32_t ticks = 0;           // from beginning to end
};

// What fell when the checker took the step, once more.
class DrawnAgain final : public Draw {
 public:
  explicit DrawnAgain(std::span<const std::uint32_t> values) : values_(values) {}
  std::uint64_t below(std::uint64_t limit) override {
    const std::uint64_t value = used_ < values_.size() ? values_[used_] : 0;
    ++used_;
    return std::min(value, limit - 1);
  }
  bool all_used() const { return used_ == values_.size(); }

 private:
  std::span<const std::uint32_t> values_;
  std::size_t used_ = 0;
};

template <class Model, class Words>
class WayTracer {
 public:
  WayTracer(const check::Space<Model>& space, const Words& words, DrawnWay& way)
      : space_(&space), words_(&words), way_(&way), seats_(space.freedom().nodes) {}

  void add(const check::Move& move) {
    using check::Happening;
    if (move.what == Happening::tick) {
      pass(move.detail);
      return;
    }
    if (moved_) now_ += kApart;
    moved_ = true;
    Flight arrived{};
    switch (move.what) {
      case Happening::deliver:
        arrived = arrive(move);
        break;
      case Happening::miss:
        under_way_.erase(find(move));
        return;
      case Happening::crash:
        disturb(move.node, "crashes");
        seat(move.node).machine.reset();
        seat(move.node).state.clear();
        return;
      case Happening::pause:
        disturb(move.node, "pauses");
        return;
      case Happening::resume:
        disturb(move.node, "resumes");
        return;
      case Happening::gain:
      case Happening::lag:
        pass(move.detail);
        seat(move.node).ahead += move.what == Happening::gain ? 1 : -1;
        disturb(move.node, move.what == Happening::gain ? "gains a tick" : "loses a tick");
        return;
      case Happening::start:
      case Happening::restart:
        disturb(move.node, "starts");
        break;
      default:
        break;
    }
    if (check::is_step(move.what)) step(move, arrived);
  }

 private:
  using M = typename Model::Machine;
  using Message = typename M::Message;

  static constexpr Nanos kApart = 60us;  // so many moves fit into a tick that none has more
  static constexpr Instant kBeginning{1s};

  struct Slot {
    std::optional<M> machine{};
    std::uint32_t lives = 0;
    std::int64_t ahead = 0;  // ticks that its clock has gained
    std::string state{};     // its last name
  };
  struct Flight {
    NodeId from = kNobody;
    NodeId to = kNobody;
    std::uint32_t id = 0;      // in the checker, when it was sent
    std::uint32_t number = 0;  // in the trace
    Instant sent{};
    std::string_view label{};
    Message message{};
  };
  struct Said {
    NodeId to = kNobody;
    bool to_all = false;
    std::uint32_t output = 0;
    Message message{};
  };

  Slot& seat(NodeId node) { return seats_[index(node)]; }
  void pass(std::uint32_t ticks) {
    way_->ticks += ticks;
    now_ = start_ += Nanos{1ms} * ticks;
  }
  std::string_view kept(std::string text) {
    const auto found = std::ranges::find(way_->labels, text);
    return found != way_->labels.end() ? *found : way_->labels.emplace_back(std::move(text));
  }
  void disturb(NodeId node, const char* word) {
    way_->trace.add({.at = now_, .what = sim::What::disturbed, .node = node, .label = word});
  }

  // Numbers in messages are renamed on the way, so what arrives is known by its ends and its name
  // where it is not known by its own number.
  typename std::vector<Flight>::iterator find(const check::Move& move) {
    const auto& parts = space_->parts();
    const NodeId from = parts.flight(move.detail).from;
    const auto same = std::ranges::find_if(under_way_, [&](const Flight& it) {
      return it.id == move.detail && it.to == move.node && it.from == from;
    });
    if (same != under_way_.end()) return same;
    const std::string_view label = kept(words_->message(parts.message(move.detail)));
    const auto alike = std::ranges::find_if(under_way_, [&](const Flight& it) {
      return it.to == move.node && it.from == from && it.label == label;
    });
    CHECK(alike != under_way_.end());
    return alike;
  }

  Flight arrive(const check::Move& move) {
    const auto it = find(move);
    const Flight flight = *it;
    way_->trace.add({.at = now_,
                     .what = sim::What::received,
                     .node = flight.from,
                     .peer = flight.to,
                     .number = flight.number,
                     .sent = flight.sent,
                     .label = flight.label});
    under_way_.erase(it);
    return flight;
  }

  // The machine takes the step; what it says is in `said_`.
  void play(const check::Move& move, const Flight& arrived, Draw& draw) {
    using check::Happening;
    Slot& at = seat(move.node);
    outbox_.clear();
    Turn<M> turn{kBeginning + Nanos{way_->ticks + at.ahead}, draw, outbox_};
    switch (move.what) {
      case Happening::start:
      case Happening::restart:
        at.machine.emplace(space_->model().make(move.node, Incarnation{++at.lives}));
        at.machine->start(turn);
        if constexpr (requires { space_->model().started(*at.machine, move.node, turn); })
          space_->model().started(*at.machine, move.node, turn);
        break;
      case Happening::wake:
        at.machine->on_timer(turn, timer_id(move.detail));
        break;
      case Happening::command:
        at.machine->command(turn, space_->commands()[move.detail].second);
        break;
      default:
        at.machine->receive(turn, arrived.from, arrived.message);
        break;
    }
    said_.clear();
    const check::Freedom& freedom = space_->freedom();
    std::uint32_t output = 0;
    for (const Output<M>& one : outbox_) {
      ++output;
      if (one.kind == OutputKind::send && index(one.to) < freedom.nodes && one.to != move.node)
        said_.push_back({one.to, false, output, one.message});
      for (std::uint32_t to = 0; one.kind == OutputKind::broadcast && to < freedom.nodes; ++to)
        if (to != index(move.node) || freedom.echo)
          said_.push_back({NodeId{to}, true, output, one.message});
    }
  }

  void step(const check::Move& move, const Flight& arrived) {
    const auto& parts = space_->parts();
    const auto& outcome = parts.outcome(move.outcome);
    const auto sends = parts.sends(outcome);
    DrawnAgain draw(parts.draws(outcome));
    play(move, arrived, draw);
    const std::string state = words_->state(*seat(move.node).machine);
    way_->replayed &= draw.all_used() && said_.size() == sends.size() &&
                      state == words_->state(parts.machine(outcome.local));
    std::uint32_t output = 0;
    for (std::size_t i = 0; i < said_.size(); ++i) {
      const Said& said = said_[i];
      const std::string_view label = kept(words_->message(said.message));
      if (i < sends.size())
        way_->replayed &= parts.flight(sends[i].flight).to == said.to &&
                          words_->message(parts.message(sends[i].flight)) == label;
      if (said.output != output) {
        output = said.output;
        way_->trace.add({.at = now_,
                         .what = sim::What::sent,
                         .node = move.node,
                         .peer = said.to_all ? kNobody : said.to,
                         .number = ++numbers_,
                         .label = label});
      }
      if ((move.lost >> i & 1) != 0) {
        way_->trace.add({.at = now_,
                         .what = sim::What::lost,
                         .node = move.node,
                         .peer = said.to,
                         .number = numbers_,
                         .label = label});
        continue;
      }
      const Flight sent{.from = move.node,
                        .to = said.to,
                        .id = i < sends.size() ? sends[i].flight : 0,
                        .number = numbers_,
                        .sent = now_,
                        .label = label,
                        .message = said.message};
      under_way_.push_back(sent);
      if ((move.twice >> i & 1) != 0) under_way_.push_back(sent);
    }
    std::string& before = seat(move.node).state;
    if (state == before) return;
    before = state;
    way_->trace.add(
        {.at = now_, .what = sim::What::becomes, .node = move.node, .label = kept(state)});
  }

  const check::Space<Model>* space_;
  const Words* words_;
  DrawnWay* way_;
  std::vector<Slot> seats_;
  std::vector<Flight> under_way_;
  Outbox<M> outbox_;
  std::vector<Said> said_;
  Instant start_{};  // of this tick
  Instant now_{};
  bool moved_ = false;
  std::uint32_t numbers_ = 0;
};

// The way to what the search found, and once round if it goes in a circle.
template <class Model, class Words>
DrawnWay drawn_way(const check::Space<Model>& space, const check::Violation& violation,
                   const Words& words) {
  DrawnWay way;
  WayTracer<Model, Words> tracer(space, words, way);
  for (const check::Move& move : violation.prefix) tracer.add(move);
  for (const check::Move& move : violation.cycle) tracer.add(move);
  return way;
}

// A search that ends when the workshop is stopped.
template <class Model>
check::Finding searched(Workshop& workshop, check::Space<Model>& space) {
  check::SearchOptions options{.threads = std::clamp(workshop.threads(), 1U, 2U)};
  options.progress = [&](const check::Progress&) {
    workshop.breathe();
    return !workshop.stopped();
  };
  return check::Search<Model>(space, options).run();
}

inline Diagram diagram_of(const sim::Trace& trace, std::string id, std::string title,
                          std::string caption, report::SpaceTimeOptions look) {
  look.title = title;
  return {.id = std::move(id),
          .title = std::move(title),
          .caption = std::move(caption),
          .html = report::space_time_figure(trace, look)};
}

// The way to what breaks a promise, as it is drawn.
struct Shown {
  check::Violation violation;
  DrawnWay way;

  std::size_t steps() const { return violation.prefix.size(); }
};

// Looks for what breaks and draws the shortest way to it among the findings' diagrams. Nothing if
// there is no way, or if machines of their own do not play it as the checker did.
template <class Model, class Words>
std::optional<Shown> shown(Workshop& workshop, check::Space<Model>& space, const Words& words,
                           Diagram shell, Findings& findings) {
  const check::Finding finding = searched(workshop, space);
  if (!finding.violation) return std::nullopt;
  Shown shown{*finding.violation, drawn_way(space, *finding.violation, words)};
  if (!shown.way.replayed) return std::nullopt;
  findings.diagrams.push_back(diagram_of(shown.way.trace, std::move(shell.id),
                                         std::move(shell.title), std::move(shell.caption),
                                         {.nodes = space.freedom().nodes}));
  return shown;
}

}  // namespace tempo::papers
