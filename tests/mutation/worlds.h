// The worlds in which the checker meets mutations: small, and without mutation known through and
// through.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace tempo::check {

struct NamedWorld {
  std::string_view name;
  std::string (*broken)();  // the broken promise, or "nothing" after every state was seen
};
inline void PrintTo(const NamedWorld& world, std::ostream* out) { *out << world.name; }

// Every world, by name; names are used in the mutation table.
const std::vector<NamedWorld>& all_worlds();

}  // namespace tempo::check
