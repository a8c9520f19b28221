// Synchronization: one node's part in keeping one network time.
//
// A node that follows a master asks it for its time in small bursts of exchanges, and from them
// estimates how its own raw clock stands to the master's raw clock. The master's answers also say
// how network time stands to the master's raw clock: so the history of both clocks stays clean
// whatever is steered or set. When the election says that the master corrects (Adjtime) or sets
// (Settime) this node, its servo moves its own clock, a line over raw time, towards network time:
// by a step if it is to be set, else by a bounded change of rate.
//
// The master's own clock is network time. What its members report it combines into one scale
// (time_scale.h), and steers its own clock along it, slowly enough for the members to follow
// unheard.
//
// Silence leaves the clock at its last good rate. When the master changes, what was known of
// network time is held on to until the new master is known as well (clock/holdover.h); the bound
// then counts in that the new master knew no better. A member that hears what cannot be says so,
// and for a while neither believes it nor forgets it: if most members object, the master is at
// fault and resigns; if not, it was the member's own clock.
//
// Network time is set by hand with `set_offset`; how often that has happened, its timescale
// generation, travels with every answer, and whoever sees a higher one steps along.
//
// It leaves the choice of the master to the election and the kernel's clock to the driver. Stamps
// of arrival and departure come from the driver; without them the instant of the step is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "machine/machine.h"
#include "protocol/clock/estimation/cold_path_detector.h"
#include "protocol/clock/estimation/estimator.h"
#include "protocol/clock/holdover.h"
#include "protocol/clock/servo.h"
#include "protocol/clock/steered_clock.h"
#include "protocol/sync/time_scale.h"

namespace tempo::node {

// Of a raw clock whose rate was known and is no longer measured, by temperature.
inline constexpr double kHeldWander = 10e-6;

struct SyncRules {
  Nanos interval = 1s;  // from one burst to the next
  std::uint32_t rest_after =
      64;                   // exchanges with one reference; then there is one for each interval
  std::uint32_t burst = 3;  // exchanges, where the first of them is seen to warm the path up
  std::uint32_t first_burst = 8;  // exchanges on first contact, each of which counts
  Nanos first_spacing = 100ms;    // between those
  Nanos step_limit = 500ms;       // a larger correction is a step
  double agreement = 200e-6;      // rates within this range agree
  bool follow_ups = false;        // the driver stamps departures: answers are followed up
  Nanos stamp_grain{0};           // stamps are this coarse: 1985 had milliseconds
};

struct SyncMessage {
  enum class Kind : std::uint8_t { probe, echo, follow_up, set_offset };

  Kind kind = Kind::probe;
  bool will_follow =
      false;             // echo: `sent` comes again, better, in a follow_up; probe: is wished for
  bool objects = false;  // probe: what the receiver tells cannot be
  std::uint32_t exchange = 0;              // of the asking node
  std::uint32_t timescale_generation = 0;  // echo: how often network time was set by hand
  Nanos received{0};                       // echo: t2, master's raw clock
  Nanos sent{0};              // echo, follow_up: t3, master's raw clock; probe: own clock minus
                              // network time
  Nanos offset{0};            // echo: network time minus raw at t2; probe: own raw minus the
                              // master's; set_offset: by how much
  std::int64_t rate_ppt = 0;  // of that, parts in 10^12
  Nanos sigma{0};             // probe: standard error of the offset; 0: none known yet
  Nanos bound{0};             // echo, probe: error bound of the sender's network time
  Nanos utc_bound{0};         // probe: error bound of UTC minus network time, which `received`
                              // then says; 0: the sender carries no UTC
  Instant arrived{};          // when the datagram came in; the receiver's, never travels

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("will_follow", self.will_follow);
    visit("objects", self.objects);
    visit("exchange", self.exchange);
    visit("scale", self.timescale_generation);
    visit("received", self.received);
    visit("sent", self.sent);
    visit("offset", self.offset);
    visit("rate_ppt", self.rate_ppt);
    visit("sigma", self.sigma);
    visit("bound", self.bound);
    visit("utc_bound", self.utc_bound);
    visit("arrived", self.arrived);
  }
};
std::string_view name_of(SyncMessage::Kind kind);
inline std::string_view name_of(const SyncMessage& message) { return name_of(message.kind); }

struct SyncCommand {
  enum class What : std::uint8_t {
    follow,      // `peer` is the master; anything learnt of another is over
    lead,        // this node's clock is network time
    adjust,      // the master corrects us
    set,         // the master sets us
    departed,    // the probe or echo `exchange` to `peer` left at `at`
    set_offset,  // set network time forward by `by`
    utc,         // this host carries UTC: at `at` it was `by` since 1970, give or take `bound`
  };
  What what = What::lead;
  NodeId peer = kNobody;
  std::uint32_t exchange = 0;
  Instant at{};
  Nanos by{0};
  Nanos bound{0};
};

struct SyncNotice {
  enum class What : std::uint8_t {
    stepped,     // the clock, by `by`
    steered,     // its rate has changed
    offset_set,  // the master has set network time, by `by`
    outvoted,    // the members agree that this master's clock is wrong: it should not lead
    reinstated,  // that was long ago: it may lead again
  };
  What what = What::steered;
  NodeId peer = kNobody;
  Nanos by{0};
};

// What the clock shows, and how wrong that can be.
struct Reading {
  enum class Status : std::uint8_t { unsynchronized, holdover, synchronized, leads };
  WallTime time{};
  WallTime earliest{};
  WallTime latest{};
  Status status = Status::unsynchronized;
};
std::string_view name_of(Reading::Status status);

class Sync {
 public:
  using Message = SyncMessage;
  using Command = SyncCommand;
  using Notice = SyncNotice;

  struct Start {
    Instant now;
    WallTime shows;   // the clock, now
    double rate = 0;  // known from an earlier life
  };

  // The rules must outlive the machine.
  Sync(const Start& start, const SyncRules& rules)
      : rules_(&rules), clock_(start.now, start.shows, start.rate), servo_(-start.rate) {}

  void start(Turn<Sync>& turn);
  void receive(Turn<Sync>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Sync>& turn, TimerId timer);
  void command(Turn<Sync>& turn, const Command& command);

  enum class Timer : std::uint8_t { probe, settle, round, set_offset, ban_expiry, count };
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const;

  const clock::SteeredClock& dial() const { return clock_; }
  Reading reading(Instant now) const;
  NodeId reference() const { return reference_; }  // kNobody: leads, or has none yet
  bool leads() const { return leads_; }
  double base_rate() const { return -servo_.rate(); }  // of network time over raw time
  std::uint32_t timescale_generation() const { return timescale_generation_; }
  std::uint64_t exchanges() const { return exchanges_; }
  bool settled() const { return corrected_; }  // corrected since it follows its reference

  // What the members told the master, for those who show it.
  using Member = TimeScale::Member;
  // What we tell those who follow us.
  std::uint32_t announced_generation() const { return timescale_generation_ + passed_on_; }
  // Those who follow us in another network than the one we follow are told to step to our time, as
  // if network time had been set by hand: our clock was stepped, or we have just taken them over.
  void pass_on_step() { ++passed_on_; }
  const NodeMap<Member>& members() const { return members_.members(); }
  // Our clock minus network time, by the last estimate; nothing before there is one.
  std::optional<Nanos> error(Instant now) const;

  // What a trace shows. The statistics are left out (the estimator, what is held and remembered): a
  // state with them never comes again, so that Sync is not for the checker.
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("reference", self.reference_);
    visit("leads", self.leads_);
    visit("clock", self.clock_);
    visit("servo", self.servo_);
    visit("timers", self.timers_);
    visit("scale", self.timescale_generation_);
    visit("exchange", self.exchange_);
    visit("burst_left", self.burst_left_);
    visit("bursts", self.bursts_);
    visit("next_burst", self.next_burst_);
    visit("contacts_left", self.contacts_left_);
    for (auto& asked : self.asked_) visit("asked", asked);
    visit("published_at", self.published_.at);
    visit("published_offset", self.published_.offset);
    visit("published_rate", self.published_.rate_ppt);
    visit("published_bound", self.published_.bound);
    visit("first_heard", self.first_heard_);
    visit("last_heard", self.last_heard_);
    visit("objects_since", self.objects_since_);
    visit("objected", self.objected_);
    visit("suspicions", self.suspicions_);
    visit("held_against", self.held_against_);
    visit("held_since", self.held_since_);
    visit("held_bound", self.held_bound_);
    visit("held_followed", self.held_followed_);
    visit("leads_since", self.leads_since_);
    visit("turn_of_rate", self.turn_of_rate_);
    visit("next_vote", self.next_vote_);
    visit("owed", self.owed_);
    visit("may_step", self.may_step_);
    visit("corrected", self.corrected_);
    visit("own_time", self.own_time_);
    visit("shift_left", self.set_offset_sends_left_);
    visit("shift_by", self.set_offset_by_);
    visit("shift_number", self.set_offset_number_);
    visit("shifts_done", self.set_offsets_done_);
    visit("passed_on", self.passed_on_);
    visit("members", self.members_);
    visit("exchanges", self.exchanges_);
    visit("utc_at", self.utc_.at);
    visit("utc_beyond_raw", self.utc_.beyond_raw);
    visit("utc_bound", self.utc_.bound);
  }

 private:
  // An exchange under way.
  struct Asked {
    std::uint32_t exchange = 0;  // 0: none
    bool counts = false;         // not only to warm the path up
    bool first = false;          // of a burst of several
    bool last = false;           // of it
    bool answered = false;       // a follow_up may still come
    Instant asked{};             // r1
    Nanos received{0};           // t2
    Nanos sent{0};               // t3
    Instant heard{};             // r4

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("exchange", self.exchange);
      visit("counts", self.counts);
      visit("first", self.first);
      visit("last", self.last);
      visit("answered", self.answered);
      visit("asked", self.asked);
      visit("received", self.received);
      visit("sent", self.sent);
      visit("heard", self.heard);
    }
  };
  // What the master last said of network time.
  struct Published {
    Nanos at{0};                // on its raw clock
    Nanos offset{0};            // network time minus its raw clock, then
    std::int64_t rate_ppt = 0;  // network time over its raw clock
    Nanos bound{0};
  };

  // Network time as this node knows it.
  struct Known {
    WallTime time;
    double rate = 0;  // of our raw clock minus network time
    Nanos sigma{0};
    double fresh = 1;  // the part of the present reference in it; the rest was held
  };

  // The master's rate changes by no more than this at once, and not often; members rely on it.
  static constexpr double kMasterWander = 0.1e-6;

  static Nanos raw_of(Instant instant) { return instant.time_since_epoch(); }
  static std::int64_t whole(double rate);
  static double part(std::int64_t ppt) { return static_cast<double>(ppt) * 1e-12; }

  void follow(Turn<Sync>& turn, NodeId master);
  void lead(Turn<Sync>& turn);
  clock::Steering take_over(Instant now, const clock::Holdover& known);
  void ask(Turn<Sync>& turn, Asked asked);  // as much as is known before it is sent
  void contact(Turn<Sync>& turn);
  void begin_burst(Turn<Sync>& turn);
  void ask_next(Turn<Sync>& turn, bool first);
  void on_probe(Turn<Sync>& turn, NodeId from, const Message& message);
  void on_echo(Turn<Sync>& turn, const Message& message);
  void on_follow_up(Turn<Sync>& turn, const Message& message);
  void on_set_offset(Turn<Sync>& turn, NodeId from, const Message& message);
  void complete(Turn<Sync>& turn, Asked& asked);
  void compare_trips(const Asked& done);
  bool cannot_be(Turn<Sync>& turn, const clock::Exchange& exchange);
  bool parted_from_held(Instant now) const;
  bool excludes(Instant now, WallTime time, Nanos doubt) const;
  void finish_unfollowed(Turn<Sync>& turn);
  void correct(Turn<Sync>& turn);
  void steer(Turn<Sync>& turn, const clock::Steering& steering);
  bool knows_rate(Instant now, const clock::Estimate& estimate) const;
  void hold(Instant now);
  void remember(Instant now, const clock::Estimate& estimate, const Known& known);
  const clock::Holdover& unspoilt(Instant now) const;
  void object(Turn<Sync>& turn);
  bool objecting(Instant now) const;
  Known know(Instant now, const clock::Estimate& estimate) const;
  std::optional<Nanos> utc_gap(Instant now, WallTime network) const;
  Nanos utc_bound(Instant now) const;
  void make_round(Turn<Sync>& turn);
  void count_votes(Turn<Sync>& turn);
  void send_set_offset(Turn<Sync>& turn);
  void set_network_time(Turn<Sync>& turn, Nanos by);
  Nanos doubt_of_master(Instant now) const;
  WallTime network_at(Nanos master_raw) const;
  Instant stamp(Instant instant) const;
  Instant arrival(const Turn<Sync>& turn, const Message& message) const;

  const SyncRules* rules_;
  NodeId reference_ = kNobody;
  bool leads_ = false;
  clock::SteeredClock clock_;
  clock::Servo servo_;
  Timers<Timer> timers_;
  std::optional<clock::Estimator> estimator_;  // of the reference's raw clock; only while following
  clock::ColdPathDetector warmth_;             // of the path to the reference
  Nanos first_trip_{0};                        // of the first exchange of a burst; 0: not known
  std::optional<clock::Holdover> held_;        // of network time, from before the reference
  std::array<clock::Holdover, 12> remembered_{};  // network time at the last corrections
  std::uint32_t remembered_count_ = 0;            // ever, under this reference
  bool held_followed_ = false;                    // it came from a master, not from our own reign
  std::uint32_t timescale_generation_ = 0;        // how often network time was set by hand
  std::uint32_t passed_on_ = 0;   // steps of our own that those who follow us have to make too
  std::uint32_t exchange_ = 0;    // the last asked
  std::uint32_t burst_left_ = 0;  // exchanges of the burst still to ask
  std::uint32_t bursts_ = 0;      // begun
  Instant next_burst_{};
  std::uint32_t contacts_left_ = 0;  // exchanges of the first contact still to ask
  std::array<Asked, 4> asked_{};
  Published published_{};
  Instant first_heard_ = kNever;    // of the reference
  Instant last_heard_{};            // of the reference
  Instant objects_since_ = kNever;  // what cannot be was first heard
  Instant objected_{};              // and last
  std::uint32_t suspicions_ = 0;    // since then
  bool held_against_ = false;       // what is held speaks against the present reference
  Instant held_since_{};            // of the last correction under an earlier reference
  Nanos held_bound_{-1};            // and the bound then; negative: never corrected
  Instant leads_since_{};
  double turn_of_rate_ = 0;  // by which the rate of a young network changes every second
  Instant next_vote_{};      // votes are counted no sooner
  bool owed_ = false;        // a correction waits for an estimate
  bool may_step_ = false;    // the master has set us, or network time was set
  bool corrected_ = false;   // since we follow this reference
  bool own_time_ = true;     // no master has ever corrected us
  std::uint32_t set_offset_sends_left_ = 0;  // of set_offset messages
  Nanos set_offset_by_{0};
  std::uint32_t set_offset_number_ = 0;
  NodeMap<std::uint32_t> set_offsets_done_;  // exchange of the last set_offset of each sender
  TimeScale members_;
  std::uint64_t exchanges_ = 0;
  // What this host was last told of UTC; only one that carries it is.
  struct Utc {
    Instant at{};
    Nanos beyond_raw{0};  // UTC minus raw, then
    Nanos bound{0};       // 0: never told
  } utc_{};
};

static_assert(Machine<Sync>);

}  // namespace tempo::node
