#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/node_set.h"

namespace tempo {
namespace {

// After any inserts, erasures and clears the set gives the same answers as a std::set.
RC_GTEST_PROP(NodeSetProperty, MatchesStdSet,
              (const std::vector<std::pair<std::uint8_t, std::uint8_t>>& operations)) {
  NodeSet set;
  std::set<std::uint32_t> model;
  for (const auto& [operation, where] : operations) {
    // Three words and a gap, so that the set also grows by more than one word at once.
    const std::uint32_t i = where < 190 ? where : where * 10U;
    switch (operation % 8) {
      case 0:
      case 1:
      case 2:
      case 3:
        RC_ASSERT(set.insert(NodeId{i}) == model.insert(i).second);
        break;
      case 4:
      case 5:
      case 6:
        RC_ASSERT(set.erase(NodeId{i}) == (model.erase(i) == 1));
        break;
      default:
        if (where % 4 != 0) break;
        set.clear();
        model.clear();
    }
    RC_ASSERT(set.contains(NodeId{i}) == model.contains(i));
    RC_ASSERT(set.size() == model.size());
    RC_ASSERT(set.empty() == model.empty());
    RC_ASSERT(set.highest() == (model.empty() ? kNobody : NodeId{*model.rbegin()}));
    std::vector<std::uint32_t> nodes;
    set.for_each([&](NodeId node) { nodes.push_back(index(node)); });
    RC_ASSERT(nodes == std::vector<std::uint32_t>(model.begin(), model.end()));
  }
  RC_CLASSIFY(model.size() > 3, "more than three at the end");
}

}  // namespace
}  // namespace tempo
