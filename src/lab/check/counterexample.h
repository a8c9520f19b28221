// What a search has found, told step by step.
//
//     for (const std::string& step : told(space, finding.violation->stem)) puts(step.c_str());
//
// What a machine's steps are called is the caller's to say, by a type with
//   std::string timer(const Machine&, std::uint32_t timer)     "link"
//   std::string command()                                      "wakes up"; or, where there are
//   std::string command(std::uint32_t number)                  several, of this one
//   std::string drawn(std::uint32_t value)                     "draws 2"
//   std::string state(const Machine&)                          what it is after the step
// PlainWords, where none is given, says all of it by numbers and field lists. A message is called
// what `name_of(message)` says, or else by its fields.
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
    return fmt::format("is told command {}", number + 1);
  }
  std::string drawn(std::uint32_t value) const { return fmt::format("draws {}", value); }
  template <class Machine>
  std::string state(const Machine& machine) const {
    return printed(machine, kNow);
  }
};

template <class Message>
std::string words_of(const Message& message) {
  if constexpr (requires { name_of(message); }) {
    return std::string(name_of(message));
  } else {
    const std::string fields = printed(message, kNow);
    return fields.empty() ? "message" : fields;
  }
}

// What happens, and what chance made of it.
template <class Model, class Words>
std::string move_text(const Space<Model>& space, const Move& move, const Words& words) {
  const auto& parts = space.parts();
  const std::string who = move.node == kNobody ? "" : fmt::format("{}", index(move.node) + 1);
  const auto message = [&] {
    return fmt::format("{}->{} {}", index(parts.flight(move.detail).from) + 1, who,
                       words_of(parts.message(move.detail)));
  };
  std::string text;
  switch (move.what) {
    case Happening::start:
    case Happening::restart:
      text = who + " starts";
      break;
    case Happening::deliver:
      text = message() + " arrives";
      break;
    case Happening::wake:
      text =
          fmt::format("{}'s {} timer fires", who,
                      words.timer(parts.machine(parts.outcome(move.outcome).local), move.detail));
      break;
    case Happening::command:
      if constexpr (requires { words.command(move.detail); })
        text = fmt::format("{} {}", who, words.command(move.detail));
      else
        text = fmt::format("{} {}", who, words.command());
      break;
    case Happening::miss:
      return message() + " comes too early";
    case Happening::tick:
      return fmt::format("{} tick{}", move.detail, move.detail == 1 ? "" : "s");
    case Happening::crash:
      return who + " crashes";
    case Happening::pause:
      return who + " pauses";
    case Happening::resume:
      return who + " resumes";
    case Happening::gain:
    case Happening::lag:
      return fmt::format("{}'s clock {} a tick", who,
                         move.what == Happening::gain ? "gains" : "loses");
  }
  for (const std::uint32_t value : parts.draws(parts.outcome(move.outcome)))
    text += ", " + words.drawn(value);
  return text;
}

// What the network made of what was sent.
inline std::string fate_text(const Move& move) {
  std::string text;
  for (unsigned i = 0; i < 64; ++i) {
    if ((move.lost >> i & 1) != 0) text += fmt::format(", message {} is lost", i + 1);
    if ((move.twice >> i & 1) != 0) text += fmt::format(", message {} goes twice", i + 1);
  }
  return text;
}

// Both, and what the machine then is.
template <class Model, class Words>
std::string step_text(const Space<Model>& space, const Move& move, const Words& words) {
  const auto& parts = space.parts();
  std::string text = move_text(space, move, words);
  if (!is_step(move.what)) return text;
  return fmt::format("{}{} = {}", text, fate_text(move),
                     words.state(parts.machine(parts.outcome(move.outcome).local)));
}

// A way, step by step.
template <class Model, class Words = PlainLabels>
std::vector<std::string> describe_steps(const Space<Model>& space, std::span<const Move> way,
                                        const Words& words = {}) {
  std::vector<std::string> steps;
  steps.reserve(way.size());
  for (const Move& move : way) steps.push_back(step_text(space, move, words));
  return steps;
}

}  // namespace tempo::check
