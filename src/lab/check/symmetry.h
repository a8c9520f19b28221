// Symmetry reduction: states that differ only by a permutation of the nodes count as one. The least
// of the rows of all permutations represents them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "lab/check/mail.h"
#include "lab/check/parts.h"
#include "lab/check/row.h"

namespace tempo::check {

template <class Model>
class Symmetry {
 public:
  // `parts` must outlive the object.
  Symmetry(Parts<Model>& parts, const Mail<Model>& mail, const Rows& rows, const Freedom& freedom)
      : parts_(&parts), mail_(mail), rows_(rows), nodes_(freedom.nodes) {
    if (!freedom.symmetry) return;
    std::vector<NodeId> to;
    to.reserve(nodes_);
    for (std::uint32_t i = 0; i < nodes_; ++i) to.push_back(NodeId{i});
    do permutations_.push_back(to);
    while (std::ranges::next_permutation(to).found);
  }

  bool none() const { return permutations_.empty(); }

  // `row` holds the row of the state itself, of this size. Replaces it by the least row of all
  // permutations and returns its size. The nodes alone exclude most permutations; the messages
  // under way are renamed only for the others.
  std::size_t least(const WorldState& state, char* row, std::size_t size, Learning& learning) {
    WorldState other = state;
    for (std::uint32_t which = 1; which < permutations_.size(); ++which) {
      permute_nodes(state, which, other, learning);
      const std::size_t head = rows_.write_head(other, other_.data());
      if (std::memcmp(other_.data(), row, std::min(head, size)) > 0) continue;
      permute_flights(state, which, other, learning);
      const std::size_t other_size = rows_.write(other, other_.data());
      if (std::string_view{other_.data(), other_size} >= std::string_view{row, size}) continue;
      std::memcpy(row, other_.data(), other_size);
      size = other_size;
    }
    return size;
  }

 private:
  void permute_nodes(const WorldState& state, std::uint32_t which, WorldState& other,
                     Learning& learning) {
    const std::vector<NodeId>& to = permutations_[which];
    for (std::uint32_t i = 0; i < nodes_; ++i) {
      const std::uint32_t place = index(to[i]);
      other.local[place] = state.local[i] == kDown
                               ? kDown
                               : parts_->permuted_local(state.local[i], which, to, learning);
      other.incarnations[place] = state.incarnations[i];
      other.pause[place] = state.pause[i];
      other.memory[place] = state.memory[i];
      other.wait[place] = state.wait[i];
    }
  }
  void permute_flights(const WorldState& state, std::uint32_t which, WorldState& other,
                       Learning& learning) {
    const std::vector<NodeId>& to = permutations_[which];
    for (std::uint32_t i = 0; i < state.flights; ++i) {
      const std::uint32_t code = state.flight[i];
      other.flight[i] = mail_.code_of(
          parts_->permuted_flight(mail_.flight_of(code), which, to, learning), mail_.age_of(code));
    }
    mail_.sort(other);
  }

  Parts<Model>* parts_;
  Mail<Model> mail_;
  Rows rows_;
  std::uint32_t nodes_;
  std::vector<std::vector<NodeId>> permutations_;  // the first is the identity; empty: no symmetry
  std::array<char, Rows::kMaxBytes> other_{};
};

}  // namespace tempo::check
