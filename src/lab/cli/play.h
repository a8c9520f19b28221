// `tempo-lab play`: a small election, animated in the terminal or printed as lines or JSON.
#pragma once

#include <cstdint>

namespace tempo::cli {

struct PlayArguments {
  std::uint32_t nodes = 5;
  std::uint64_t seed = 1;
  double seconds = 14;  // duration of the animation
  bool plain = false;   // lines instead of an animation; always without a terminal
  bool json = false;    // one JSON object per event
};

int play(const PlayArguments& arguments);

}  // namespace tempo::cli
