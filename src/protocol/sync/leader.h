// The leader's part of Sync: its clock is network time, steered along the time scale that the
// members' reports produce (time_scale.h).
//
// If most members object to its time, its own clock is wrong: it reports that, and a while later
// that it may lead again.
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/clock/holdover.h"
#include "protocol/sync/sync_messages.h"
#include "protocol/sync/sync_step.h"
#include "protocol/sync/time_scale.h"

namespace tempo::node {

class Leader {
 public:
  bool leads() const { return leads_; }
  const TimeScale& members() const { return members_; }
  // Error bound of its own reading: members may not know yet that it leads, or how the rate of a
  // young network changes, or the only member contradicts itself.
  Nanos bound(Instant now) const;

  // `young`: there was no network time before. `known`: network time with its bound, as it was
  // before the old master can have gone wrong; nullopt: this node does not know it.
  void begin(SyncStep& step, bool young, const std::optional<clock::Holdover>& known, Nanos bound);
  // Forgets all members. Returns network time by the clock of this node, as well as the members
  // know it, because one of them leads next; nullopt: this node does not lead, it has no members,
  // or its line cannot be extrapolated while a young network's rate changes.
  std::optional<clock::Holdover> end(SyncStep& step);

  void on_report(SyncStep& step, NodeId from, const Report& report);
  void make_round(SyncStep& step);
  void on_step(Nanos by) { members_.on_step(by); }  // network time was set

 private:
  clock::Steering take_over(const SyncStep& step, const clock::Holdover& known);
  void count_votes(SyncStep& step);

  bool leads_ = false;
  Instant since_{};
  Nanos handover_bound_{-1};  // error bound of network time at `since_`; negative: unknown
  double rate_change_ = 0;    // change of a young network's rate per second
  Instant next_vote_{};       // earliest next count of the votes
  TimeScale members_;
};

}  // namespace tempo::node
