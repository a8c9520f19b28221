// The contract of a leased address: when this machine adds, opens, announces and removes the
// addresses of one group. The machine does no I/O; the service carries out its notices and answers
// with commands.
//
// It promises:
//   - a slot of the gate is granted only after the kernel has confirmed its timeout, and only if
//     that timeout ends at least a margin before the lease does, so that a pause of this process
//     between any two steps leaves a gate that closes in time;
//   - the addresses are removed before the gate, and both before the lease is handed on;
//   - the gate opens only after a probe that found no other machine with an address.
// It leaves to others: the lease (tempod), and that the kernel keeps its timeouts (gate.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/machine.h"
#include "machine/table.h"
#include "machine/timers.h"

namespace tempo::vip {

enum class State : std::uint8_t {
  away,     // not a candidate, see `Reason`
  follow,   // a candidate; another machine may lead
  prepare,  // leads; waits for gate and addresses
  probe,    // leads; asks the network whether an address is in use
  open,     // leads; waits until the kernel has armed and granted a slot
  hold,     // the gate is open
  lapsed,   // leads, but the lease was not extended in time: the addresses are removed
  count
};

enum class Event : std::uint8_t {
  lead,       // tempod: this machine leads, or leads again
  must_stop,  // tempod: stop, or the lease is lost
  prepared,   // the gate is closed and the addresses are there
  probed,     // nobody answered
  opened,     // a slot is granted
  lapse,      // the gate has closed by itself, or there was no time to open it
  break_off,  // in use elsewhere, rules removed, a failing step, link down, check failing, suspend
  allowed,    // no reason to stay away is left
  count
};

enum class Verb : std::uint8_t {
  set_up,
  ask_network,
  arm,
  announce,
  remove,
  confirm,
  withdraw,
  stand,
  count
};

// Why this machine is not a candidate.
enum class Reason : std::uint8_t {
  none,
  in_use,      // another machine answers for an address; tries again after a pause
  rules_gone,  // somebody removed the rules of the gate; likewise
  failed,      // the kernel refused a step; likewise
  link_down,   // the interface is down or gone
  unfit,       // the check command fails
  suspended,   // the machine is about to be suspended
  count
};

using Row = TableRow<State, Event, Verb>;

// clang-format off
inline constexpr Row kRows[] = {
  // from            on                 to                does
  {State::follow,  Event::lead,       State::prepare,  {Verb::set_up}},
  {State::follow,  Event::must_stop,  State::follow,   {Verb::confirm}},
  {State::follow,  Event::break_off,  State::away,     {Verb::withdraw}},

  {State::prepare, Event::prepared,   State::probe,    {Verb::ask_network}},
  {State::prepare, Event::must_stop,  State::follow,   {Verb::remove, Verb::confirm}},
  {State::prepare, Event::lapse,      State::lapsed,   {Verb::remove}},
  {State::prepare, Event::break_off,  State::away,     {Verb::remove, Verb::withdraw}},

  {State::probe,   Event::probed,     State::open,     {Verb::arm}},
  {State::probe,   Event::must_stop,  State::follow,   {Verb::remove, Verb::confirm}},
  {State::probe,   Event::lapse,      State::lapsed,   {Verb::remove}},
  {State::probe,   Event::break_off,  State::away,     {Verb::remove, Verb::withdraw}},

  {State::open,    Event::opened,     State::hold,     {Verb::announce}},
  {State::open,    Event::must_stop,  State::follow,   {Verb::remove, Verb::confirm}},
  {State::open,    Event::lapse,      State::lapsed,   {Verb::remove}},
  {State::open,    Event::break_off,  State::away,     {Verb::remove, Verb::withdraw}},

  {State::hold,    Event::must_stop,  State::follow,   {Verb::remove, Verb::confirm}},
  {State::hold,    Event::lapse,      State::lapsed,   {Verb::remove}},
  {State::hold,    Event::break_off,  State::away,     {Verb::remove, Verb::withdraw}},

  {State::lapsed,  Event::lead,       State::prepare,  {Verb::set_up}},
  {State::lapsed,  Event::must_stop,  State::follow,   {Verb::confirm}},
  {State::lapsed,  Event::break_off,  State::away,     {Verb::withdraw}},

  {State::away,    Event::allowed,    State::follow,   {Verb::stand}},
};
// clang-format on
static_assert(deterministic(kRows));

std::string_view name_of(State state);
std::string_view sentence_of(Reason reason);  // "another machine uses the address"; none: empty

class Holder {
 public:
  enum class Timer : std::uint8_t {
    probe,     // end of the probe
    announce,  // next announcement
    renew,     // of the addresses' lifetimes
    verify,    // of the rules
    lapse,     // end of the open gate, or of the lease before it opens
    retry,     // end of a pause
    count
  };
  struct Rules {
    int announcements = 5;  // over kAnnounceFor
    bool operator==(const Rules&) const = default;
  };

  struct Command {
    enum class Kind : std::uint8_t {
      lead,       // until, also for an extension
      must_stop,  // stop or lost
      prepared,
      armed,    // slot; until: the latest time at which the kernel ends it
      granted,  // slot
      claimed,  // another machine says that it has an address
      avoid,    // reason, on: a reason to stay away begins or ends
    };
    Kind kind = Kind::lead;
    BootTime until{};
    std::uint8_t slot = 0;
    Reason reason = Reason::none;
    bool on = true;
  };
  struct Notice {
    enum class Kind : std::uint8_t {
      set_up,  // a closed gate, then the addresses; answer: prepared, or avoid failed
      probe,
      arm,    // slot, span; answer: armed, or avoid failed
      grant,  // slot; answer: granted, or avoid failed
      announce,
      renew,   // the lifetimes of the addresses
      verify,  // that the rules are there; answer if not: avoid rules_gone
      remove,  // the addresses, then the gate
      confirm,
      withdraw,
      stand,
    };
    Kind kind = Kind::stand;
    std::uint8_t slot = 0;
    Nanos span{0};
  };
  struct Message {
    static constexpr auto fields(auto list) { return list(); }
  };
  using Time = BootTime;

  static constexpr Nanos kProbe = 10ms;
  static constexpr Nanos kAnnounceFor = 3s;
  static constexpr Nanos kRenewEvery = 300ms;  // of a lifetime of 1 s
  static constexpr Nanos kVerifyEvery = 50ms;
  static constexpr Nanos kPause = 5s;
  static constexpr Nanos kClaimWindow = 10s;  // RFC 5227: two claims within it are a conflict
  static constexpr Nanos kShortestOpening = 20ms;

  explicit Holder(const Rules& rules) : rules_(rules) {}

  void start(Turn<Holder>& turn);
  void receive(Turn<Holder>& /*turn*/, NodeId /*from*/, const Message& /*message*/) {}
  void on_timer(Turn<Holder>& turn, TimerId timer);
  void command(Turn<Holder>& turn, const Command& command);
  const Timers<Timer, Time>& timers() const { return timers_; }
  const char* check() const;

  State state() const { return state_; }
  Reason reason() const;                               // while away: the first reason
  BootTime until() const { return until_; }            // end of the lease
  BootTime open_until() const { return open_until_; }  // the kernel closes the gate by then

 private:
  void happen(Turn<Holder>& turn, Event event);
  void enter(State next);
  void perform(Turn<Holder>& turn, Verb verb);
  void arm(Turn<Holder>& turn);
  void on_armed(Turn<Holder>& turn, const Command& armed);
  void on_claim(Turn<Holder>& turn);
  void avoid(Turn<Holder>& turn, Reason reason, bool on);
  bool leads() const;
  Nanos margin() const;

  Rules rules_;
  State state_ = State::away;
  Timers<Timer, Time> timers_;
  std::uint8_t reasons_ = 0;  // one bit for each
  BootTime until_{};          // of the lease
  Nanos span_{0};             // of the lease, from its last extension
  std::uint8_t slot_ = 0;     // of the last arming
  bool arming_ = false;       // it is not confirmed yet, or not granted
  BootTime armed_until_{};
  BootTime open_until_{};
  int announced_ = 0;
  int claims_ = 0;
  BootTime claimed_at_{};
};

static_assert(Machine<Holder>);

}  // namespace tempo::vip
