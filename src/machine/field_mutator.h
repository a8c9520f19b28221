// A test helper: unnoticed_writes(sample, now) changes every listed field in turn, each time in a
// copy of the sample, and returns the names of those whose change the packed form hides.
//
// A sample should have an element in each of its containers, because only existing elements are
// changed.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "machine/fields.h"

namespace tempo {

// Changes only the leaf with number `target`, counted in the order of the walk.
template <TimePoint Time>
class FieldMutator {
 public:
  FieldMutator(std::size_t target, Time now) : target_(target), now_(now) {}

  bool written() const { return target_ < leaves_; }
  const std::string& name() const { return name_; }  // path of the changed leaf

  template <class T>
  void operator()(const char* name, T& value) {
    // A value that the list computes cannot be changed; the list passes it as const.
    if constexpr (!std::is_const_v<T>) {
      const std::size_t outer = path_.size();
      path_ += path_.empty() ? "" : ".";
      path_ += name;
      visit(value);
      path_.resize(outer);
    }
  }

 private:
  bool is_target() {
    if (leaves_++ != target_) return false;
    name_ = path_;
    return true;
  }

  template <class T>
  void visit(T& value) {
    if constexpr (Listed<T, FieldMutator>) {
      visit_fields(value, *this);
    } else if constexpr (std::same_as<T, bool>) {
      if (is_target()) value = !value;
    } else if constexpr (std::is_enum_v<T>) {
      auto number = std::to_underlying(value);
      visit(number);
      value = T{number};
    } else if constexpr (std::integral<T>) {
      if (is_target()) value = static_cast<T>(static_cast<std::make_unsigned_t<T>>(value) + 1U);
    } else if constexpr (std::same_as<T, Nanos>) {
      if (is_target()) value += Nanos{1};
    } else if constexpr (std::same_as<T, Time>) {
      // All expired deadlines are equal in the packed form, so the new value is in the future.
      if (is_target())
        value = value == kNever || value <= now_ ? now_ + Nanos{1} : value + Nanos{1};
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
    if (is_target()) {
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
    if (is_target()) {
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
    if (!is_target()) return;
    if (!value.erase(node_at(0))) value.insert(node_at(0));
  }

  template <class T, std::uint32_t kInline>
  void visit_parts(NodeMap<T, kInline>& value) {
    auto slots = value.sorted();
    if (is_target()) {
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
  Time now_;
  std::size_t leaves_ = 0;  // leaves visited
  std::string path_;        // path from the sample to the current field
  std::string name_;        // path of the changed leaf; empty: none changed
};

struct Writes {
  std::size_t tried = 0;               // leaves changed
  std::vector<std::string> unnoticed;  // paths of the leaves whose change the packed form hides
};

template <class T, TimePoint Time>
Writes write_into_every_field(const T& sample, Time now) {
  Writes writes;
  const std::string before = packed(sample, now);
  for (;; ++writes.tried) {
    T copy = sample;
    FieldMutator mutator{writes.tried, now};
    visit_fields(copy, mutator);
    if (!mutator.written()) return writes;
    if (packed(std::as_const(copy), now) == before) writes.unnoticed.push_back(mutator.name());
  }
}

template <class T, TimePoint Time>
std::vector<std::string> unnoticed_writes(const T& sample, Time now) {
  return write_into_every_field(sample, now).unnoticed;
}

}  // namespace tempo
