// The checks that mutations must fail: each is a statement about the real election that holds, made
// with as few runs as show it.
#pragma once

#include <functional>
#include <ostream>
#include <string_view>
#include <vector>

namespace tempo::sim::election {

struct NamedCheck {
  std::string_view name;
  std::function<bool()> holds;
};
inline void PrintTo(const NamedCheck& check, std::ostream* out) { *out << check.name; }

// Every check, by name; names are used in the mutation table.
const std::vector<NamedCheck>& all_checks();

}  // namespace tempo::sim::election
