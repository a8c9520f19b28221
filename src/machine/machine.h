// The machine contract: the interface of every protocol in tempo.
//
// A machine is a value with a few member functions. Each takes an input and appends the resulting
// outputs to an outbox. A machine has no socket, no clock, no thread and no random numbers of its
// own: its driver supplies time and random numbers and carries messages. The simulator, the checker
// and the daemon drive the same class.
//
// A driver guarantees:
//   - it calls `start` first and once; `now` never decreases;
//   - it delivers every message that has arrived before it calls `on_timer`;
//   - it carries out the outputs of a step in their order before the next step;
//   - the ordering rule: no send, broadcast or notice that follows a `persist` leaves the host
//     before that record is durable, in this step or a later one. Then the driver gives the machine
//     the command `persisted(record)`. A later record replaces an earlier one on the disk. A whole
//     may exempt the outputs of parts that do not depend on the record (waits_for_record).
// A machine guarantees:
//   - a message that arrives late, twice, out of order or from an unknown node does no harm;
//   - an early or repeated `on_timer` does no harm: the machine checks the timer's deadline;
//   - two machines whose field lists pack to the same bytes behave the same from then on.
//
// A machine that is simulated in thousands of copies may have one more function,
// `fetch_ahead(from)`: a message of that node arrives soon, and the machine prefetches the memory
// that it will need.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/units.h"
#include "machine/fields.h"
#include "machine/timers.h"

namespace tempo {

// The command or notice type of a machine that has none.
struct Nothing {
  static constexpr auto fields(auto list) { return list(); }
};

// A composed machine keeps outboxes for its parts in its own outbox (see compose.h).
template <class M>
struct OutboxScratch {};

// The durable record of a machine; Nothing: it persists nothing.
template <class M>
struct RecordType {
  using Record = Nothing;
};
template <class M>
  requires requires { typename M::Record; }
struct RecordType<M> {
  using Record = typename M::Record;
};
template <class M>
using RecordOf = typename RecordType<M>::Record;

// The type of a machine's steps and timers: `using Time = BootTime;`. A machine that does not say
// runs on raw time.
template <class M>
struct TimeType {
  static_assert(sizeof(M) > 0, "a class that is only declared does not say its Time");
  using Time = Instant;
};
template <class M>
  requires requires { typename M::Time; }
struct TimeType<M> {
  using Time = typename M::Time;
};
template <class M>
using TimeOf = typename TimeType<M>::Time;

enum class OutputKind : std::uint8_t { send, broadcast, notice, persist };

// The content of an output: flat types share their bytes, others have members of their own.
template <class Message, class Notice, class Record>
struct OutputContent {
  Message message{};
  Notice notice{};
  Record record{};
};
template <class Message, class Notice, class Record>
  requires(std::is_trivially_copyable_v<Message> && std::is_trivially_copyable_v<Notice> &&
           std::is_trivially_copyable_v<Record>)
struct OutputContent<Message, Notice, Record> {
  OutputContent() : message{} {}
  union {
    Message message;
    Notice notice;
    Record record;
  };
};

// One output of a step. `to` is valid for `send`, `message` for `send` and `broadcast`, `record`
// for `persist`. `notice` reports an event to the driver or to the machine that embeds this one.
template <class M>
struct Output : OutputContent<typename M::Message, typename M::Notice, RecordOf<M>> {
  OutputKind kind = OutputKind::send;
  NodeId to = kNobody;
};

// Whether the ordering rule holds for this output.
template <class M>
bool waits_for_record(const Output<M>& output) {
  if constexpr (requires { M::waits_for_record(output); })
    return M::waits_for_record(output);
  else
    return true;
}

template <class M>
class Outbox {
 public:
  using Message = typename M::Message;
  using Notice = typename M::Notice;
  using Record = RecordOf<M>;

  void send(NodeId to, const Message& message) {
    Output<M>& output = append(OutputKind::send);
    output.to = to;
    set(output.message, message);
  }
  void broadcast(const Message& message) { set(append(OutputKind::broadcast).message, message); }
  void notify(const Notice& notice) { set(append(OutputKind::notice).notice, notice); }
  void persist(const Record& record) { set(append(OutputKind::persist).record, record); }

  void clear() { used_ = 0; }
  bool empty() const { return used_ == 0; }
  std::size_t size() const { return used_; }
  const Output<M>* begin() const { return outputs_.data(); }
  const Output<M>* end() const { return outputs_.data() + used_; }

  [[no_unique_address]] OutboxScratch<M> scratch;

 private:
  static constexpr std::size_t kMaxOutputs = 4 * std::size_t{kMaxNodes};

  Output<M>& append(OutputKind kind) {
    if (used_ == outputs_.size()) {
      CHECK(used_ < kMaxOutputs);
      outputs_.emplace_back();
    }
    Output<M>& output = outputs_[used_++];
    output.kind = kind;
    return output;
  }
  // Flat values share their bytes with others, which this overwrites.
  template <class T>
  static void set(T& place, const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>)
      std::construct_at(&place, value);
    else
      place = value;
  }

  std::vector<Output<M>> outputs_;  // grows to the size of the largest step and is then reused
  std::size_t used_ = 0;
};

// All inputs that every step has.
template <class M>
struct Turn {
  TimeOf<M> now;   // time of this step
  Draw& draw;      // the only source of random numbers; never a member of a machine
  Outbox<M>& out;  // owned and reused by the driver: in steady state no step allocates memory
};

// Every protocol and every service.
template <class M>
concept Machine =
    std::copyable<typename M::Message> && std::copyable<typename M::Notice> &&
    std::copyable<typename M::Command> && std::copyable<RecordOf<M>> && TimePoint<TimeOf<M>> &&
    requires(M m, const M c, Turn<M>& turn, NodeId from, const typename M::Message& message,
             const typename M::Command& command, TimerId timer) {
      m.start(turn);
      m.receive(turn, from, message);  // may be late, repeated, out of order, from any node
      m.on_timer(turn, timer);         // this timer is due; an early or repeated call is harmless
      m.command(turn, command);        // acquire, release, resign, new capacity, persisted
      { c.timers().first() } -> std::same_as<TimeOf<M>>;  // a fixed, named set
      { c.timers().first_name() } -> std::same_as<TimerId>;
      { c.timers().at(timer) } -> std::same_as<TimeOf<M>>;
      { c.timers().size() } -> std::convertible_to<std::size_t>;
      { c.check() } -> std::same_as<const char*>;  // the violated invariant; null: none
    } &&
    (std::same_as<RecordOf<M>, Nothing> || requires(const RecordOf<M>& record) {
      { M::persisted(record) } -> std::same_as<typename M::Command>;  // the record is durable
    });

// A machine whose whole state is in its field list, so that the checker recognises a state. Other
// machines are simulated but not checked exhaustively: their state has names, texts or statistics.
template <class M>
concept CheckableMachine =
    Machine<M> && std::copyable<M> && std::is_trivially_copyable_v<typename M::Message> &&
    std::is_trivially_copyable_v<typename M::Notice> &&
    std::is_trivially_copyable_v<typename M::Command> && Listed<M, FieldVisitor> &&
    Listed<const M, FieldVisitor> && Listed<typename M::Message, FieldVisitor>;

}  // namespace tempo
