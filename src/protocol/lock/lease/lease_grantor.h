// The grantor's half of a lease lock: the promises of this member for one lock.
//
// A promise says that this member grants no conflicting ballot until the promise ends. This half
// alone keeps two quorums apart; it knows nothing of clients, waiters or messages.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/inline_vector.h"
#include "base/units.h"
#include "machine/field_list.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::lock::lease {

inline constexpr std::size_t kMaxPromises = 16;  // further ones are refused as busy
inline constexpr std::size_t kMaxEnded = 4;

struct Promise {
  Ballot ballot{};
  Mode mode = Mode::exclusive;
  BootTime until{};

  static constexpr auto fields(auto list) {
    using M = Promise;
    return list(field<&M::ballot>("ballot"), field<&M::mode>("mode"), field<&M::until>("until"));
  }
};

// A request to the grantor.
struct GrantRequest {
  Ballot ballot{};
  Mode mode = Mode::exclusive;
  bool held = false;
  Nanos length{0};
  Nanos over_in = Nanos::max();  // it is over after this span by network time (section 11)
  bool own = false;              // from this member itself
  bool behind = false;           // a waiter in conflict has waited longer (DECIDE 5)
};

class Grantor {
 public:
  std::uint64_t top() const { return top_; }
  void raise(std::uint64_t count) { top_ = std::max(count, top_); }

  // DECIDE 2 to 6. Why::none: granted. The caller must have reserved the count.
  Why decide(const GrantRequest& request, BootTime now, const Rules& rules);
  // This ballot has ended and can never be granted again.
  void end(const Ballot& ballot);
  void drop_passed(BootTime now);

  bool promised(const Ballot& ballot) const;
  bool idle() const { return promises_.empty(); }
  const InlineVector<Promise, kMaxPromises>& promises() const { return promises_; }
  const InlineVector<Ballot, kMaxEnded>& ended() const { return ended_; }
  const char* check() const;

  static constexpr auto fields(auto list) {
    using M = Grantor;
    return list(field<&M::top_>("top"), field<&M::promises_>("promises"),
                field<&M::ended_>("ended"));
  }
  friend FieldCheck;

 private:
  std::uint64_t top_ = 0;  // largest count proposed, accepted or seen
  InlineVector<Promise, kMaxPromises> promises_;
  InlineVector<Ballot, kMaxEnded> ended_;
};

}  // namespace tempo::lock::lease
