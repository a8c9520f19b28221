#include "lab/check/store.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"

namespace tempo::check {
// Optimized for short strings, which are mostly equal when their hashes are.
bool Store::same(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  const char* a = one.data();
  const char* b = other.data();
  std::size_t left = one.size();
  if (left < 8) {
    while (left != 0 && a[left - 1] == b[left - 1]) --left;
    return left == 0;
  }
  const auto word = [](const char* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  for (; left > 8; left -= 8, a += 8, b += 8)
    if (word(a) != word(b)) return false;
  return word(a + left - 8) == word(b + left - 8);
}

std::uint64_t Store::hash(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint32_t Store::find(std::string_view bytes, std::uint64_t hash) const {
  if (slots_.empty()) return kNone;
  // Terminates: a quarter of the slots is free.
  for (std::size_t at = hash;; ++at) {
    const Slot& slot = slots_[at & (slots_.size() - 1)];
    if (slot.number() == kNone) return kNone;
    if (slot.tag == tag_of(hash) && is(slot.number(), bytes, hash)) return slot.number();
  }
}

Store::Added Store::add(std::string_view bytes, std::uint64_t hash, std::uint32_t from) {
  if ((from_.size() + 1) * 4 > slots_.size() * 3) grow();
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].number() != kNone; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].tag == tag_of(hash) && is(slots_[at].number(), bytes, hash))
      return {slots_[at].number(), false};
  const std::uint32_t number = size();
  CHECK(number != kNone);
  slots_[at] = {tag_of(hash), ~number};
  keep_string(bytes);
  from_.push_back(from);
  if (!exact_) fingerprints_.push_back(hash);
  return {number, true};
}

void Store::keep_string(std::string_view bytes) {
  if (place_.size() % kBlock == 0) base_.push_back(bytes_.size());
  place_.push_back(static_cast<std::uint32_t>(bytes_.size() - base_.back()));
  bytes_.append(bytes.data(), bytes.size());
}

void Store::forget_before(std::uint32_t number) {
  if (exact_ || number <= forgotten_) return;
  CHECK(number <= size());
  std::string rest;
  std::vector<std::size_t> ends;
  for (std::uint32_t i = number; i < size(); ++i) {
    rest += at(i);
    ends.push_back(rest.size());
  }
  bytes_ = {};
  place_ = {};
  base_.clear();
  forgotten_ = number;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    keep_string(std::string_view{rest}.substr(begin, end - begin));
    begin = end;
  }
}

void Store::grow() {
  const std::size_t more = slots_.empty() ? 1024 : slots_.size() * 2;
  slots_ = {};  // free the old table before the allocation
  slots_ = HugePageVector<Slot>(more);
  std::array<std::uint64_t, 32> hashes{};
  for (std::uint32_t first = 0; first < size(); first += hashes.size()) {
    const auto some = std::min<std::uint32_t>(hashes.size(), size() - first);
    for (std::uint32_t i = 0; i < some; ++i) {
      hashes[i] = exact_ ? Store::hash(at(first + i)) : fingerprints_[first + i];
      prefetch(hashes[i]);
    }
    for (std::uint32_t i = 0; i < some; ++i) {
      std::size_t at = hashes[i] & (slots_.size() - 1);
      while (slots_[at].number() != kNone) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {tag_of(hashes[i]), ~(first + i)};
    }
  }
}

std::size_t Store::bytes() const {
  return bytes_.bytes() + base_.capacity() * sizeof(std::uint64_t) + place_.bytes() +
         from_.bytes() + fingerprints_.bytes() + slots_.bytes();
}

}  // namespace tempo::check
