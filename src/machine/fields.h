// One list of fields provides equality, hash, packing, renaming and printing.
//
// A type lists its state once (field_list.h):
//
//     static constexpr auto fields(auto list) {
//       return list(field<&Clock::state_>("state"), fixed<&Clock::rules_>());
//     }
//
// A list that depends on values is a function of the value and the visitor. It begins by naming all
// members, so that it does not compile either if one is missing:
//
//     template <class Self, class Visitor>
//     static void fields(Self& self, Visitor& visit) {
//       auto& [kind, number] = self;
//       visit("kind", kind);
//       if (kind == Kind::call) visit("number", number);
//     }
//
// A visitor derives from FieldWalk<Itself> and defines `leaf(name, value)` for the leaves: whole
// numbers, bools, enums, durations, node numbers, sequence numbers, incarnations, epochs, instants.
// FieldWalk walks through optionals, vectors, node sets, node maps and types with a field list of
// their own. It visits maps and sets in ascending order, so that equal values give equal output.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "base/check.h"
#include "base/ids.h"
#include "base/node_map.h"
#include "base/node_set.h"
#include "base/units.h"
#include "machine/field_list.h"

namespace tempo {

template <class T>
concept FieldLeaf =
    std::integral<std::remove_const_t<T>> || std::is_enum_v<std::remove_const_t<T>> ||
    std::same_as<std::remove_const_t<T>, Nanos> || TimePoint<std::remove_const_t<T>> ||
    std::same_as<std::remove_const_t<T>, Epoch>;

struct AnyList {
  void operator()(auto... /*fields*/) const {}
};
template <class T, class Visitor>
concept Listed = requires {
  std::remove_const_t<T>::fields(AnyList{});
  requires FieldCheck::complete<std::remove_const_t<T>>();
} || requires(T& value, Visitor& visit) { std::remove_const_t<T>::fields(value, visit); };

template <class T, class Visitor>
void visit_fields(T& value, Visitor& visit) {
  using Type = std::remove_const_t<T>;
  if constexpr (requires { Type::fields(AnyList{}); }) {
    static_assert(FieldCheck::complete<Type>());
    Type::fields([&](auto... field) { (field.show(value, visit), ...); });
  } else {
    Type::fields(value, visit);
  }
}

template <class Visitor>
class FieldWalk {
 public:
  template <class T>
  void operator()(const char* name, T& value) {
    auto& self = static_cast<Visitor&>(*this);
    if constexpr (FieldLeaf<T>) {
      self.leaf(name, value);
    } else if constexpr (Listed<T, Visitor>) {
      self.enter(name);
      visit_fields(value, self);
      self.leave();
    } else {
      walk(name, value);
    }
  }

  void enter(const char* /*name*/) {}
  void leave() {}

 private:
  template <class T>
  void walk(const char* name, std::optional<T>& value) {
    bool present = value.has_value();
    (*this)(name, present);
    if (present != value.has_value()) present ? void(value.emplace()) : value.reset();
    if (value) (*this)(name, *value);
  }
  template <class T>
  void walk(const char* name, const std::optional<T>& value) {
    const bool present = value.has_value();
    (*this)(name, present);
    if (value) (*this)(name, *value);
  }

  template <class Vector>
    requires requires(Vector& v) {
      v.size();
      v.begin();
      v.end();
    }
  void walk(const char* name, Vector& value) {
    const auto before = static_cast<std::uint32_t>(value.size());
    auto size = before;
    (*this)(name, size);
    if constexpr (!std::is_const_v<Vector> && requires { value.resize(size); })
      if (size != before) value.resize(size);
    for (auto& element : value) (*this)(name, element);
  }

  void walk(const char* name, const NodeSet& value) {
    const auto size = static_cast<std::uint32_t>(value.size());
    (*this)(name, size);
    value.for_each([&](const NodeId node) { (*this)(name, node); });
  }
  void walk(const char* name, NodeSet& value) {
    std::vector<NodeId> nodes;
    value.for_each([&](NodeId node) { nodes.push_back(node); });
    (*this)(name, nodes);
    value.clear();
    for (const NodeId node : nodes) value.insert(node);
  }

  template <class T, std::uint32_t kInline>
  void walk(const char* name, const NodeMap<T, kInline>& value) {
    const auto size = static_cast<std::uint32_t>(value.size());
    (*this)(name, size);
    for (const auto& slot : value.sorted()) walk_slot(name, slot);
  }
  template <class T, std::uint32_t kInline>
  void walk(const char* name, NodeMap<T, kInline>& value) {
    auto slots = value.sorted();
    auto size = static_cast<std::uint32_t>(slots.size());
    (*this)(name, size);
    slots.resize(size);
    for (auto& slot : slots) walk_slot(name, slot);
    value.clear();
    for (const auto& slot : slots) value[slot.key] = slot.value;
  }
  template <class Slot>
  void walk_slot(const char* name, Slot& slot) {
    visit_as<role::about>(static_cast<Visitor&>(*this), name, slot.key);
    (*this)(name, slot.value);
  }
};

// A visitor that does nothing; the Machine concept uses it to check field lists.
class FieldVisitor : public FieldWalk<FieldVisitor> {
 public:
  template <class T>
  void leaf(const char* /*name*/, T& /*value*/) {}
};

// The packed form: equal bytes mean equal states. Times are stored relative to `now`; a
// value with times of another clock does not compile. All expired deadlines are one value, except
// those of timers. A machine therefore stores deadlines, never times of past events.
template <TimePoint Time>
class Packer : public FieldWalk<Packer<Time>> {
 public:
  Packer(Time now, std::string& bytes) : now_(now), bytes_(&bytes) {}

  template <class T>
  void leaf(const char* /*name*/, T& value) {
    if constexpr (std::same_as<std::remove_const_t<T>, Time>) {
      put(value == kNever ? std::uint64_t{0}
          : value <= now_ ? 1
                          : static_cast<std::uint64_t>((value - now_).count()) + 1);
    } else if constexpr (std::same_as<std::remove_const_t<T>, Nanos>) {
      put(static_cast<std::uint64_t>(value.count()));
    } else if constexpr (std::same_as<std::remove_const_t<T>, Epoch>) {
      put(value.round);
      put(std::to_underlying(value.node));
      put(std::to_underlying(value.incarnation));
    } else {
      put(static_cast<std::uint64_t>(value));
    }
  }

  template <role::Role kRole, class T>
    requires(kRole == role::timer)
  void in_role(const char* /*name*/, T& value) {
    if (value == kNever)
      put(0);
    else if (value >= now_)
      put(static_cast<std::uint64_t>((value - now_).count()) * 2 + 2);
    else
      put(static_cast<std::uint64_t>((now_ - value).count()) * 2 + 1);
  }

 private:
  // Seven bits per byte, low bits first, because most fields are small.
  void put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_->push_back(static_cast<char>(value | 0x80));
    bytes_->push_back(static_cast<char>(value));
  }

  Time now_;
  std::string* bytes_;
};

// Restores a value from its packed form. The bytes must come from a value of the same type.
template <TimePoint Time>
class Unpacker : public FieldWalk<Unpacker<Time>> {
 public:
  Unpacker(Time now, std::string_view bytes) : now_(now), bytes_(bytes) {}

  template <class T>
  void leaf(const char* /*name*/, T& value) {
    if constexpr (std::is_const_v<T>) {
      get();  // derived from other fields
    } else if constexpr (std::same_as<T, Time>) {
      const std::uint64_t code = get();
      value = code == 0 ? kNever : now_ + Nanos{static_cast<Nanos::rep>(code) - 1};
    } else if constexpr (std::same_as<T, Nanos>) {
      value = Nanos{static_cast<Nanos::rep>(get())};
    } else if constexpr (std::same_as<T, Epoch>) {
      value.round = static_cast<std::uint32_t>(get());
      value.node = static_cast<NodeId>(get());
      value.incarnation = static_cast<Incarnation>(get());
    } else {
      value = static_cast<T>(get());
    }
  }

  template <role::Role kRole, class T>
    requires(kRole == role::timer)
  void in_role(const char* /*name*/, T& value) {
    const auto code = static_cast<Nanos::rep>(get());
    value = code == 0       ? kNever
            : code % 2 == 0 ? now_ + Nanos{(code - 2) / 2}
                            : now_ - Nanos{(code - 1) / 2};
  }

 private:
  std::uint64_t get() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      CHECK(at_ < bytes_.size() && shift < 64);
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  }

  Time now_;
  std::string_view bytes_;
  std::size_t at_ = 0;
};

template <class T, TimePoint Time>
void unpack(T& value, std::string_view bytes, Time now) {
  Unpacker unpacker{now, bytes};
  visit_fields(value, unpacker);
}

template <class T, TimePoint Time>
std::string packed(const T& value, Time now) {
  std::string bytes;
  Packer packer{now, bytes};
  visit_fields(value, packer);
  return bytes;
}

template <class T, TimePoint Time>
std::size_t hash(const T& value, Time now) {
  return std::hash<std::string>{}(packed(value, now));
}

// Renumbers every node in the list: `to[i]` is the new number of node i; kNobody stays.
class Renamer : public FieldWalk<Renamer> {
 public:
  explicit Renamer(const std::vector<NodeId>& to) : to_(&to) {}

  template <class T>
  void leaf(const char* /*name*/, T& value) {
    if constexpr (std::same_as<T, NodeId>) value = renamed(value);
    if constexpr (std::same_as<T, Epoch>) value.node = renamed(value.node);
  }

 private:
  NodeId renamed(NodeId node) const {
    return index(node) < to_->size() ? (*to_)[index(node)] : node;
  }

  const std::vector<NodeId>* to_;
};

// Readable text: "state=3 followed=2/5 ...". An enum prints its name if `name_of(value)` is
// declared for it.
template <TimePoint Time>
class Printer : public FieldWalk<Printer<Time>> {
 public:
  explicit Printer(Time now) : now_(now) {}
  const std::string& text() const { return text_; }

  template <class T>
  void leaf(const char* name, T& value) {
    if (!text_.empty() && text_.back() != '{') text_ += ' ';
    text_ += name;
    text_ += '=';
    using Plain = std::remove_const_t<T>;
    if constexpr (std::same_as<Plain, Time>) {
      if (value == kNever)
        text_ += "never";
      else
        fmt::format_to(std::back_inserter(text_), "{:+}ns", (value - now_).count());
    } else if constexpr (std::same_as<Plain, Nanos>) {
      fmt::format_to(std::back_inserter(text_), "{}ns", value.count());
    } else if constexpr (std::same_as<Plain, Epoch>) {
      fmt::format_to(std::back_inserter(text_), "{}/{}/{}", value.round, number(value.node),
                     std::to_underlying(value.incarnation));
    } else if constexpr (std::same_as<Plain, NodeId>) {
      fmt::format_to(std::back_inserter(text_), "{}", number(value));
    } else if constexpr (requires { name_of(value); }) {
      text_ += name_of(value);
    } else if constexpr (std::is_enum_v<Plain>) {
      fmt::format_to(std::back_inserter(text_), "{}", +std::to_underlying(value));
    } else {
      fmt::format_to(std::back_inserter(text_), "{}", +value);
    }
  }

  void enter(const char* name) {
    if (!text_.empty() && text_.back() != '{') text_ += ' ';
    text_ += name;
    text_ += '{';
  }
  void leave() { text_ += '}'; }

 private:
  static std::int64_t number(NodeId node) {
    return node == kNobody ? -1 : std::int64_t{index(node)};
  }

  Time now_;
  std::string text_;
};

template <class T, TimePoint Time>
std::string printed(const T& value, Time now) {
  Printer printer{now};
  visit_fields(value, printer);
  return printer.text();
}

}  // namespace tempo
