// The roles of fields: what a field means, where its type does not say it.
//
// A list names the role, because only the protocol knows it: `visit_as<role::call>(visit, name,
// value)`. A visitor that interprets roles has a function `in_role<kRole>(name, value)`; to all
// others the field is an ordinary one.
#pragma once

#include <cstdint>

namespace tempo {

namespace role {

enum Role : std::uint8_t {
  plain,
  fixed,  // never changes: visitors do not see it
  each,   // the elements of an array, without its size
  timer,  // unlike with other deadlines, the packed form includes how long it is overdue

  // Numbers without a bound, which the checker renames (lab/check/numbers.h). A plain Sequence was
  // assigned by the node that stores it, in a message to the node that `about` named last.
  about,        // the following fields concern this node; kNobody: the same one as before
  theirs,       // a sequence number that the node of `about` assigned
  call,         // number of a broadcast call of the node that stores it
  their_call,   // number of a broadcast call of the node of `about`
  last,         // the last sequence number assigned
  highest,      // the highest sequence number received from the node of `about`
  seen,         // bit i: the number `highest` - i was received
  newest_call,  // the newest call received from the node of `about`
  round,        // of an epoch
};

}  // namespace role

template <role::Role kRole, class Visitor, class T>
void visit_as(Visitor& visit, const char* name, T& value) {
  if constexpr (kRole == role::fixed)
    return;
  else if constexpr (kRole == role::each)
    for (auto& element : value) visit(name, element);
  else if constexpr (kRole != role::plain &&
                     requires { visit.template in_role<kRole>(name, value); })
    visit.template in_role<kRole>(name, value);
  else
    visit(name, value);
}

}  // namespace tempo
