// `tempo play`: a small election, told while it happens.
#pragma once

#include <cstdint>

namespace tempo::cli {

struct PlayArguments {
  std::uint32_t nodes = 5;
  std::uint64_t seed = 1;
  double seconds = 14;  // the whole show, on a terminal
  bool plain = false;   // lines instead of a moving picture; always so when not on a terminal
};

int play(const PlayArguments& arguments);

}  // namespace tempo::cli
