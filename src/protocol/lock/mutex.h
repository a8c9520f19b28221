// A lock in which silence is consent: mutual exclusion, and readers and writers, in a network of
// which the bounds of steps and delays are known.
//
// Who wants the lock sends one request to everybody and waits for as long as a refusal could take.
// Silence within that window is consent; who refuses says so, and says later that it has left. An
// entry costs n - 1 messages and 2 for each refusal, where explicit replies cost 2(n - 1) always.
// Requests have numbers; of two in conflict the one with the lower (number, site) goes first.
// Mutual exclusion is the case in which all requests are exclusive.
//
// The rules, by the numbers used in mutex.cpp:
//   1  who wants the lock sleeps for a random time, longer the more refused it last time
//   2  then takes a number above all it has heard of and sends its request, in one step
//   3  waits for a window that covers both ways and the handlers of all messages
//   4  waits until each that refused has taken that back, and enters
//   5  who leaves takes back its refusals
//   6  asks the refuser that goes first again when that has been silent for too long, and takes
//      silence within a window for consent: it has crashed, or its word was lost
//   7  refuses later requests in conflict while it has asked or is inside
//   8  who restarts with nothing asks all what the highest number is, and asks for nothing else
//      within a window
//
// The bounds are a command that can come at any time. A machine that is told that they no longer
// hold trusts silence no more from that step on: it asks anew, for an explicit reply from each (the
// algorithm of Ricart and Agrawala), and blocks rather than guess. Silence counts again from the
// first request after the bounds hold again.
//
// What is left to others: one client at a time (a second acquire is ignored); that holds end within
// `longest_hold`; measuring whether the bounds hold. Numbers are not fencing tokens: they rise from
// grant to grant only while a site that never crashed is up.
//
// Source: Spirakis, Tampakas, "Efficient distributed algorithms by using the Archimedean time
// assumption", 1989, sections 2 and 3.1; Ricart, Agrawala, 1981. Where we differ from it, because
// what is printed lets two in:
//   - the number is taken after the sleep (rule 2), and so is the highest number seen;
//   - the window covers all handlers and their queues, not one (rule 3);
//   - replies carry the number they answer, and each site's are told apart (rule 4);
//   - a refuser that is silent is asked, never only waited for (rule 6): no silent time-out is long
//     enough, because the refuser may itself be waiting;
//   - restarts (rule 8), 64-bit numbers;
//   - who is inside refuses everybody in conflict, whatever the number (rule 7). Within the bounds
//     that never matters; where they broke, it keeps a site out that comes back with an old number.
// doc/internals/lock.md says what each kind of lock promises.
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

// A place in the order of requests; 0 is before all of them.
using Number = std::uint64_t;

enum class Variant : std::uint8_t {
  corrected,
  as_printed,
  printed_window,         // of what is printed the window alone: it covers one handler of requests
  modulo,                 // the paper's numbers, modulo 2n - 1
  silent_second_timeout,  // who refused longer ago than the longest hold and a window is gone
};

// What a site that starts knows of the past.
enum class Birth : std::uint8_t {
  first,  // nobody has asked for anything yet
  again,  // it may have run before, and has forgotten
};

struct Rules {
  std::uint32_t members = 2;       // sites 0 to members - 1
  std::optional<Bounds> bounds{};  // none: explicit replies from the start
  Nanos step{1};                   // what the site's own clock shows of a step
  Handling handling{};
  Steps longest_hold = 0;  // H
  Steps mindelay = 0;
  Steps delaystep = 0;
  Steps repeat = 0;            // explicit replies: who has not replied is asked again; 0: never
  bool load_jumps = false;     // then the sleep is for the most refusals there can be
  bool readers = false;        // some requests are shared: waits are twice as long
  bool hold_outlives = false;  // the client may run on when its site has crashed; needs bounds
  Variant variant = Variant::corrected;

  Steps window(const Bounds& known) const;    // W
  Steps patience(const Bounds& known) const;  // P; of the variant, its second time-out
};

enum class Phase : std::uint8_t {
  abstaining,  // has just restarted
  idle,
  asleep,
  window,   // has asked, and would hear of a refusal
  waiting,  // for those that refused, or for explicit replies
  inside,
};

enum class Kind : std::uint8_t { request, negative, positive, restart, answer };

struct Message {
  Kind kind = Kind::request;
  Mode mode = Mode::exclusive;  // of the request
  bool reply = false;           // of the request: silence is not enough
  Number number = 0;   // of the request, also in replies to it; in an answer the highest seen
  Number ahead = 0;    // of a negative reply: the number of the refuser's own request
  Incarnation life{};  // of who asks or restarts, also in replies and answers to it

  bool operator==(const Message&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("mode", self.mode);
    visit("reply", self.reply);
    visit("number", self.number);
    visit("ahead", self.ahead);
    visit("life", self.life);
  }
};

struct Command {
  enum class Kind : std::uint8_t {
    acquire,
    release,    // or: no longer wants it
    bounds,     // these hold from now on
    no_bounds,  // none do
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

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("mode", self.mode);
    visit("known", self.known);
  }
};

struct Notice {
  enum class Kind : std::uint8_t {
    requested,  // has sent its request
    granted,
    distrusts,  // explicit replies from now on
    trusts,
  };
  Kind kind = Kind::granted;
  Mode mode = Mode::exclusive;
  Number number = 0;  // of the request

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("mode", self.mode);
    visit("number", self.number);
  }
};

enum class Timer : std::uint8_t {
  phase,     // the sleep, the window, or the abstaining is over
  patience,  // the same site has been first of the refusers for too long
  answer,    // and has not answered within a window
  count
};

// What one site knows of another.
struct Peer {
  bool owed = false;  // repgiven: we refused it and will take that back
  bool negative = false;
  bool positive = false;  // for the rest of the attempt, whatever comes later; or it has answered
  Number refused = 0;     // the number of its request, while owed
  Incarnation life{};     // and which life of it that was
  Number ahead = 0;       // the number with which it refused us, while negative

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("owed", self.owed);
    visit("negative", self.negative);
    visit("positive", self.positive);
    visit("refused", self.refused);
    visit("life", self.life);
    visit("ahead", self.ahead);
  }
};

std::string_view name_of(Phase phase);
std::string_view name_of(Timer timer);
std::string_view name_of(const Message& message);

}  // namespace mutex

class Mutex {
 public:
  using Message = mutex::Message;
  using Command = mutex::Command;
  using Notice = mutex::Notice;

  // The rules are shared by many machines and must outlive them.
  Mutex(NodeId self, Incarnation life, const mutex::Rules& rules, mutex::Birth birth);

  void start(Turn<Mutex>& turn);
  void receive(Turn<Mutex>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Mutex>& turn, TimerId timer);
  void command(Turn<Mutex>& turn, const Command& command);

  const Timers<mutex::Timer>& timers() const { return timers_; }
  const char* check() const;

  mutex::Phase phase() const { return phase_; }
  NodeId self() const { return self_; }
  Mode mode() const { return mode_; }
  bool trusts() const { return bounds_.has_value(); }
  mutex::Number number() const { return number_; }    // osn
  mutex::Number highest() const { return highest_; }  // hsn

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("life", self.life_);
    visit("birth", self.birth_);
    visit("phase", self.phase_);
    visit("mode", self.mode_);
    visit("wants", self.wants_);
    visit("by_silence", self.by_silence_);
    visit("bounds", self.bounds_);
    visit("number", self.number_);
    visit("highest", self.highest_);
    visit("predict", self.predict_);
    visit("peers", self.peers_);
    visit("head", self.head_);
    visit("timers", self.timers_);
  }

 private:
  void receive_request(Turn<Mutex>& turn, NodeId from, const Message& message);
  void receive_reply(Turn<Mutex>& turn, NodeId from, const Message& message);
  void receive_restart(Turn<Mutex>& turn, NodeId from, const Message& message);
  void receive_answer(Turn<Mutex>& turn, NodeId from, const Message& message);

  void sleep(Turn<Mutex>& turn);
  void ask(Turn<Mutex>& turn);
  void look(Turn<Mutex>& turn);
  void enter(Turn<Mutex>& turn);
  void stop(Turn<Mutex>& turn);
  void take_back_refusals(Turn<Mutex>& turn);
  void watch_head(Turn<Mutex>& turn, NodeId head);
  void lose_patience(Turn<Mutex>& turn);
  void abstain(Turn<Mutex>& turn);
  void end_abstaining(Turn<Mutex>& turn);
  void trust(Turn<Mutex>& turn, const Bounds& known);
  void distrust(Turn<Mutex>& turn);

  bool asked() const { return phase_ == mutex::Phase::window || phase_ == mutex::Phase::waiting; }
  bool refuses(NodeId from, const Message& request) const;
  bool may_enter() const;
  NodeId head() const;
  bool all_positive() const;
  bool knows_enough() const;
  // Whether the first request goes after the second.
  bool after(mutex::Number number, NodeId site, mutex::Number other, NodeId other_site) const;
  mutex::Number higher(mutex::Number one, mutex::Number other) const;
  mutex::Number next_number() const;
  Message request() const;
  void set(Turn<Mutex>& turn, mutex::Timer timer, Steps steps);

  NodeId self_;
  Incarnation life_;
  const mutex::Rules* rules_;
  mutex::Birth birth_;
  mutex::Phase phase_ = mutex::Phase::idle;
  Mode mode_ = Mode::exclusive;     // of the request under way
  std::optional<Mode> wants_;       // set while abstaining only: asked for afterwards
  bool by_silence_ = true;          // the request under way trusts silence
  std::optional<Bounds> bounds_;    // none: they do not hold
  mutex::Number number_ = 0;        // osn, of the request under way
  mutex::Number highest_ = 0;       // hsn
  std::uint32_t predict_ = 0;       // nnr of the attempt before
  std::vector<mutex::Peer> peers_;  // one for each member, our own stays empty
  NodeId head_ = kNobody;           // the refuser that `patience` and `answer` are about
  Timers<mutex::Timer> timers_;
};

static_assert(Machine<Mutex>);

}  // namespace tempo::lock
