// How the first voters of a network's locks are found: as many as are expected, all of whom agree.
//
// Every member that has no voters yet says now and then whom it would choose: the first so many of
// those it hears. When all of them say the same it is *ready* for that list, which goes on disk
// before it is said. When all of them are ready for it, it is founded, for ever.
//
// Who is ready leaves its list only for a smaller one (in the order of the members), and only when
// it hears a member of its own list say that it is ready for that one: then its own can never be
// founded. For the first who left a list L had heard somebody of L who never was ready for it, or
// had left before the first; so nobody has heard all of L ready. Two lists with a common member are
// therefore never both founded. If more than half of all members are expected, any two have one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/inline_vector.h"
#include "base/units.h"
#include "machine/machine.h"
#include "machine/one_timer.h"

namespace tempo::lock {

inline constexpr std::size_t kMaxVoterSet = 8;
using VoterSet = InlineVector<NodeId, kMaxVoterSet>;  // in their order, none twice

bool among(const VoterSet& voters, NodeId member);

class Bootstrap {
 public:
  enum class Stage : std::uint8_t { proposed, ready, committed };

  // What is said, and what is kept on disk.
  struct VoterProposal {
    Stage stage = Stage::proposed;
    VoterSet voters{};

    bool operator==(const VoterProposal&) const = default;

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("stage", self.stage);
      visit("voters", self.voters);
    }
  };
  using Message = VoterProposal;

  // `word` of the last `write` notice is on disk.
  struct Command {
    VoterProposal written{};
  };

  struct Notice {
    enum class Kind : std::uint8_t {
      write,      // put the word on disk and say so
      committed,  // these are the voters; this member may not be one
      split,      // somebody has other voters
    };
    Kind kind = Kind::write;
    VoterProposal word{};
  };

  struct Start {
    NodeId self = kNobody;
    std::uint8_t expected = 0;             // at most kMaxInRoster
    std::optional<VoterProposal> saved{};  // of an earlier life
    Nanos interval = 1s;                   // between words while there are no voters
  };
  explicit Bootstrap(const Start& start);

  void start(Turn<Bootstrap>& turn);
  void receive(Turn<Bootstrap>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Bootstrap>& turn, TimerId timer);
  void command(Turn<Bootstrap>& turn, const Command& command);

  OneTimer timers() const { return OneTimer{next_}; }
  const char* check() const;

  const VoterProposal& word() const { return said_; }
  bool committed() const { return said_.stage == Stage::committed; }
  std::size_t heard() const { return others_.size(); }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("said", self.said_);
    visit("wanted", self.wanted_);
    visit("others", self.others_);
    visit("next", self.next_);
  }

 private:
  static constexpr std::size_t kMaxOthers = 64;

  struct Other {
    NodeId member = kNobody;
    VoterProposal word{};
    Instant at{};  // when it was heard last

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("member", self.member);
      visit("word", self.word);
      visit("at", self.at);
    }
  };

  void want(Turn<Bootstrap>& turn, const VoterProposal& word);
  void choose();
  void advance(Turn<Bootstrap>& turn);
  void remember(NodeId from, const VoterProposal& word, Instant now);
  void receive_ready(Turn<Bootstrap>& turn, NodeId from, const VoterProposal& word);
  void receive_committed(Turn<Bootstrap>& turn, const VoterProposal& word);
  bool all_others(Stage least, Instant since) const;

  NodeId self_;
  std::uint8_t expected_;
  Nanos interval_;
  VoterProposal said_{};                 // on disk, unless it only claims
  std::optional<VoterProposal> wanted_;  // being written
  std::vector<Other> others_;            // the first kMaxOthers, in their order
  Instant next_ = kNever;
};

}  // namespace tempo::lock
