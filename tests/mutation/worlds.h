// The worlds in which the checker runs mutations: small, and completely explored without a
// mutation.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace tempo::check {

struct NamedWorld {
  std::string_view name;
  std::string (
      *broken)();  // the violated property, or "nothing" if all states were explored without one
};
inline void PrintTo(const NamedWorld& world, std::ostream* out) { *out << world.name; }

// All worlds by name; the mutation table refers to these names.
const std::vector<NamedWorld>& all_worlds();

}  // namespace tempo::check
