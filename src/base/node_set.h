// A set of nodes: one bit per node; an empty set allocates no memory.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace tempo {

class NodeSet {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  bool contains(NodeId node) const {
    const std::size_t word = index(node) / 64;
    return word < words_.size() && (words_[word] >> (index(node) % 64) & 1) != 0;
  }

  // Returns true if the node is new.
  bool insert(NodeId node) {
    CHECK(index(node) < kMaxNodes);
    const std::size_t word = index(node) / 64;
    if (word >= words_.size()) words_.resize(word + 1);
    const std::uint64_t bit = std::uint64_t{1} << (index(node) % 64);
    if ((words_[word] & bit) != 0) return false;
    words_[word] |= bit;
    ++size_;
    return true;
  }

  // Returns true if the set contained the node.
  bool erase(NodeId node) {
    if (!contains(node)) return false;
    words_[index(node) / 64] &= ~(std::uint64_t{1} << (index(node) % 64));
    --size_;
    return true;
  }

  void clear() {
    words_.clear();
    size_ = 0;
  }

  // The highest node; kNobody if the set is empty.
  NodeId highest() const {
    for (std::size_t word = words_.size(); word-- > 0;)
      if (words_[word] != 0)
        return node_at(word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(words_[word])));
    return kNobody;
  }

  // Visits the nodes in ascending order. `visit` must not change the set.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t word = 0; word < words_.size(); ++word)
      for (std::uint64_t left = words_[word]; left != 0; left &= left - 1)
        visit(node_at(word * 64 + static_cast<std::size_t>(std::countr_zero(left))));
  }

 private:
  std::vector<std::uint64_t> words_;  // at most kMaxNodes / 64
  std::size_t size_ = 0;
};

}  // namespace tempo
