// The set of visited states: byte strings, numbered in the order of discovery.
//
// The strings are stored one after another; a table of (part of the hash, number) finds them by
// open addressing. Each state needs about 18 bytes besides its string: its place, its predecessor
// and the table. Strings are compared in full: two states are never confused.
//
// To save memory, Keeps::fingerprints drops a string when it is forgotten and keeps its 64-bit
// hash: 26 bytes a state, for any length. Two strings with the same hash then count as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/huge_page_vector.h"

namespace tempo::check {

class Store {
 public:
  enum class Keeps : std::uint8_t { strings, fingerprints };
  static constexpr std::uint32_t kNone = 0xffffffff;

  explicit Store(Keeps keeps = Keeps::strings) : exact_(keeps == Keeps::strings) {}

  static std::uint64_t hash(std::string_view bytes);

  struct Added {
    std::uint32_t number;
    bool fresh;
  };
  // `from`, the predecessor, is stored with a fresh string.
  Added add(std::string_view bytes, std::uint64_t hash, std::uint32_t from = kNone);
  std::uint32_t find(std::string_view bytes,
                     std::uint64_t hash) const;  // kNone: not there

  // A string that has not been forgotten.
  std::string_view at(std::uint32_t number) const {
    const std::uint64_t begin = start_of(number);
    return {&bytes_[begin], start_of(number + 1) - begin};
  }
  bool is(std::uint32_t number, std::string_view bytes, std::uint64_t hash) const {
    return exact_ ? same(at(number), bytes) : fingerprints_[number] == hash;
  }
  // Allows the store to drop the strings before this one; add, find and is still recognize them.
  void forget_before(std::uint32_t number);
  std::uint32_t from(std::uint32_t number) const { return from_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(from_.size()); }
  std::size_t bytes() const;  // total memory

  // Prefetch for a later lookup of this hash: three steps, each to be called when the data of the
  // previous one has arrived.
  void prefetch(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  void prefetch_place(std::uint64_t hash) const {
    const std::uint32_t number = guess(hash);
    if (number == kNone) return;
    if (exact_)
      __builtin_prefetch(&place_[number]);
    else
      __builtin_prefetch(&fingerprints_[number]);
  }
  void prefetch_string(std::uint64_t hash) const {
    const std::uint32_t number = guess(hash);
    if (exact_ && number != kNone) __builtin_prefetch(&bytes_[start_of(number)]);
  }

 private:
  struct Slot {  // all bytes zero: free
    std::uint32_t tag;
    std::uint32_t inverse;  // bitwise inverse of the number
    std::uint32_t number() const { return ~inverse; }
  };
  static constexpr std::uint32_t kBlock = 1U << 16;  // states that share a base of their places

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  static bool same(std::string_view one, std::string_view other);
  std::uint64_t start_of(std::uint32_t number) const {
    if (number == from_.size()) return bytes_.size();
    const std::uint32_t at = number - forgotten_;
    return base_[at / kBlock] + place_[at];
  }
  void keep_string(std::string_view bytes);
  // The number in the first slot of a lookup, if its tag matches; otherwise kNone.
  std::uint32_t guess(std::uint64_t hash) const {
    if (slots_.empty()) return kNone;
    const Slot& slot = slots_[hash & (slots_.size() - 1)];
    return slot.tag == tag_of(hash) ? slot.number() : kNone;
  }
  void grow();

  bool exact_;
  std::uint32_t forgotten_ = 0;          // number of dropped strings
  HugePageVector<char> bytes_;           // all other strings
  std::vector<std::uint64_t> base_;      // base of each block of states
  HugePageVector<std::uint32_t> place_;  // place of each string relative to the base of its block
  HugePageVector<std::uint32_t> from_;   // predecessor of each state
  HugePageVector<std::uint64_t> fingerprints_;  // of each string; unused if exact_
  HugePageVector<Slot> slots_;                  // hash table; the size is a power of two
};

}  // namespace tempo::check
