// Mutations: single faults compiled into the real class on purpose, to test the tests (decision
// 005).
//
// Each module lists its own in an `enum class Mutation`, from `none` to `count`. In the installed
// library `mutated` is false at compile time, and the compiler removes every mutation. A second
// build of the same sources (TEMPO_MUTATIONS) can enable one; tests/mutation names the check that
// must fail for each. Besides these, any one row of any state table can be missing.
#pragma once

namespace tempo {

#ifdef TEMPO_MUTATIONS
template <class Mutation>
inline Mutation active_mutation = Mutation::none;
template <class Mutation>
bool mutated(Mutation mutation) {
  return active_mutation<Mutation> == mutation;
}
inline const void* missing_row = nullptr;
inline bool missing(const void* row) { return row == missing_row; }
#else
template <class Mutation>
consteval bool mutated(Mutation /*mutation*/) {
  return false;
}
constexpr bool missing(const void* /*row*/) { return false; }
#endif

}  // namespace tempo
