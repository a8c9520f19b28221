// A lock in which silence is consent: mutual exclusion, and readers and writers, in a network with
// known bounds of steps and delays.
//
// A site that wants the lock sends one request to all sites and waits as long as a refusal could
// take. Silence within that window is consent; a site that refuses says so, and later takes the
// refusal back. An entry costs n - 1 messages and 2 for each refusal; explicit replies always cost
// 2(n - 1). Requests have numbers; of two requests in conflict the one with the lower (number,
// site) goes first. Mutual exclusion is the case in which all requests are exclusive.
//
// The rules, by the numbers used in mutex.cpp:
//   1  a site that wants the lock sleeps for a random time; it sleeps longer if more sites refused
//      its last request
//   2  then it takes a number above all numbers it has seen and sends its request, in one step
//   3  it waits for a window that covers both directions and the handlers of all messages
//   4  it waits until each refuser has taken its refusal back, and enters
//   5  a site that leaves takes its refusals back
//   6  when the first refuser has been silent for too long, the site repeats its request to it and
//      takes silence within a window for consent: the refuser has crashed, or its message was lost
//   7  a site that has requested the lock or is inside refuses later requests in conflict
//   8  a site that restarts without state asks all sites for the highest number, and sends no
//      request within a window
//
// The bounds are a command that can come at any time. A machine that learns that they no longer
// hold stops trusting silence in that step: it sends a new request that needs an explicit reply
// from each site (the algorithm of Ricart and Agrawala), and blocks rather than guess. Silence
// counts again from the first request after the bounds hold again.
//
// Left to the caller: one client at a time (a second acquire is ignored); holds that end within
// `longest_hold`; measuring whether the bounds hold. Numbers are not fencing tokens: they increase
// from grant to grant only while a site that never crashed is up.
//
// Source: Spirakis, Tampakas, "Efficient distributed algorithms by using the Archimedean time
// assumption", 1989, sections 2 and 3.1; Ricart, Agrawala, 1981. We differ from the printed
// algorithm, which lets two sites in:
//   - the number is taken after the sleep (rule 2), and so is the highest number seen;
//   - the window covers all handlers and their queues, not one (rule 3);
//   - replies carry the number they answer, and each site's replies are kept apart (rule 4);
//   - a silent refuser is asked, never only waited for (rule 6): no silent timeout is long enough,
//     because the refuser may itself be waiting;
//   - restarts (rule 8), 64-bit numbers;
//   - a site inside refuses every request in conflict, whatever its number (rule 7). Within the
//     bounds that never matters; where the bounds broke, it keeps out a site that returns with an
//     old number.
// doc/internals/lock.md states the guarantees of each kind of lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "machine/machine.h"
#include "protocol/lock/bounds.h"
#include "protocol/lock/mode.h"
#include "protocol/lock/mutex_mutation.h"

namespace tempo::lock {
namespace mutex {

// A place in the order of requests; 0 precedes all of them.
using Number = std::uint64_t;

enum class Variant : std::uint8_t {
  corrected,
  as_printed,
  printed_window,         // only the window is as printed: it covers one handler of requests
  modulo,                 // the paper's numbers, modulo 2n - 1
  silent_second_timeout,  // an old refusal no longer counts: one that all others could explain
};

// Whether a starting site may have run before.
enum class Birth : std::uint8_t {
  first,  // no site has requested anything yet
  again,  // it may have run before and has lost its state
};

struct Rules {
  std::uint32_t members = 2;       // the sites are 0 to members - 1
  std::optional<Bounds> bounds{};  // unset: explicit replies from the start
  Nanos step{1};                   // length of a step on the site's own clock
  Handling handling{};
  Steps longest_hold = 0;  // H: longest time inside
  Steps mindelay = 0;      // shortest sleep
  Steps delaystep = 0;     // more sleep for each expected refusal
  // Explicit replies: interval between repeated requests to a site without a reply; 0: never.
  Steps repeat = 0;
  bool load_jumps = false;     // the sleep assumes the largest possible number of refusals
  bool readers = false;        // some requests are shared: waits are twice as long
  bool hold_outlives = false;  // the client may keep running after its site crashed; needs bounds
  // A message may be older than the bounds allow: after a restart message of a refuser ask it again
  // (rule 6), because the refusal may be the newer of the two.
  bool late_restarts = false;
  Variant variant = Variant::corrected;

  Steps window(const Bounds& known) const;  // W: steps of the window
  // P: wait before a refuser is asked again; silent_second_timeout: its second timeout.
  Steps patience(const Bounds& known) const;
};

enum class Phase : std::uint8_t {
  abstaining,  // has just restarted and sends no request
  idle,
  asleep,
  window,   // has sent its request and would receive a refusal
  waiting,  // for refusers, or for explicit replies
  inside,
};

enum class Kind : std::uint8_t { request, negative, positive, restart, answer };

struct Message {
  Kind kind = Kind::request;
  Mode mode = Mode::exclusive;  // of the request
  bool reply = false;           // of the request: it needs an explicit reply
  Number number = 0;  // of the request, also in replies to it; in an answer the highest number seen
  Number ahead = 0;   // of a negative reply: number of the refuser's own request
  Incarnation life{};  // of the site that requests or restarts, also in replies and answers to it

  bool operator==(const Message&) const = default;
  static constexpr auto fields(auto list) {
    using M = Message;
    return list(field<&M::kind>("kind"), field<&M::mode>("mode"), field<&M::reply>("reply"),
                field<&M::number>("number"), field<&M::ahead>("ahead"), field<&M::life>("life"));
  }
};

struct Command {
  enum class Kind : std::uint8_t {
    acquire,
    release,    // also: the client no longer wants it
    bounds,     // `known` holds from now on
    no_bounds,  // no bounds hold from now on
  };
  Kind kind = Kind::acquire;
  Mode mode = Mode::exclusive;
  Bounds known{};

  static constexpr Command acquire(Mode mode) { return {Kind::acquire, mode, {}}; }
  static constexpr Command release() { return {Kind::release, Mode::exclusive, {}}; }
  static constexpr Command bounds(const Bounds& known) {
    return {Kind::bounds, Mode::exclusive, known};
  }
  static constexpr Command no_bounds() { return {Kind::no_bounds, Mode::exclusive, {}}; }

  static constexpr auto fields(auto list) {
    using M = Command;
    return list(field<&M::kind>("kind"), field<&M::mode>("mode"), field<&M::known>("known"));
  }
};

struct Notice {
  enum class Kind : std::uint8_t {
    requested,  // the site has sent its request
    granted,
    distrusts,  // the site needs explicit replies from now on
    trusts,     // silence counts again
  };
  Kind kind = Kind::granted;
  Mode mode = Mode::exclusive;
  Number number = 0;  // of the request

  static constexpr auto fields(auto list) {
    using M = Notice;
    return list(field<&M::kind>("kind"), field<&M::mode>("mode"), field<&M::number>("number"));
  }
};

enum class Timer : std::uint8_t {
  phase,     // the sleep, the window or the abstention is over
  patience,  // the same site has been the first refuser for too long
  answer,    // the first refuser has not answered within a window
  count
};

// State that one site keeps about another.
struct Peer {
  bool owed = false;  // repgiven: we refused it and will take that back
  bool negative = false;
  bool positive = false;  // until the end of the attempt, whatever arrives later; while abstaining:
                          // it has answered
  Number refused = 0;     // number of its request; valid while owed
  Incarnation life{};     // its incarnation when it sent that request
  Number ahead = 0;       // number with which it refused us; valid while negative

  static constexpr auto fields(auto list) {
    using M = Peer;
    return list(field<&M::owed>("owed"), field<&M::negative>("negative"),
                field<&M::positive>("positive"), field<&M::refused>("refused"),
                field<&M::life>("life"), field<&M::ahead>("ahead"));
  }
};

std::string_view name_of(Phase phase);
std::string_view name_of(Timer timer);
std::string_view name_of(const Message& message);

}  // namespace mutex

class Mutex {
 public:
  using Message = mutex::Message;
  using Time = BootTime;
  using Command = mutex::Command;
  using Notice = mutex::Notice;

  // Many machines share the rules, which must outlive them.
  Mutex(NodeId self, Incarnation incarnation, const mutex::Rules& rules, mutex::Birth birth);

  void start(Turn<Mutex>& turn);
  void receive(Turn<Mutex>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Mutex>& turn, TimerId timer);
  void command(Turn<Mutex>& turn, const Command& command);

  const Timers<mutex::Timer, Time>& timers() const { return timers_; }
  const char* check() const;

  mutex::Phase phase() const { return phase_; }
  NodeId self() const { return self_; }
  Mode mode() const { return mode_; }
  bool trusts() const { return bounds_.has_value(); }
  mutex::Number number() const { return number_; }    // osn
  mutex::Number highest() const { return highest_; }  // hsn

  static constexpr auto fields(auto list) {
    using M = Mutex;
    return list(field<&M::self_>("self"), field<&M::incarnation_>("life"),
                field<&M::birth_>("birth"), field<&M::phase_>("phase"), field<&M::mode_>("mode"),
                field<&M::wants_>("wants"), field<&M::by_silence_>("by_silence"),
                field<&M::bounds_>("bounds"), field<&M::number_>("number"),
                field<&M::highest_>("highest"), field<&M::predict_>("predict"),
                field<&M::peers_>("peers"), field<&M::head_>("head"), field<&M::timers_>("timers"),
                fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void receive_request(Turn<Mutex>& turn, NodeId from, const Message& message);
  void receive_reply(Turn<Mutex>& turn, NodeId from, const Message& message);
  void receive_restart(Turn<Mutex>& turn, NodeId from, const Message& message);
  void receive_answer(Turn<Mutex>& turn, NodeId from, const Message& message);

  void sleep(Turn<Mutex>& turn);
  void send_request(Turn<Mutex>& turn);
  void try_enter(Turn<Mutex>& turn);
  void enter(Turn<Mutex>& turn);
  void stop(Turn<Mutex>& turn);
  void take_back_refusals(Turn<Mutex>& turn);
  void watch_head(Turn<Mutex>& turn, NodeId head);
  void ask_again(Turn<Mutex>& turn, NodeId refuser);
  void begin_window(Turn<Mutex>& turn);
  void on_patience_expired(Turn<Mutex>& turn);
  void abstain(Turn<Mutex>& turn);
  void end_abstaining(Turn<Mutex>& turn);
  void trust(Turn<Mutex>& turn, const Bounds& known);
  void distrust(Turn<Mutex>& turn);

  bool asked() const { return phase_ == mutex::Phase::window || phase_ == mutex::Phase::waiting; }
  bool refuses(NodeId from, const Message& request) const;
  bool may_enter() const;
  NodeId head() const;
  bool all_positive() const;
  bool may_stop_abstaining() const;
  // Whether the first request comes after the second in the order.
  bool after(mutex::Number number, NodeId site, mutex::Number other, NodeId other_site) const;
  mutex::Number higher(mutex::Number one, mutex::Number other) const;
  mutex::Number next_number() const;
  Message request() const;
  void set(Turn<Mutex>& turn, mutex::Timer timer, Steps steps);

  NodeId self_;
  Incarnation incarnation_;
  const mutex::Rules* rules_;
  mutex::Birth birth_;
  mutex::Phase phase_ = mutex::Phase::idle;
  Mode mode_ = Mode::exclusive;     // of the current request
  std::optional<Mode> wants_;       // set only while abstaining: mode to request afterwards
  bool by_silence_ = true;          // the current request trusts silence
  std::optional<Bounds> bounds_;    // unset: no bounds hold
  mutex::Number number_ = 0;        // osn: number of the current request
  mutex::Number highest_ = 0;       // hsn: highest number seen
  std::uint32_t predict_ = 0;       // nnr of the previous attempt: its number of refusals
  std::vector<mutex::Peer> peers_;  // one for each member; the own entry is unused
  NodeId head_ = kNobody;           // refuser that `patience` and `answer` wait for; kNobody: none
  Timers<mutex::Timer, Time> timers_;
};

static_assert(CheckableMachine<Mutex>);

}  // namespace tempo::lock
