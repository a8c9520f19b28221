// A counterexample of the checker as a trace that can be drawn: a tick is a millisecond, and events
// within one tick are drawn below each other.
//
// The trace is not derived from the checker's states. Separate machines, without packing, renaming
// or merging, replay the counterexample move by move with the same draws; `replayed` tells whether
// they behaved as the checker message.
//
// The caller supplies the labels, by a type with
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
  std::deque<std::string> labels{};  // storage of the trace's labels
  bool replayed = true;              // the machines behaved as the checker message in every step
  std::uint32_t ticks = 0;           // duration of the trace
};

// Repeats the draws of the checker's step.
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

template <class Model, class Labels>
class WayTracer {
 public:
  WayTracer(const check::Space<Model>& space, const Labels& labels, DrawnWay& way)
      : space_(&space), labels_(&labels), way_(&way), slots_(space.freedom().nodes) {}

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
        in_transit_.erase(find(move));
        return;
      case Happening::crash:
        disturb(move.node, "crashes");
        slot(move.node).machine.reset();
        slot(move.node).state.clear();
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
        slot(move.node).ahead += move.what == Happening::gain ? 1 : -1;
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

  // Distance of two moves; small enough for all moves of a tick.
  static constexpr Nanos kApart = 60us;
  static constexpr TimeOf<M> kBeginning{1s};

  struct Slot {
    std::optional<M> machine{};
    std::uint32_t incarnations = 0;
    std::int64_t ahead = 0;  // ticks that its clock has gained
    std::string state{};     // its last label
  };
  struct Flight {
    NodeId from = kNobody;
    NodeId to = kNobody;
    std::uint32_t id = 0;      // id in the checker, when it was sent
    std::uint32_t number = 0;  // number in the trace
    Instant sent{};
    std::string_view label{};
    Message message{};
  };
  struct SentMessage {
    NodeId to = kNobody;
    bool to_all = false;
    std::uint32_t output = 0;
    Message message{};
  };

  Slot& slot(NodeId node) { return slots_[index(node)]; }
  void pass(std::uint32_t ticks) {
    way_->ticks += ticks;
    now_ = start_ += Nanos{1ms} * ticks;
  }
  std::string_view stored(std::string text) {
    const auto found = std::ranges::find(way_->labels, text);
    return found != way_->labels.end() ? *found : way_->labels.emplace_back(std::move(text));
  }
  void disturb(NodeId node, const char* event) {
    way_->trace.add({.at = now_, .what = sim::What::disturbed, .node = node, .label = event});
  }

  // The checker renumbers messages in transit, so a message that is not found by its number is
  // found by its ends and its label.
  typename std::vector<Flight>::iterator find(const check::Move& move) {
    const auto& parts = space_->parts();
    const NodeId from = parts.flight(move.detail).from;
    const auto same = std::ranges::find_if(in_transit_, [&](const Flight& it) {
      return it.id == move.detail && it.to == move.node && it.from == from;
    });
    if (same != in_transit_.end()) return same;
    const std::string_view label = stored(labels_->message(parts.message(move.detail)));
    const auto alike = std::ranges::find_if(in_transit_, [&](const Flight& it) {
      return it.to == move.node && it.from == from && it.label == label;
    });
    CHECK(alike != in_transit_.end());
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
    in_transit_.erase(it);
    return flight;
  }

  // Steps the machine; its messages are in `sent_`.
  void replay(const check::Move& move, const Flight& arrived, Draw& draw) {
    using check::Happening;
    Slot& at = slot(move.node);
    outbox_.clear();
    Turn<M> turn{kBeginning + Nanos{way_->ticks + at.ahead}, draw, outbox_};
    switch (move.what) {
      case Happening::start:
      case Happening::restart:
        at.machine.emplace(space_->model().make(move.node, Incarnation{++at.incarnations}));
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
    sent_.clear();
    const check::Freedom& freedom = space_->freedom();
    std::uint32_t output = 0;
    for (const Output<M>& one : outbox_) {
      ++output;
      if (one.kind == OutputKind::send && index(one.to) < freedom.nodes && one.to != move.node)
        sent_.push_back({one.to, false, output, one.message});
      for (std::uint32_t to = 0; one.kind == OutputKind::broadcast && to < freedom.nodes; ++to)
        if (to != index(move.node) || freedom.echo)
          sent_.push_back({NodeId{to}, true, output, one.message});
    }
  }

  void step(const check::Move& move, const Flight& arrived) {
    const auto& parts = space_->parts();
    const auto& outcome = parts.outcome(move.outcome);
    const auto sends = parts.sends(outcome);
    DrawnAgain draw(parts.draws(outcome));
    replay(move, arrived, draw);
    const std::string state = labels_->state(*slot(move.node).machine);
    way_->replayed &= draw.all_used() && sent_.size() == sends.size() &&
                      state == labels_->state(parts.machine(outcome.local));
    std::uint32_t output = 0;
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      const SentMessage& message = sent_[i];
      const std::string_view label = stored(labels_->message(message.message));
      if (i < sends.size())
        way_->replayed &= parts.flight(sends[i].flight).to == message.to &&
                          labels_->message(parts.message(sends[i].flight)) == label;
      if (message.output != output) {
        output = message.output;
        way_->trace.add({.at = now_,
                         .what = sim::What::sent,
                         .node = move.node,
                         .peer = message.to_all ? kNobody : message.to,
                         .number = ++numbers_,
                         .label = label});
      }
      if ((move.lost >> i & 1) != 0) {
        way_->trace.add({.at = now_,
                         .what = sim::What::lost,
                         .node = move.node,
                         .peer = message.to,
                         .number = numbers_,
                         .label = label});
        continue;
      }
      const Flight flight{.from = move.node,
                          .to = message.to,
                          .id = i < sends.size() ? sends[i].flight : 0,
                          .number = numbers_,
                          .sent = now_,
                          .label = label,
                          .message = message.message};
      in_transit_.push_back(flight);
      if ((move.twice >> i & 1) != 0) in_transit_.push_back(flight);
    }
    std::string& before = slot(move.node).state;
    if (state == before) return;
    before = state;
    way_->trace.add(
        {.at = now_, .what = sim::What::becomes, .node = move.node, .label = stored(state)});
  }

  const check::Space<Model>* space_;
  const Labels* labels_;
  DrawnWay* way_;
  std::vector<Slot> slots_;
  std::vector<Flight> in_transit_;
  Outbox<M> outbox_;
  std::vector<SentMessage> sent_;
  Instant start_{};  // start of this tick
  Instant now_{};
  bool moved_ = false;
  std::uint32_t numbers_ = 0;
};

// Replays the counterexample, with one turn of its cycle if it has one.
template <class Model, class Labels>
DrawnWay drawn_way(const check::Space<Model>& space, const check::Violation& violation,
                   const Labels& labels) {
  DrawnWay way;
  WayTracer<Model, Labels> tracer(space, labels, way);
  for (const check::Move& move : violation.prefix) tracer.add(move);
  for (const check::Move& move : violation.cycle) tracer.add(move);
  return way;
}

// Runs a search that ends when the workshop is stopped.
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

// A replayed counterexample.
struct Shown {
  check::Violation violation;
  DrawnWay way;

  std::size_t steps() const { return violation.prefix.size(); }
};

// Searches for a counterexample, replays it and adds its diagram to the findings. Returns nothing
// if there is none, or if the replay differs from the checker.
template <class Model, class Labels>
std::optional<Shown> shown(Workshop& workshop, check::Space<Model>& space, const Labels& labels,
                           Diagram shell, Findings& findings) {
  const check::Finding finding = searched(workshop, space);
  if (!finding.violation) return std::nullopt;
  Shown shown{*finding.violation, drawn_way(space, *finding.violation, labels)};
  if (!shown.way.replayed) return std::nullopt;
  findings.diagrams.push_back(diagram_of(shown.way.trace, std::move(shell.id),
                                         std::move(shell.title), std::move(shell.caption),
                                         {.nodes = space.freedom().nodes}));
  return shown;
}

}  // namespace tempo::papers
