// Finds the first voters of a network's locks: the expected number of members, which all agree.
//
// Every member without voters periodically broadcasts a proposal: the first members, up to the
// expected number, of those it hears. When all of them propose the same list, a member is *ready*
// for that list; this is on its disk before it says so. When all of them are ready, the list is
// committed and never changes.
//
// A ready member leaves its list only for a smaller one (in the order of the members), and only
// when a member of its own list says that it is ready for the smaller one: then its own list can
// never be committed. For the first member that left a list L had received such a message from a
// member of L that never was ready for L, or that had left L before; so no member has seen all of L
// ready. Two lists with a common member are therefore never both committed. If more than half of
// all members are expected, any two lists have a common member. A member that knows of more members
// than that does not become ready.
//
// The first member of a list draws a random number. It is part of the list, for all of the above,
// and with the voters it identifies the voting set: two parts of a network that never heard each
// other may agree on two sets.
//
// A member whose record is lost may have been ready for a list, so it does not take part in the
// agreement, and neither does one that shall not be a voter: it asks for the voters with an empty
// proposal, and nobody counts it.
//
// A member without an expected number does not begin an agreement. It asks for the voters a few
// times and then listens, because voters announce themselves. An operator may make it a
// *nominator*: it proposes exactly the voters that the operator names, and the others of them
// propose the same list while they hear it. Only a nominator's proposal carries a number; so the
// others, which may hear each other, do not keep a nomination alive that its nominator has given
// up. Two operators may nominate two lists without a common member at the same time: a member
// becomes ready for none while it hears a smaller one.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/inline_vector.h"
#include "base/units.h"
#include "machine/machine.h"
#include "machine/one_timer.h"

namespace tempo::lock {

inline constexpr std::size_t kMaxVoterSet = 8;
using VoterSet = InlineVector<NodeId, kMaxVoterSet>;  // in ascending order, without duplicates

bool among(const VoterSet& voters, NodeId member);

class Bootstrap {
 public:
  enum class Stage : std::uint8_t { proposed, ready, committed };

  // A message, and the record on disk.
  struct VoterProposal {
    Stage stage = Stage::proposed;
    VoterSet voters{};
    std::uint64_t number = 0;  // random, of the first voter; 0: not received from it yet

    bool operator==(const VoterProposal&) const = default;

    static constexpr auto fields(auto list) {
      return list(field<&VoterProposal::stage>("stage"), field<&VoterProposal::voters>("voters"),
                  field<&VoterProposal::number>("number"));
    }
  };
  using Message = VoterProposal;
  using Time = BootTime;
  using Record = VoterProposal;

  // The record is durable. By the ordering rule the machine need not wait for it.
  struct Persisted {
    VoterProposal record{};
  };
  // Makes this member, one of the voters, a nominator. Ignored with an expected number, by a member
  // that is aside, and by one that is ready or committed.
  struct Nominate {
    VoterSet voters{};
  };
  // The nominator gives up, unless it is ready: then the others may be, too.
  struct Abandon {};
  using Command = std::variant<Persisted, Nominate, Abandon>;
  static Command persisted(const Record& record) { return Persisted{record}; }

  struct Notice {
    enum class Kind : std::uint8_t {
      committed,  // these are the voters; this member may not be one of them
      split,      // another member has different voters
    };
    Kind kind = Kind::committed;
    NodeId from = kNobody;  // split: that member
    VoterProposal word{};
  };

  static constexpr std::size_t kMaxOthers = 64;
  static constexpr std::uint8_t kQuestions = 3;  // that an idle member asks, an interval apart

  struct Start {
    NodeId self = kNobody;
    std::uint8_t expected = 0;  // number of voters; at most kMaxVoterSet; 0: only nominations
    std::optional<VoterProposal> saved{};  // written by an earlier incarnation; unset: none
    // It takes no part in the agreement: its record is lost, or it shall not be a voter.
    bool aside = false;
    std::size_t most = kMaxOthers + 1;  // of more members, itself included, none becomes ready
    Nanos interval = 1s;                // between broadcasts while there are no voters
  };
  explicit Bootstrap(const Start& start);

  void start(Turn<Bootstrap>& turn);
  void receive(Turn<Bootstrap>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Bootstrap>& turn, TimerId timer);
  void command(Turn<Bootstrap>& turn, const Command& command);

  OneTimer<Time> timers() const { return OneTimer{next_}; }
  const char* check() const;

  const VoterProposal& word() const { return current_; }
  bool committed() const { return current_.stage == Stage::committed; }
  std::size_t heard() const { return others_.size(); }
  // It has no expected number, and there is no nomination.
  bool idle() const {
    return expected_ == 0 && nominator_ == kNobody && current_.stage == Stage::proposed;
  }
  // Number of voters that the agreement is about; 0: none.
  std::size_t expected() const { return expected_ != 0 ? expected_ : current_.voters.size(); }
  // It knows of too many members to become ready.
  bool crowded() const { return !committed() && others_.size() + 1 > most_; }

  static constexpr auto fields(auto list) {
    using M = Bootstrap;
    return list(field<&M::current_>("said"), field<&M::others_>("others"), field<&M::next_>("next"),
                field<&M::number_>("number"), field<&M::nominator_>("nominator"),
                field<&M::nominated_>("nominated"), field<&M::questions_>("questions"),
                fixed<&M::self_>(), fixed<&M::expected_>(), fixed<&M::aside_>(), fixed<&M::most_>(),
                fixed<&M::interval_>());
  }
  friend FieldCheck;

 private:
  struct Other {
    NodeId member = kNobody;
    VoterProposal proposal{};
    BootTime at{};  // arrival of its last message

    static constexpr auto fields(auto list) {
      using M = Other;
      return list(field<&M::member>("member"), field<&M::proposal>("word"), field<&M::at>("at"));
    }
  };

  void enter(Turn<Bootstrap>& turn, const VoterProposal& proposal);
  void choose();
  void learn_number();
  void follow_nominator(NodeId from, const VoterProposal& proposal, BootTime now);
  void leave_nomination();
  bool smaller_nomination(BootTime now) const;
  void advance(Turn<Bootstrap>& turn);
  void remember(NodeId from, const VoterProposal& proposal, BootTime now);
  void receive_ready(Turn<Bootstrap>& turn, NodeId from, const VoterProposal& proposal);
  void receive_committed(Turn<Bootstrap>& turn, const VoterProposal& proposal);
  bool all_others(Stage least, BootTime since) const;

  NodeId self_;
  std::uint8_t expected_;
  bool aside_;
  std::size_t most_;
  Nanos interval_;
  VoterProposal current_{};              // on disk or being written, unless its stage is proposed
  std::uint64_t number_ = 0;             // for lists that this member is the first of
  NodeId nominator_ = kNobody;           // of the nomination in which it takes part; kNobody: none
  VoterProposal nominated_{};            // the proposal of that nominator
  std::uint8_t questions_ = kQuestions;  // for the voters, still to ask while idle
  std::vector<Other> others_;            // the first kMaxOthers, in ascending order
  BootTime next_ = kNever;
};

}  // namespace tempo::lock
