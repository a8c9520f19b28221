#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/node_map.h"

namespace tempo {
namespace {

using Operations = std::vector<std::pair<std::uint16_t, std::uint8_t>>;

template <class Map>
void compare_with_std_map(const Operations& operations) {
  Map map;
  std::map<std::uint32_t, int> model;
  int written = 0;
  for (const auto& [key, operation] : operations) {
    const std::uint32_t i =
        operation % 2 == 0 ? key : key % 16;  // many keys, some of them repeatedly
    if (operation % 32 == 31) {
      map.clear();
      model.clear();
    } else if (operation % 4 == 3) {
      const int* found = map.find(NodeId{i});
      RC_ASSERT((found != nullptr) == model.contains(i));
      if (found != nullptr) RC_ASSERT(*found == model[i]);
    } else {
      int& value = map[NodeId{i}];
      RC_ASSERT(value == model[i]);
      value = model[i] = ++written;
    }
    RC_ASSERT(map.size() == model.size());
    const auto sorted = map.sorted();
    RC_ASSERT(sorted.size() == model.size());
    auto expected = model.begin();
    for (const auto& slot : sorted) {
      RC_ASSERT(index(slot.key) == expected->first);
      RC_ASSERT(slot.value == expected->second);
      ++expected;
    }
  }
  RC_CLASSIFY(model.size() > 12, "has grown twice");
}

// After any writes and clears the map gives the same answers as a std::map.
RC_GTEST_PROP(NodeMapProperty, MatchesStdMap, (const Operations& operations)) {
  compare_with_std_map<NodeMap<int>>(operations);
}
RC_GTEST_PROP(NodeMapProperty, MatchesStdMapWithInlineSlots, (const Operations& operations)) {
  compare_with_std_map<NodeMap<int, 2>>(operations);
}

}  // namespace
}  // namespace tempo
