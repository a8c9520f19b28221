// Synchronization: one node's part in keeping network time.
//
// A follower sends its master bursts of probes and estimates from the echoes the offset between its
// own raw clock and the master's raw clock. The echoes also carry the offset between network time
// and the master's raw clock, so steering or setting a clock does not disturb the history of either
// raw clock. When the election reports that the master corrects (Adjtime) or sets (Settime) this
// node, the servo moves the node's steered clock, a line over raw time, towards network time: by a
// step if the node is set, otherwise by a bounded change of rate.
//
// The master's steered clock is network time. The master combines its members' reports into one
// time scale (time_scale.h) and steers its clock along it, slowly enough that members follow even
// between exchanges.
//
// Without messages the clock keeps its last good rate. When the master changes, a node holds over
// its knowledge of network time until it knows the new master as well (clock/holdover.h); its bound
// then allows for the new master having known network time no better. A member that measures an
// impossible exchange objects: it reports this to the master, and for a while it neither uses the
// exchange nor forgets it. If most members object, the master's clock is wrong and the master
// resigns; otherwise the member's own clock was wrong.
//
// An operator sets network time by hand with `SetNetworkTime`. Every echo carries the timescale
// generation, the number of times that this has happened; a node that receives a higher one steps.
//
// The election chooses the master. The driver steers the kernel's clock and supplies the timestamps
// of arrival and departure; without them this machine uses the time of the step.
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
#include "protocol/sync/sync_messages.h"
#include "protocol/sync/time_scale.h"

namespace tempo::node {

// Change of rate, by temperature, of a raw clock whose rate was known and is no longer measured.
inline constexpr double kHeldWander = 10e-6;

struct SyncRules {
  Nanos interval = 1s;            // from one burst to the next
  std::uint32_t rest_after = 64;  // exchanges with one reference; then one exchange per interval
  std::uint32_t burst = 3;        // exchanges per burst, where the first ones only warm the path up
  std::uint32_t first_burst = 8;  // exchanges on first contact, all of which count
  Nanos first_spacing = 100ms;    // between exchanges of the first contact
  Nanos step_limit = 500ms;       // larger corrections are steps
  double agreement = 200e-6;      // rates within this range agree
  bool follow_ups = false;        // the driver stamps departures: a FollowUp after each Echo
  Nanos stamp_grain{0};           // resolution of timestamps, e.g. 1 ms in 1985; 0: exact
};

// Reading of the steered clock with its error bound.
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
    WallTime shows;   // reading of the clock at `now`
    double rate = 0;  // known from an earlier run
  };

  // The rules must outlive this machine.
  Sync(const Start& start, const SyncRules& rules)
      : rules_(&rules), clock_(start.now, start.shows, start.rate), servo_(-start.rate) {}

  void start(Turn<Sync>& turn);
  void receive(Turn<Sync>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Sync>& turn, TimerId timer);
  void command(Turn<Sync>& turn, const Command& command);

  enum class Timer : std::uint8_t { probe, settle, round, set_offset, ban_expiry, count };
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const;

  const clock::SteeredClock& steered_clock() const { return clock_; }
  Reading reading(Instant now) const;
  NodeId reference() const { return reference_; }  // kNobody: this node leads, or has no master yet
  bool leads() const { return leads_; }
  double base_rate() const { return -servo_.rate(); }  // rate of network time over raw time
  std::uint32_t timescale_generation() const { return timescale_generation_; }
  std::uint64_t exchanges() const { return exchanges_; }
  bool settled() const { return corrected_; }  // corrected at least once by the present reference

  using Member = TimeScale::Member;
  // Timescale generation sent to followers; also counts the steps of pass_on_step.
  std::uint32_t announced_generation() const { return timescale_generation_ + passed_on_; }
  // Makes followers in other networks than the one we follow step to our time, as if network time
  // had been set by hand. For a submaster whose clock was stepped or that has just become master.
  void pass_on_step() { ++passed_on_; }
  const NodeMap<Member>& members() const {
    return members_.members();
  }  // last reports, for display
  // Our clock minus network time by the last estimate; nullopt: no estimate yet.
  std::optional<Nanos> error(Instant now) const;

 private:
  // A probe sent and not yet evaluated.
  struct PendingExchange {
    std::uint32_t exchange = 0;  // 0: none
    bool counts = false;         // it is measured; false: it only warms the path up
    bool first = false;          // first of a burst of several
    bool last = false;           // last of a burst of several
    bool answered = false;       // the Echo has arrived; a FollowUp may still come
    Instant asked{};             // r1
    Nanos received{0};           // t2
    Nanos sent{0};               // t3
    Instant heard{};             // r4
  };
  // Network time as the master last announced it.
  struct Published {
    Nanos at{0};                // time of the announcement on its raw clock
    Nanos offset{0};            // network time minus its raw clock at `at`
    std::int64_t rate_ppt = 0;  // rate of network time over its raw clock, parts in 10^12
    Nanos bound{0};             // error bound of the master's network time
  };

  // Network time as this node knows it.
  struct Known {
    WallTime time;
    double rate = 0;  // of our raw clock minus network time
    Nanos sigma{0};
    double fresh = 1;  // weight of the present reference; the rest is holdover
  };

  // Largest change of the master's rate per round; the members' bounds rely on it.
  static constexpr double kMasterWander = 0.1e-6;

  static Nanos raw_of(Instant instant) { return instant.time_since_epoch(); }
  static std::int64_t to_ppt(double rate);
  static double from_ppt(std::int64_t ppt) { return static_cast<double>(ppt) * 1e-12; }

  void follow(Turn<Sync>& turn, NodeId master);
  void lead(Turn<Sync>& turn);
  clock::Steering take_over(Instant now, const clock::Holdover& known);
  void send_probe(Turn<Sync>& turn, PendingExchange asked);  // `exchange` and `asked` are filled in
  void contact(Turn<Sync>& turn);
  void begin_burst(Turn<Sync>& turn);
  void probe_next(Turn<Sync>& turn, bool first);
  void on_message(Turn<Sync>& turn, NodeId from, const Probe& probe);
  void on_message(Turn<Sync>& turn, NodeId from, const Echo& echo);
  void on_message(Turn<Sync>& turn, NodeId from, const FollowUp& follow_up);
  void on_message(Turn<Sync>& turn, NodeId from, const SetTime& request);
  void on_command(Turn<Sync>& turn, const Follow& command) { follow(turn, command.master); }
  void on_command(Turn<Sync>& turn, const Lead& /*command*/) { lead(turn); }
  void on_command(Turn<Sync>& turn, const Adjust& /*command*/) { correct(turn); }
  void on_command(Turn<Sync>& turn, const Set& command);
  void on_command(Turn<Sync>& turn, const Departed& departed);
  void on_command(Turn<Sync>& turn, const SetNetworkTime& command);
  void on_command(Turn<Sync>& turn, const CarryUtc& command);
  void complete(Turn<Sync>& turn, PendingExchange& asked);
  void compare_trips(const PendingExchange& done);
  bool is_impossible(Turn<Sync>& turn, const clock::Exchange& exchange);
  bool contradicts_holdover(Instant now) const;
  bool excludes(Instant now, WallTime time, Nanos doubt) const;
  void complete_without_follow_up(Turn<Sync>& turn);
  void correct(Turn<Sync>& turn);
  void steer(Turn<Sync>& turn, const clock::Steering& steering);
  bool knows_rate(Instant now, const clock::Estimate& estimate) const;
  void hold(Instant now);
  void remember(Instant now, const clock::Estimate& estimate, const Known& known);
  const clock::Holdover& record_before_fault(Instant now) const;
  void raise_objection(Turn<Sync>& turn);
  bool objecting(Instant now) const;
  Known known_at(Instant now, const clock::Estimate& estimate) const;
  std::optional<Nanos> utc_gap(Instant now, WallTime network) const;
  Nanos utc_bound(Instant now) const;
  void make_round(Turn<Sync>& turn);
  void count_votes(Turn<Sync>& turn);
  void send_set_offset(Turn<Sync>& turn);
  void set_network_time(Turn<Sync>& turn, Nanos by);
  Nanos master_bound(Instant now) const;
  WallTime network_at(Nanos master_raw) const;
  Instant stamp(Instant instant) const;
  Instant arrival(Instant now, Instant arrived) const;

  const SyncRules* rules_;
  NodeId reference_ = kNobody;
  bool leads_ = false;
  clock::SteeredClock clock_;
  clock::Servo servo_;
  Timers<Timer> timers_;
  std::optional<clock::Estimator> estimator_;  // of the reference's raw clock; set while following
  clock::ColdPathDetector cold_path_;          // of the path to the reference
  Nanos first_trip_{0};                  // round trip of the first exchange of a burst; 0: unknown
  std::optional<clock::Holdover> held_;  // network time as known before the present reference
  std::array<clock::Holdover, 12> remembered_{};  // network time at the last corrections, a ring
  std::uint32_t remembered_count_ = 0;            // corrections recorded under this reference
  bool held_followed_ = false;  // held_ comes from a master, not from our own mastership
  std::uint32_t timescale_generation_ = 0;  // number of times that network time was set by hand
  std::uint32_t passed_on_ = 0;             // steps of our clock that our followers must make too
  std::uint32_t exchange_ = 0;              // number of the last exchange
  std::uint32_t burst_left_ = 0;            // exchanges of the burst still to send
  std::uint32_t bursts_ = 0;                // bursts begun
  Instant next_burst_{};
  std::uint32_t contacts_left_ = 0;  // exchanges of the first contact still to send
  std::array<PendingExchange, 4> pending_{};
  Published published_{};
  Instant first_heard_ = kNever;    // first echo of the reference; kNever: none yet
  Instant last_heard_{};            // last echo of the reference
  Instant objects_since_ = kNever;  // first impossible exchange; kNever: none
  Instant last_objection_{};        // last impossible exchange
  std::uint32_t suspicions_ = 0;    // impossible exchanges since objects_since_
  bool held_against_ = false;       // held_ contradicts the present reference
  Instant held_since_{};            // last correction under an earlier reference
  Nanos held_bound_{-1};            // error bound at that time; negative: never corrected
  Instant leads_since_{};
  double rate_change_ = 0;       // change of a young network's rate per second
  Instant next_vote_{};          // earliest next count of the votes
  bool correction_due_ = false;  // a correction waits for an estimate
  bool may_step_ = false;   // the next correction may be a step: the node or network time was set
  bool corrected_ = false;  // at least once since this node follows the reference
  bool own_time_ = true;    // no master has ever corrected this node
  std::uint32_t set_offset_sends_left_ = 0;  // retransmissions of SetTime still to send
  Nanos set_offset_by_{0};                   // its offset
  std::uint32_t set_offset_number_ = 0;      // its number, to detect duplicates
  NodeMap<std::uint32_t> set_offsets_done_;  // number of the last SetTime executed, by sender
  TimeScale members_;
  std::uint64_t exchanges_ = 0;
  // The last CarryUtc.
  struct Utc {
    Instant at{};
    Nanos beyond_raw{0};  // UTC minus the raw clock at `at`
    Nanos bound{0};       // error bound; 0: this host carries no UTC
  } utc_{};
};

// Its statistics make every state new, so it is simulated and not checked.
static_assert(Machine<Sync> && !CheckableMachine<Sync>);

}  // namespace tempo::node
