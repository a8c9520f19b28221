// The machine contract: what every protocol in tempo looks like from outside.
//
// A machine is a value with a few doors. It is told what happened and appends what it wants done to
// an outbox. It has no socket, no clock, no thread and no random numbers of its own: time, chance
// and the network belong to whoever drives it. The simulator, the checker and the daemon drive the
// same class.
//
// What a driver promises:
//   - `start` comes first and once; `now` never goes backwards;
//   - everything that has arrived is delivered before a timer is woken;
//   - the outputs of a step are carried out in their order before the next step.
// What a machine promises:
//   - any message may come late, twice, out of order and from anybody, and does no harm;
//   - a timer woken early or twice is harmless: it looks at its own deadline;
//   - two machines whose field lists pack to the same bytes behave the same from then on.
//
// A machine of which thousands live side by side may have one door more, `fetch_ahead(from)`: a
// message of that node comes soon, and what it will need can be asked of the memory now.
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

// For machines that take no commands, or give no notices.
struct Nothing {
  template <class Self, class Visitor>
  static void fields(Self&, Visitor&) {}
};

// A machine made of machines keeps scratch outboxes for its parts in its own outbox (see mux.h).
template <class M>
struct OutboxScratch {};

enum class OutputKind : std::uint8_t { send, broadcast, notice };

// One thing a machine wants done. `to` belongs to `send`, `message` to both kinds of sending,
// `notice` is news for whoever embeds the machine.
template <class M>
struct Output {
  OutputKind kind;
  NodeId to;
  union {
    typename M::Message message;
    typename M::Notice notice;
  };
};

template <class M>
class Outbox {
 public:
  using Message = typename M::Message;
  using Notice = typename M::Notice;

  void send(NodeId to, const Message& message) {
    Output<M>& output = append(OutputKind::send);
    output.to = to;
    std::construct_at(&output.message, message);
  }
  void broadcast(const Message& message) {
    std::construct_at(&append(OutputKind::broadcast).message, message);
  }
  void notify(const Notice& notice) {
    std::construct_at(&append(OutputKind::notice).notice, notice);
  }

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
      outputs_.resize(used_ + 1, Output<M>{.kind = kind, .to = kNobody, .message = Message{}});
    }
    Output<M>& output = outputs_[used_++];
    output.kind = kind;
    return output;
  }

  std::vector<Output<M>> outputs_;  // grows to the largest step seen and is then reused
  std::size_t used_ = 0;
};

// Everything a step may know.
template <class M>
struct Turn {
  Instant now;     // local monotonic, when handled
  Draw& draw;      // chance is a door, never a member
  Outbox<M>& out;  // the driver's, reused: the steady path allocates nothing
};

template <class M>
concept Machine =
    std::copyable<M> && std::is_trivially_copyable_v<typename M::Message> &&
    std::is_trivially_copyable_v<typename M::Notice> &&
    std::is_trivially_copyable_v<typename M::Command> &&
    requires(M m, const M c, Turn<M>& turn, NodeId from, const typename M::Message& message,
             const typename M::Command& command, TimerId timer, FieldVisitor& fields,
             typename M::Message& mutable_message) {
      m.start(turn);
      m.receive(turn, from, message);  // may be late, twice, out of order, from anybody
      m.on_timer(turn, timer);         // this timer is due; early or twice is harmless
      m.command(turn, command);        // acquire, release, resign, new capacity, new bounds
      { c.timers().first() } -> std::same_as<Instant>;  // a fixed, named set
      { c.timers().first_name() } -> std::same_as<TimerId>;
      { c.timers().at(timer) } -> std::same_as<Instant>;
      { c.timers().size() } -> std::convertible_to<std::size_t>;
      { c.check() } -> std::same_as<const char*>;  // null, or the invariant that is broken
      M::fields(m, fields);                        // the one list of its state
      M::fields(c, fields);
      M::Message::fields(mutable_message, fields);
    };

}  // namespace tempo
