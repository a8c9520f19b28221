#include "lab/cli/check/check_explore.h"

#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/number_text.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "lab/cli/check/check_counterexample.h"
#include "lab/report/space_time.h"
#include "lab/studies/election/replay.h"

namespace tempo::cli {
namespace {

using Space = check::Space<check::ElectionModel>;
using check::Move;

constexpr std::size_t kMaxChoices = 500;

struct ElectionTexts {
  static std::string timer(const election::MasterElection&, std::uint32_t timer) {
    return std::string(name_of(static_cast<election::Timer>(timer)));
  }
  static std::string command() { return "stands for election"; }
  static std::string drawn(std::uint32_t value) { return fmt::format("draws {}", value); }
};

std::string text_of(const Space& space, const Move& move) {
  return move_text(space, move, ElectionTexts{}) + delivery_text(move);
}

struct Position {
  Space::State state;
  std::vector<Move> moves;  // from the beginning
};

void show(const Space& space, const Space::State& state) {
  const auto scene = space.scene(state);
  for (std::uint32_t i = 0; i < scene.nodes; ++i) {
    if (!scene.up(i)) {
      print("  {}: down\n", i + 1);
      continue;
    }
    const auto& view = *scene.slots[i].view;
    const NodeId master = view.followed.node;
    print("  {}: {}{}{}\n", i + 1, name_of(view.state),
          master == kNobody ? "" : fmt::format(", follows {}", index(master) + 1),
          scene.slots[i].paused ? ", paused" : "");
  }
}

}  // namespace

int explore_interactively(Space& space) {
  std::vector<Position> path;
  space.begin([&](const Space::State& state, const std::vector<Move>& moves) {
    if (path.empty()) path.push_back({state, moves});
  });
  for (;;) {
    const Position here = path.back();
    print("\nstep {}\n", path.size() - 1);
    show(space, here.state);
    std::vector<Position> next;
    space.successors(here.state, [&](const Space::State& state, const Move& move,
                                     const char* broken, bool pruned) {
      if (next.size() == kMaxChoices) return;
      next.push_back({state, here.moves});
      next.back().moves.push_back(move);
      print("  {:>3}  {}{}{}\n", next.size(), text_of(space, move),
            broken != nullptr ? fmt::format("  ! violates {}", broken) : "",
            pruned ? "  (not explored further)" : "");
    });
    print("number: take this step, b: back, d: diagram, s: script, q: quit > ");
    std::fflush(stdout);
    std::string line;
    if (!std::getline(std::cin, line) || line == "q") {
      print("\n");
      return kDone;
    }
    if (line == "b") {
      if (path.size() > 1) path.pop_back();
      continue;
    }
    if (line == "d" || line == "s") {
      const std::string script = check::replay_script(space, here.moves, "steps chosen by hand");
      const Result<check::Replayed> replayed = check::replay(script);
      if (line == "s" || !replayed)
        print("\n{}", script);
      else
        print("\n{}", report::space_time_text(replayed->trace, {.nodes = replayed->nodes},
                                              stdout_width(), stdout_shows_unicode()));
      continue;
    }
    const auto choice = parse_number<std::size_t>(line);
    if (!choice || *choice < 1 || *choice > next.size()) {
      print("enter a number from 1 to {}, or b, d, s, q\n", next.size());
      continue;
    }
    path.push_back(next[*choice - 1]);
  }
}

}  // namespace tempo::cli
