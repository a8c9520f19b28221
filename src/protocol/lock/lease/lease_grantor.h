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

// The last that a grantor learned of the holder of a promised lease and of its clients inside.
struct Registration {
  NodeId holder = kNobody;  // kNobody: nothing
  Boot boot{};              // the holder's
  std::uint32_t sub = 0;    // of the holder's newest grant
  Insiders inside{};

  bool lists(const Insider& client) const;
  void add(const Insider& client);  // a full list stays as it is

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [holder, boot, sub, inside] = self;
    visit("holder", holder);
    if (holder == kNobody) return;
    visit("boot", boot);
    visit("sub", sub);
    visit("inside", inside);
  }
};

struct Promise {
  Ballot ballot{};
  Mode mode = Mode::exclusive;
  BootTime until{};
  Registration registered{};

  // An ASK of the holder: the larger sub replaces what is known. A resumed lease adds its clients:
  // others that an earlier incarnation let in may not be back yet.
  void note(const Registration& told, bool resumed);

  static constexpr auto fields(auto list) {
    using M = Promise;
    return list(field<&M::ballot>("ballot"), field<&M::mode>("mode"), field<&M::until>("until"),
                field<&M::registered>("registered"));
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
  Registration registers{};      // held: the holder and its clients inside; holder kNobody: none
  bool resumed = false;          // held: the lease was resumed
};

// A daemon has restarted, and a client that it let in before is still inside.
struct ResumeRequest {
  Ballot ballot{};
  Mode mode = Mode::exclusive;
  Nanos length{0};
  NodeId holder = kNobody;
  Boot boot{};  // the holder's, of its new incarnation
  Insider client{};
};

class Grantor {
 public:
  std::uint64_t top() const { return top_; }
  void raise(std::uint64_t count) { top_ = std::max(count, top_); }

  // DECIDE 2 to 6. Why::none: granted. The caller must have reserved the count.
  Why decide(const GrantRequest& request, BootTime now, const Rules& rules);
  // RESUME. Why::none: granted; `confirmed`: the client is registered under this promise.
  Why resume(const ResumeRequest& request, BootTime now, const Rules& rules, bool& confirmed);
  // The lease of this ballot was handed over: its clients of before have left.
  void note_pass(const Ballot& ballot, NodeId holder, Boot boot, std::uint32_t sub);
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
