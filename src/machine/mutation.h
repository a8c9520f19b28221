// Mutations: single faults built into the real class on purpose, to test the tests (decision 005).
//
// Each room lists its own in an `enum class Mutation`, from `none` to `count`. In the library that
// ships, `mutated` is false at compile time and every switch disappears. A second build of the same
// sources (TEMPO_MUTATIONS) can turn one on; tests/mutation lists for each the check that must then
// fail.
#pragma once

namespace tempo {

#ifdef TEMPO_MUTATIONS
template <class Mutation>
inline Mutation active_mutation = Mutation::none;
template <class Mutation>
bool mutated(Mutation mutation) {
  return active_mutation<Mutation> == mutation;
}
#else
template <class Mutation>
consteval bool mutated(Mutation /*mutation*/) {
  return false;
}
#endif

}  // namespace tempo
