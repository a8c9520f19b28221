// States that differ by the names of nodes are one: of the rows of all renamings the least stands
// for them all.
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
  // The parts must outlive it.
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

  // `row` is the state's own, of this size; how many bytes the least of all takes in its place.
  // Most are out as soon as their nodes are known; only for the others the messages under way are
  // renamed too.
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
      other.lives[place] = state.lives[i];
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
  std::vector<std::vector<NodeId>> permutations_;  // the first changes nothing; empty: no symmetry
  std::array<char, Rows::kMaxBytes> other_{};
};

}  // namespace tempo::check
