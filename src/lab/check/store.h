// The set of states seen: byte strings, each with a number in the order of
// discovery.
//
// Strings lie one behind another; a table of (part of the hash, number) finds
// them by open addressing. About 18 bytes a state go beside the string itself:
// its place, the state it was found from, and the table. Strings are compared
// in full: two states never count as one.
//
// Or, where memory matters more, a string is kept only until it is forgotten,
// and its 64-bit hash stands for it: 26 bytes a state whatever the length. Then
// two strings of one hash count as one.
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
  // `from` is kept with a fresh string.
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
  // Strings before this one are not asked for again, except whether they were
  // seen.
  void forget_before(std::uint32_t number);
  std::uint32_t from(std::uint32_t number) const { return from_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(from_.size()); }
  std::size_t bytes() const;  // taken in all

  // A lookup of this hash follows soon: three words, each when what the one
  // before asked for has arrived.
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
  struct Slot {  // of zero bytes: free
    std::uint32_t tag;
    std::uint32_t inverse;  // of the number
    std::uint32_t number() const { return ~inverse; }
  };
  static constexpr std::uint32_t kBlock = 1U << 16;  // states that share the base of their places

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  static bool same(std::string_view one, std::string_view other);
  std::uint64_t start_of(std::uint32_t number) const {
    if (number == from_.size()) return bytes_.size();
    const std::uint32_t at = number - forgotten_;
    return base_[at / kBlock] + place_[at];
  }
  void keep_string(std::string_view bytes);
  // What a lookup meets first, if it looks right.
  std::uint32_t guess(std::uint64_t hash) const {
    if (slots_.empty()) return kNone;
    const Slot& slot = slots_[hash & (slots_.size() - 1)];
    return slot.tag == tag_of(hash) ? slot.number() : kNone;
  }
  void grow();

  bool exact_;
  std::uint32_t forgotten_ = 0;          // strings
  HugePageVector<char> bytes_;           // all other strings
  std::vector<std::uint64_t> base_;      // of each block of states
  HugePageVector<std::uint32_t> place_;  // of each string, from its block's base
  HugePageVector<std::uint32_t> from_;
  HugePageVector<std::uint64_t> fingerprints_;  // of each string, unless exact
  HugePageVector<Slot> slots_;                  // a power of two
};

}  // namespace tempo::check
