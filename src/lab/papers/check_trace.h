// What the checker found, as a trace that can be drawn: a tick is a millisecond, and what happens
// within one tick is drawn one below the other.
//
// What things are called is the caller's to say, by a type with
//   std::string message(const Message&)      "priority 2"
//   std::string state(const Machine&)        "active"
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
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
};

template <class Model, class Words>
class WayTracer {
 public:
  WayTracer(const check::Space<Model>& space, const Words& words, DrawnWay& way)
      : space_(&space), words_(&words), way_(&way), states_(space.freedom().nodes) {}

  void add(const check::Move& move) {
    using check::Happening;
    if (move.what == Happening::tick) {
      now_ = start_ += Nanos{1ms} * move.detail;
      return;
    }
    if (moved_) now_ += kApart;
    moved_ = true;
    switch (move.what) {
      case Happening::deliver:
        arrive(move);
        break;
      case Happening::miss:
        under_way_.erase(find(move));
        return;
      case Happening::crash:
        disturb(move.node, "crashes");
        states_[index(move.node)].clear();
        return;
      case Happening::pause:
        disturb(move.node, "pauses");
        return;
      case Happening::resume:
        disturb(move.node, "resumes");
        return;
      case Happening::start:
      case Happening::restart:
        disturb(move.node, "starts");
        break;
      default:
        break;
    }
    if (check::is_step(move.what)) step(move);
  }

 private:
  static constexpr Nanos kApart = 60us;  // so many moves fit into a tick that none has more

  struct Flight {
    NodeId from, to;
    std::uint32_t id;      // in the checker, when it was sent
    std::uint32_t number;  // in the trace
    Instant sent;
    std::string_view label;
  };

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

  void arrive(const check::Move& move) {
    const auto it = find(move);
    way_->trace.add({.at = now_,
                     .what = sim::What::received,
                     .node = it->from,
                     .peer = it->to,
                     .number = it->number,
                     .sent = it->sent,
                     .label = it->label});
    under_way_.erase(it);
  }

  void step(const check::Move& move) {
    const auto& parts = space_->parts();
    const auto& outcome = parts.outcome(move.outcome);
    const auto sends = parts.sends(outcome);
    std::uint32_t output = 0;
    for (std::size_t i = 0; i < sends.size(); ++i) {
      const auto& flight = parts.flight(sends[i].flight);
      const std::string_view label = kept(words_->message(parts.message(sends[i].flight)));
      if (sends[i].output != output) {
        output = sends[i].output;
        const bool several = i + 1 < sends.size() && sends[i + 1].output == output;
        way_->trace.add({.at = now_,
                         .what = sim::What::sent,
                         .node = flight.from,
                         .peer = several ? kNobody : flight.to,
                         .number = ++numbers_,
                         .label = label});
      }
      if ((move.lost >> i & 1) != 0) {
        way_->trace.add({.at = now_,
                         .what = sim::What::lost,
                         .node = flight.from,
                         .peer = flight.to,
                         .number = numbers_,
                         .label = label});
        continue;
      }
      const Flight sent{flight.from, flight.to, sends[i].flight, numbers_, now_, label};
      under_way_.push_back(sent);
      if ((move.twice >> i & 1) != 0) under_way_.push_back(sent);
    }
    const std::string state = words_->state(parts.machine(outcome.local));
    std::string& before = states_[index(move.node)];
    if (state == before) return;
    before = state;
    way_->trace.add(
        {.at = now_, .what = sim::What::becomes, .node = move.node, .label = kept(state)});
  }

  const check::Space<Model>* space_;
  const Words* words_;
  DrawnWay* way_;
  std::vector<std::string> states_;  // last name of each
  std::vector<Flight> under_way_;
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
  for (const check::Move& move : violation.stem) tracer.add(move);
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

}  // namespace tempo::papers
