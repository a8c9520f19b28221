// Optimistic reading: one writer that never waits, and readers that repeat a read that a write
// overlapped.
//
// The data are at the writer, site 0, in pieces that can only be read one at a time. The writer
// counts the writes it has begun and those it has ended. A reader requests one piece after another;
// every reply carries both counts. If the writes begun at the last reply equal those ended at the
// first, no write overlapped the read, and the pieces belong together; otherwise the reader starts
// again (Lamport, "Concurrent reading and writing", 1977).
//
// A writer that writes all the time starves every reader. If the bounds of steps are known, each
// site waits a random time before each access: a read then finds the writer waiting, and likely to
// wait long enough, with a probability that does not depend on the others. A reader needs on
// average at most 2 / gamma + 1 attempts.
//
// No site is locked out: this is for data whose readers can repeat a read, and it has no tokens.
// Source: Spirakis, Tampakas 1989, section 3.2.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/machine.h"
#include "protocol/lock/bounds.h"

namespace tempo::lock {
namespace optimistic {

inline constexpr NodeId kWriter{0};

struct Rules {
  std::uint32_t pieces = 4;
  Bounds bounds{};
  Nanos step{1};      // length of a step on a site's own clock
  Steps write = 1;    // steps to write one piece
  bool waits = true;  // false: Lamport's version, in which readers may starve

  // Upper limits, in steps of the site.
  Steps whole_write() const { return pieces * write; }  // W'
  Steps piece_read() const { return steps_covering(2 * bounds.delay_max, bounds.step_min); }
  Steps whole_read() const { return pieces * piece_read(); }  // R
  // The shortest wait; the longest is twice that.
  Steps wait() const {
    const auto both = static_cast<std::int64_t>(whole_read() + whole_write());
    return steps_covering(both * bounds.step_max, bounds.step_min);
  }
};

struct Message {
  bool reply = false;
  std::uint32_t attempt = 0;  // of the reader
  std::uint32_t piece = 0;
  // Valid in a reply.
  std::uint64_t value = 0;  // of the piece: the number of its write
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;

  bool operator==(const Message&) const = default;
  static constexpr auto fields(auto list) {
    using M = Message;
    return list(field<&M::reply>("reply"), field<&M::attempt>("attempt"), field<&M::piece>("piece"),
                field<&M::value>("value"), field<&M::begun>("begun"), field<&M::ended>("ended"));
  }
};

struct Command {
  enum class Kind : std::uint8_t {
    read,  // to a reader: repeat until a read succeeds
    stop,  // the current access is the last
  };
  Kind kind = Kind::read;

  static constexpr auto fields(auto list) { return list(field<&Command::kind>("kind")); }
};

struct Notice {
  enum class Kind : std::uint8_t {
    attempt,  // a read begins
    read,     // a read has succeeded
  };
  Kind kind = Kind::attempt;
  std::uint64_t value = 0;  // of `read`: the number of the write that wrote the data
  bool torn = false;        // of `read`: the pieces are not from one write, which must not happen

  static constexpr auto fields(auto list) {
    using M = Notice;
    return list(field<&M::kind>("kind"), field<&M::value>("value"), field<&M::torn>("torn"));
  }
};

enum class Phase : std::uint8_t { idle, waits, works };
enum class Timer : std::uint8_t {
  phase,  // the wait is over; writer: a piece is written
  reply,  // no reply has arrived: perhaps it was lost
  count
};

std::string_view name_of(const Message& message);

}  // namespace optimistic

class Optimistic {
 public:
  using Message = optimistic::Message;
  using Command = optimistic::Command;
  using Notice = optimistic::Notice;

  // Many machines share the rules, which must outlive them.
  Optimistic(NodeId self, const optimistic::Rules& rules);

  void start(Turn<Optimistic>& turn);
  void receive(Turn<Optimistic>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Optimistic>& turn, TimerId timer);
  void command(Turn<Optimistic>& turn, const Command& command);

  const Timers<optimistic::Timer>& timers() const { return timers_; }
  const char* check() const;

  bool writes() const { return self_ == optimistic::kWriter; }
  optimistic::Phase phase() const { return phase_; }

  static constexpr auto fields(auto list) {
    using M = Optimistic;
    return list(field<&M::self_>("self"), field<&M::phase_>("phase"),
                field<&M::stopped_>("stopped"), field<&M::attempt_>("attempt"),
                field<&M::piece_>("piece"), field<&M::begun_>("begun"), field<&M::ended_>("ended"),
                field<&M::value_>("value"), field<&M::torn_>("torn"), field<&M::timers_>("timers"),
                fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void wait(Turn<Optimistic>& turn);
  void begin(Turn<Optimistic>& turn);
  void write_piece(Turn<Optimistic>& turn);
  void ask_for_piece(Turn<Optimistic>& turn);
  void take_piece(Turn<Optimistic>& turn, const Message& message);
  void set(Turn<Optimistic>& turn, optimistic::Timer timer, Steps steps);

  NodeId self_;
  const optimistic::Rules* rules_;
  optimistic::Phase phase_ = optimistic::Phase::idle;
  bool stopped_ = false;
  std::uint32_t attempt_ = 0;
  std::uint32_t piece_ = 0;  // next piece to write or read
  std::uint64_t begun_ = 0;  // writer: writes begun
  std::uint64_t ended_ = 0;  // writer: writes ended; reader: of the first reply
  std::uint64_t value_ = 0;  // reader: of the first piece
  bool torn_ = false;        // reader: another piece had another value
  Timers<optimistic::Timer> timers_;
};

static_assert(CheckableMachine<Optimistic>);

}  // namespace tempo::lock
