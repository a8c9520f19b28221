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
// The parts: Follower, Leader, TimeSetter, UtcSource and MainPartClock. The election chooses the
// master. The driver steers the kernel's clock and supplies the timestamps of arrival and
// departure; without them this machine uses the time of the step.
#pragma once

#include <cstdint>
#include <optional>

#include "base/node_map.h"
#include "machine/machine.h"
#include "protocol/sync/follower.h"
#include "protocol/sync/leader.h"
#include "protocol/sync/main_part.h"
#include "protocol/sync/sync_messages.h"
#include "protocol/sync/sync_step.h"
#include "protocol/sync/time_scale.h"
#include "protocol/sync/time_setter.h"
#include "protocol/sync/utc_source.h"

namespace tempo::node {

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
      : rules_(&rules),
        clock_{.steered = {start.now, start.shows, start.rate},
               .servo = clock::Servo(-start.rate)} {}

  void start(Turn<Sync>& /*turn*/) {}
  void receive(Turn<Sync>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Sync>& turn, TimerId timer);
  void command(Turn<Sync>& turn, const Command& command);

  const Timers<SyncTimer>& timers() const { return timers_; }
  const char* check() const;

  const clock::SteeredClock& steered_clock() const { return clock_.steered; }
  Reading reading(Instant now) const;
  // What the bound of `reading(now)` consists of; nullopt: this node leads, or has no estimate.
  std::optional<BoundParts> bound_parts(Instant now) const {
    return leads() ? std::nullopt : follower_.bound_parts(now, reading(now));
  }
  // Error bound of the UTC that this node carries; nullopt: it carries none.
  std::optional<Nanos> utc_bound(Instant now) const {
    const auto claim = utc_.claim(now, clock_.steered.at(now));
    return claim ? std::optional(claim->bound) : std::nullopt;
  }
  // Until when this node is in the main part; kNever: without a limit, kNeverMain: never was.
  Instant main_until() const { return main_part_.part().until; }
  // kNobody: this node leads, or has no master yet.
  NodeId reference() const { return follower_.reference(); }
  bool leads() const { return leader_.leads(); }
  double base_rate() const { return -clock_.servo.rate(); }  // rate of network time over raw time
  std::uint32_t timescale_generation() const { return setter_.generation(); }
  std::uint64_t exchanges() const { return follower_.exchanges(); }
  // Corrected at least once by the present reference.
  bool settled() const { return follower_.corrected(); }
  // Makes followers in other networks than the one we follow step to our time, as if network time
  // had been set by hand. For a submaster whose clock was stepped or that has just become master.
  void pass_on_step() { setter_.pass_on_step(); }
  using Member = TimeScale::Member;
  // Last reports, for display.
  const NodeMap<Member>& members() const { return leader_.members().members(); }
  // Our clock minus network time by the last estimate; nullopt: no estimate yet.
  std::optional<Nanos> error(Instant now) const;

 private:
  SyncStep step_of(Turn<Sync>& turn) {
    return {turn, *rules_, clock_, timers_, setter_, utc_, main_part_};
  }
  void follow(SyncStep& step, NodeId master);
  void lead(SyncStep& step);
  void answer(SyncStep& step, NodeId from, const Probe& probe);
  void set_network_time(SyncStep& step, Nanos by);
  void on_departure(SyncStep& step, const Departed& departed);
  void on_main_part(Instant now, const MainPart& part);
  Reading own_reading(Instant now) const;

  const SyncRules* rules_;
  LocalClock clock_;
  Timers<SyncTimer> timers_;
  Follower follower_;
  Leader leader_;
  TimeSetter setter_;
  UtcSource utc_;
  MainPartClock main_part_;
  bool heard_another_ = false;  // a message of another member has arrived
};

// Its statistics make every state new, and it remembers moments of the past, which the packed form
// does not distinguish. It is simulated and not checked, so it has no field list.
static_assert(Machine<Sync> && !CheckableMachine<Sync>);

}  // namespace tempo::node
