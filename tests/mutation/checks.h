// The checks that mutations must fail: each is a true statement about the real election, verified
// with as few runs as possible.
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

// All checks by name; the mutation table refers to these names.
const std::vector<NamedCheck>& all_checks();

}  // namespace tempo::sim::election
