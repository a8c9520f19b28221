// The list of the fields of a type. A list that forgets a member does not compile.
//
//     class Station {
//      public:
//       static constexpr auto fields(auto list) {
//         using M = Station;
//         return list(field<&M::state_>("state"), field<&M::due_, role::timer>("due"),
//                     fixed<&M::rules_>());
//       }
//       friend FieldCheck;
//
//      private:
//       const Rules* rules_;
//       State state_;
//       Instant due_;
//     };
//
// The order of the list is the order of the packed form; it need not be the order of declaration. A
// setting that never changes is `fixed`. A type without private members needs no friend.
//
// The compiler decomposes the type into as many names as the list has entries. If these are not all
// members, that is an error: "only 3 names provided", "decomposes into 4 elements".
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "machine/field_roles.h"

namespace tempo {

template <auto kPointer, role::Role kRole>
struct Field {
  static constexpr auto kMember = kPointer;
  const char* name;

  void show(auto& object, auto& visit) const { visit_as<kRole>(visit, name, object.*kPointer); }
};

template <auto kPointer, role::Role kRole = role::plain>
constexpr Field<kPointer, kRole> field(const char* name) {
  return {name};
}
template <auto kPointer>
constexpr Field<kPointer, role::fixed> fixed() {
  return {""};
}

class FieldCheck {
 public:
  // Whether the list of T has all members, each once. A wrong number does not compile.
  template <class T>
  static consteval bool complete() {
    return T::fields([]<class... Fields>(Fields...) {
      decompose<sizeof...(Fields)>(static_cast<const T*>(nullptr));
      return ((times_listed<Fields::kMember, Fields...>() == 1) && ...);
    });
  }

 private:
  template <auto kPointer, class... Fields>
  static consteval int times_listed() {
    return (std::same_as<As<kPointer>, As<Fields::kMember>> + ...);
  }
  template <auto kPointer>
  struct As {};

  template <std::size_t kCount, class T>
  static constexpr auto decompose(const T* object) {
    static_assert(kCount <= 48, "a type of more than 48 members holds two ideas");
    static_assert(kCount > 0 || std::is_empty_v<T>, "the list is empty, the type is not");
    if (object == nullptr) return;
    // clang-format off
#define TEMPO_A a0, a1, a2, a3, a4, a5, a6, a7
#define TEMPO_B TEMPO_A, b0, b1, b2, b3, b4, b5, b6, b7
#define TEMPO_C TEMPO_B, c0, c1, c2, c3, c4, c5, c6, c7
#define TEMPO_D TEMPO_C, d0, d1, d2, d3, d4, d5, d6, d7
#define TEMPO_E TEMPO_D, e0, e1, e2, e3, e4, e5, e6, e7
#define TEMPO_INTO(count, ...) if constexpr (kCount == (count)) { [[maybe_unused]] const auto& [__VA_ARGS__] = *object; }
#define TEMPO_NEXT_8(base, ...) \
  TEMPO_INTO(base + 1, __VA_ARGS__ z0)                     TEMPO_INTO(base + 2, __VA_ARGS__ z0, z1) \
  TEMPO_INTO(base + 3, __VA_ARGS__ z0, z1, z2)             TEMPO_INTO(base + 4, __VA_ARGS__ z0, z1, z2, z3) \
  TEMPO_INTO(base + 5, __VA_ARGS__ z0, z1, z2, z3, z4)     TEMPO_INTO(base + 6, __VA_ARGS__ z0, z1, z2, z3, z4, z5) \
  TEMPO_INTO(base + 7, __VA_ARGS__ z0, z1, z2, z3, z4, z5, z6) \
  TEMPO_INTO(base + 8, __VA_ARGS__ z0, z1, z2, z3, z4, z5, z6, z7)
    TEMPO_NEXT_8(0)
    TEMPO_NEXT_8(8, TEMPO_A,)
    TEMPO_NEXT_8(16, TEMPO_B,)
    TEMPO_NEXT_8(24, TEMPO_C,)
    TEMPO_NEXT_8(32, TEMPO_D,)
    TEMPO_NEXT_8(40, TEMPO_E,)
#undef TEMPO_A
#undef TEMPO_B
#undef TEMPO_C
#undef TEMPO_D
#undef TEMPO_E
#undef TEMPO_INTO
#undef TEMPO_NEXT_8
    // clang-format on
  }
};

}  // namespace tempo
