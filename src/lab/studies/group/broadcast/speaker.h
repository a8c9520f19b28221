// A process with an atomic broadcast and a clock of its own, for the checker.
//
// The checker's ticks are the world's time (Instant). A process reads them from a clock (WallTime)
// that is ahead by a fixed number of ticks, up to the precision. It may send one message, in any of
// its first ticks, and records what it delivers.
//
// A faulty process of the omission class fails to send or to receive any copies, which includes
// stopping in the middle of a broadcast. One of the malicious class sends under its own signature
// only: different contents under one number, to any process, at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "machine/compose.h"
#include "protocol/broadcast/atomic.h"

namespace tempo::check {

struct Payload {
  std::uint8_t value = 0;

  bool operator==(const Payload&) const = default;
  static constexpr auto fields(auto list) { return list(field<&Payload::value>("value")); }
};

// A message delivered or to be delivered, by its identity.
struct Saying {
  NodeId sender = kNobody;
  std::uint32_t number = 0;
  Nanos stamp{0};
  Payload word{};
  Nanos at{0};  // clock reading at its delivery

  bool same(const Saying& other) const {
    return sender == other.sender && number == other.number && stamp == other.stamp &&
           word == other.word && at == other.at;
  }
  static constexpr auto fields(auto list) {
    using M = Saying;
    return list(field<&M::sender>("sender"), field<&M::number>("number"), field<&M::stamp>("stamp"),
                field<&M::word>("word"), field<&M::at>("at"));
  }
};

enum class Nature : std::uint8_t { correct, omits, malicious };

class Speaker {
 public:
  using Carrier = broadcast::Atomic<Payload>;
  using Message = Carrier::Message;
  using Command = Nothing;
  using Notice = Nothing;
  using Parts = PartList<Carrier>;

  struct Part {
    Nature nature = Nature::correct;
    bool speaks = false;
    std::uint8_t window = 1;  // last tick in which it may send
    Nanos horizon{0};         // the clock stops then; nothing may be left to do
  };

  // The rules are shared and must outlive the process.
  Speaker(NodeId self, const broadcast::Rules& rules, const Part& part)
      : self_(self), rules_(&rules), part_(part), carrier_(self, Incarnation{1}, rules) {}

  void start(Turn<Speaker>& turn);
  void receive(Turn<Speaker>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Speaker>& turn, TimerId timer);
  void command(Turn<Speaker>& /*turn*/, const Command& /*command*/) {}

  // The timers of the carrier in the world's time, and the timer to send.
  class AllTimers {
   public:
    explicit AllTimers(const Speaker& speaker) : speaker_(&speaker) {}
    Instant first() const { return at(first_name()); }
    TimerId first_name() const;
    Instant at(TimerId timer) const;
    static constexpr std::size_t size() { return kTimers; }

   private:
    const Speaker* speaker_;
  };
  AllTimers timers() const { return AllTimers{*this}; }
  const char* check() const { return carrier_.check(); }

  bool correct() const { return part_.nature == Nature::correct; }
  Nanos reading(Instant now) const;
  // True if its clock has stopped with something left to do.
  bool cut_short(Instant now) const;
  const std::vector<Saying>& log() const { return log_; }
  const std::optional<Saying>& said() const { return said_; }  // unset if the carrier refused it
  broadcast::Doubt doubt() const { return carrier_.doubt(); }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [node, rules, part, carrier, end, ahead, speak_at, left, given, log, said] = self;
    visit("end", end);
    visit("ahead", ahead);
    OwnTime<Visitor> still{visit};
    still("carrier", carrier);
    still("speak_at", speak_at);
    visit("left", left);
    visit("given", given);
    visit("log", log);
    visit("said", said);
  }

 private:
  static constexpr std::size_t kTimers = static_cast<std::size_t>(broadcast::Timer::count) + 1;
  static constexpr std::size_t kMaxDelivered = 16;
  static constexpr std::uint32_t kLies = 3;  // different lies to each other process
  // Smallest clock reading: stamps are above zero.
  static constexpr Nanos kClockStart{10};

  // Visits instants of the process's own clock as plain numbers: they do not shift with the world's
  // time.
  template <class Visitor>
  class OwnTime : public FieldWalk<OwnTime<Visitor>> {
   public:
    explicit OwnTime(Visitor& visit) : visit_(&visit) {}
    template <class T>
    void leaf(const char* name, T& value) {
      if constexpr (std::is_same_v<std::remove_const_t<T>, WallTime>) {
        Nanos shown = value.time_since_epoch();
        (*visit_)(name, shown);
        if constexpr (!std::is_const_v<T>) value = WallTime{shown};
      } else {
        (*visit_)(name, value);
      }
    }
    template <role::Role kRole, class T>
      requires(kRole == role::timer)
    void in_role(const char* name, T& value) {
      leaf(name, value);
    }

   private:
    Visitor* visit_;
  };

  WallTime own(Instant now) const { return WallTime{reading(now)}; }
  Instant world(WallTime own_time) const;
  void speak(Turn<Speaker>& turn);
  void lie(Turn<Speaker>& turn);
  template <class Do>
  void carry(Turn<Speaker>& turn, Do todo);
  void send(Turn<Speaker>& turn, const Message& message);

  NodeId self_;
  const broadcast::Rules* rules_;
  Part part_;
  Carrier carrier_;
  Instant end_ = kNever;        // start + horizon, in the world's time
  Nanos ahead_{0};              // offset of its clock from the world's time
  WallTime speak_at_ = kNever;  // on its own clock
  std::uint8_t left_ = 0;       // malicious: ticks left in which it may send
  std::uint32_t given_ = 0;     // malicious: lies sent, kLies bits per node
  std::vector<Saying> log_;
  std::optional<Saying> said_;
};

}  // namespace tempo::check
