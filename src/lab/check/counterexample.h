// Describes a counterexample step by step.
//
//     for (const std::string& step : describe_steps(space, finding.violation->prefix))
//       puts(step.c_str());
//
// The caller may name the steps of its machine by a type Labels with
//   std::string timer(const Machine&, std::uint32_t timer)     "link"
//   std::string command()                                      "wakes up"; or, if there are
//   std::string command(std::uint32_t number)                  several commands, this one
//   std::string drawn(std::uint32_t value)                     "draws 2"
//   std::string state(const Machine&)                          state after the step
// The default, PlainLabels, prints numbers and field lists. A message is printed as
// `name_of(message)` or, without such a function, as its fields.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "lab/check/move.h"
#include "lab/check/parts.h"
#include "lab/check/space.h"
#include "machine/fields.h"

namespace tempo::check {

struct PlainLabels {
  template <class Machine>
  std::string timer(const Machine& /*machine*/, std::uint32_t timer) const {
    return fmt::format("{}.", timer + 1);
  }
  std::string command(std::uint32_t number) const {
    return fmt::format("receives command {}", number + 1);
  }
  std::string drawn(std::uint32_t value) const { return fmt::format("draws {}", value); }
  template <class Machine>
  std::string state(const Machine& machine) const {
    return printed(machine, kNow<TimeOf<Machine>>);
  }
};

template <class Message>
std::string message_text(const Message& message) {
  if constexpr (requires { name_of(message); }) {
    return std::string(name_of(message));
  } else {
    const std::string fields = printed(message, kNow<Instant>);
    return fields.empty() ? "message" : fields;
  }
}

// The event of a move, with the values drawn in it.
template <class Model, class Labels>
std::string move_text(const Space<Model>& space, const Move& move, const Labels& labels) {
  const auto& parts = space.parts();
  const std::string node = move.node == kNobody ? "" : fmt::format("{}", index(move.node) + 1);
  const auto message = [&] {
    return fmt::format("{}->{} {}", index(parts.flight(move.detail).from) + 1, node,
                       message_text(parts.message(move.detail)));
  };
  std::string text;
  switch (move.what) {
    case Happening::start:
    case Happening::restart:
      text = node + " starts";
      break;
    case Happening::deliver:
      text = message() + " arrives";
      break;
    case Happening::wake:
      text =
          fmt::format("{}'s {} timer fires", node,
                      labels.timer(parts.machine(parts.outcome(move.outcome).local), move.detail));
      break;
    case Happening::command:
      if constexpr (requires { labels.command(move.detail); })
        text = fmt::format("{} {}", node, labels.command(move.detail));
      else
        text = fmt::format("{} {}", node, labels.command());
      break;
    case Happening::miss:
      return message() + " comes too early";
    case Happening::tick:
      return fmt::format("{} tick{}", move.detail, move.detail == 1 ? "" : "s");
    case Happening::crash:
      return node + " crashes";
    case Happening::pause:
      return node + " pauses";
    case Happening::resume:
      return node + " resumes";
    case Happening::gain:
    case Happening::lag:
      return fmt::format("{}'s clock {} a tick", node,
                         move.what == Happening::gain ? "gains" : "loses");
  }
  for (const std::uint32_t value : parts.draws(parts.outcome(move.outcome)))
    text += ", " + labels.drawn(value);
  return text;
}

// The losses and duplications of the messages sent in a move.
inline std::string delivery_text(const Move& move) {
  std::string text;
  for (unsigned i = 0; i < 64; ++i) {
    if ((move.lost >> i & 1) != 0) text += fmt::format(", message {} is lost", i + 1);
    if ((move.twice >> i & 1) != 0) text += fmt::format(", message {} is duplicated", i + 1);
  }
  return text;
}

// A whole move: event, losses and duplications, and the state after the step.
template <class Model, class Labels>
std::string step_text(const Space<Model>& space, const Move& move, const Labels& labels) {
  const auto& parts = space.parts();
  std::string text = move_text(space, move, labels);
  if (!is_step(move.what)) return text;
  return fmt::format("{}{} = {}", text, delivery_text(move),
                     labels.state(parts.machine(parts.outcome(move.outcome).local)));
}

// Describes every step of a trace.
template <class Model, class Labels = PlainLabels>
std::vector<std::string> describe_steps(const Space<Model>& space, std::span<const Move> trace,
                                        const Labels& labels = {}) {
  std::vector<std::string> steps;
  steps.reserve(trace.size());
  for (const Move& move : trace) steps.push_back(step_text(space, move, labels));
  return steps;
}

}  // namespace tempo::check
