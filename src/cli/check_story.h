// What a check has found, told step by step: for the commands that do not write a script of it.
//
// What machines' steps are called is the command's to say, by a type with
//   std::string timer(const Machine&, std::uint32_t timer)     "its link timer"
//   std::string command()                                      "wakes up"; or, where there are
//   std::string command(std::uint32_t number)                  several, of this one
//   std::string drawn(std::uint32_t value)                     "draws 2"
//   std::string state(const Machine&)                          what it is after the step
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "cli/check_search.h"
#include "lab/check/space.h"

namespace tempo::cli {

struct Story {
  check::Finding finding{};
  std::vector<std::string> stem{};
  std::vector<std::string> cycle{};  // empty unless it goes in a circle
};

// Tells it with the assumptions under which it was found; `kept` is said if nothing is broken. The
// exit status.
int tell(const Story& story, const std::vector<std::string>& assumptions, const std::string& kept,
         bool json);

// What happens, and what chance made of it.
template <class Model, class Words>
std::string move_text(const check::Space<Model>& space, const check::Move& move,
                      const Words& words) {
  using check::Happening;
  const auto& parts = space.parts();
  const std::string who = move.node == kNobody ? "" : fmt::format("{}", index(move.node) + 1);
  const auto message = [&] {
    return fmt::format("{}->{} {}", index(parts.flight(move.detail).from) + 1, who,
                       name_of(parts.message(move.detail)));
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

// The same with what the network made of it, and what the machine then is.
template <class Model, class Words>
std::string step_text(const check::Space<Model>& space, const check::Move& move,
                      const Words& words) {
  const auto& parts = space.parts();
  std::string text = move_text(space, move, words);
  if (!is_step(move.what)) return text;
  for (unsigned i = 0; i < 64; ++i) {
    if ((move.lost >> i & 1) != 0) text += fmt::format(", message {} is lost", i + 1);
    if ((move.twice >> i & 1) != 0) text += fmt::format(", message {} goes twice", i + 1);
  }
  return fmt::format("{} = {}", text,
                     words.state(parts.machine(parts.outcome(move.outcome).local)));
}

// Searches the space, and puts what was found into words.
template <class Model, class Words>
Story story_of(check::Space<Model>& space, const check::SearchOptions& options,
               const Words& words) {
  Story story{.finding = searched(space, options)};
  if (!story.finding.violation) return story;
  for (const check::Move& move : story.finding.violation->stem)
    story.stem.push_back(step_text(space, move, words));
  for (const check::Move& move : story.finding.violation->cycle)
    story.cycle.push_back(step_text(space, move, words));
  return story;
}

}  // namespace tempo::cli
