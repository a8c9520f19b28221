// Two questions to a field list, for the tests of whatever has one.
//
//   unnoticed_writes(sample, now)  writes into every listed field in turn, each time in a fresh
//                                  copy, and names those whose change the packed form hides;
//   unlisted_bytes(sample)         counts the bytes that are neither padding nor part of a listed
//                                  field: a member that was forgotten shows up here.
//
// A good sample has something in each of its containers: what is not there cannot be written. A
// type with members that rightly stay out of its list (settings that never change, a value that
// follows from the others) expects exactly their size as unlisted bytes, and so notices the next
// member. A part that has a list of its own counts as one field here and is asked by itself.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "machine/fields.h"

namespace tempo {

// Changes the leaf with number `target`, counted in the order of the walk, and no other.
class FieldMutator {
 public:
  FieldMutator(std::size_t target, Instant now) : target_(target), now_(now) {}

  bool written() const { return target_ < leaves_; }
  const std::string& name() const { return name_; }  // of the leaf that was written, with its path

  template <class T>
  void operator()(const char* name, T& value) {
    // What the list computes on the spot cannot be written; a careful list hands it out as const.
    if constexpr (!std::is_const_v<T>) {
      const std::size_t outer = path_.size();
      path_ += path_.empty() ? "" : ".";
      path_ += name;
      visit(value);
      path_.resize(outer);
    }
  }

 private:
  bool here() {
    if (leaves_++ != target_) return false;
    name_ = path_;
    return true;
  }

  template <class T>
  void visit(T& value) {
    if constexpr (requires { T::fields(value, *this); }) {
      T::fields(value, *this);
    } else if constexpr (std::same_as<T, bool>) {
      if (here()) value = !value;
    } else if constexpr (std::is_enum_v<T>) {
      auto number = std::to_underlying(value);
      visit(number);
      value = T{number};
    } else if constexpr (std::integral<T>) {
      if (here()) value = static_cast<T>(static_cast<std::make_unsigned_t<T>>(value) + 1U);
    } else if constexpr (std::same_as<T, Nanos>) {
      if (here()) value += Nanos{1};
    } else if constexpr (std::same_as<T, Instant>) {
      // A deadline that has passed equals every other that has, so the change leads into the
      // future.
      if (here()) value = value == kNever || value <= now_ ? now_ + Nanos{1} : value + Nanos{1};
    } else if constexpr (std::same_as<T, Epoch>) {
      visit(value.round);
      visit(value.node);
      visit(value.incarnation);
    } else {
      visit_parts(value);
    }
  }

  template <class T>
  void visit_parts(std::optional<T>& value) {
    if (here()) {
      if (value)
        value.reset();
      else
        value.emplace();
    } else if (value) {
      visit(*value);
    }
  }

  template <class Vector>
    requires requires(Vector& v) { v.pop_back(); }
  void visit_parts(Vector& value) {
    if (here()) {
      if (value.empty())
        value.emplace_back();
      else
        value.pop_back();
    } else {
      for (auto& element : value) visit(element);
    }
  }

  template <class T, std::size_t kSize>
  void visit_parts(std::array<T, kSize>& value) {
    for (T& element : value) visit(element);
  }

  void visit_parts(NodeSet& value) {
    if (!here()) return;
    if (!value.erase(node_at(0))) value.insert(node_at(0));
  }

  template <class T, std::uint32_t kInside>
  void visit_parts(NodeMap<T, kInside>& value) {
    auto slots = value.sorted();
    if (here()) {
      if (slots.empty())
        slots.push_back({.key = node_at(0)});
      else
        slots.pop_back();
    } else {
      for (auto& slot : slots) {
        visit(slot.key);
        visit(slot.value);
      }
    }
    value.clear();
    for (const auto& slot : slots) value[slot.key] = slot.value;
  }

  std::size_t target_;
  Instant now_;
  std::size_t leaves_ = 0;  // met so far
  std::string path_;        // from the sample to where the walk is
  std::string name_;
};

struct Writes {
  std::size_t tried = 0;
  std::vector<std::string> unnoticed;  // the leaves whose change did not show
};

template <class T>
Writes write_into_every_field(const T& sample, Instant now) {
  Writes writes;
  const std::string before = packed(sample, now);
  for (;; ++writes.tried) {
    T copy = sample;
    FieldMutator mutator{writes.tried, now};
    T::fields(copy, mutator);
    if (!mutator.written()) return writes;
    if (packed(std::as_const(copy), now) == before) writes.unnoticed.push_back(mutator.name());
  }
}

template <class T>
std::vector<std::string> unnoticed_writes(const T& sample, Instant now) {
  return write_into_every_field(sample, now).unnoticed;
}

// Notes which bytes of an object the fields of its list occupy.
class FieldCoverage {
 public:
  FieldCoverage(const void* object, std::size_t size)
      : begin_(static_cast<const std::byte*>(object)), covered_(size) {}

  template <class T>
  void operator()(const char* /*name*/, T& value) {
    const auto* field = reinterpret_cast<const std::byte*>(std::addressof(value));
    // A value that the list makes on the spot lies elsewhere, and so do the elements of a vector.
    const std::less<> before;
    if (before(field, begin_) || !before(field, begin_ + covered_.size())) return;
    for (std::size_t i = 0; i < sizeof(value); ++i)
      covered_[static_cast<std::size_t>(field - begin_) + i] = true;
  }

  bool covers(std::size_t byte) const { return covered_[byte]; }

 private:
  const std::byte* begin_;
  std::vector<bool> covered_;
};

template <class T>
std::size_t unlisted_bytes(const T& sample) {
  T object = sample;
  FieldCoverage coverage{&object, sizeof(T)};
  // A list may walk a constant object by another way than one that can be written.
  T::fields(std::as_const(object), coverage);
  T::fields(object, coverage);

  // The compiler knows where the padding is: it clears it. The object is whole again before anybody
  // uses it. Where the compiler does not tell, every byte that is not covered may be padding.
  std::array<std::byte, sizeof(T)> padding{};
#if __has_builtin(__builtin_clear_padding)
  std::array<std::byte, sizeof(T)> saved;
  void* const bytes = &object;
  std::memcpy(saved.data(), bytes, sizeof(T));
  std::memset(bytes, 0xff, sizeof(T));
  __builtin_clear_padding(&object);
  std::memcpy(padding.data(), bytes, sizeof(T));
  std::memcpy(bytes, saved.data(), sizeof(T));
#endif
  std::size_t unlisted = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    if (!coverage.covers(i) && padding[i] != std::byte{0}) ++unlisted;
  return unlisted;
}

}  // namespace tempo
