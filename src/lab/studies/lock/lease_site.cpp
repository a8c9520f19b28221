#include "lab/studies/lock/lease_site.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/check.h"
#include "protocol/lock/lease/lease_mutation.h"

namespace tempo::check {

using lock::LockId;
using lock::lease::ClientId;
using lock::lease::Mutation;

namespace {

constexpr ClientId kClient{0};
constexpr lock::lease::Session kSession{.number = 1, .process = 1};

}  // namespace

bool LeaseSite::Guest::acts(BootTime now) const {
  return inside && (now < deadline || mutated(Mutation::client_without_clock_test));
}

LeaseSite::LeaseSite(NodeId self, const Rules& rules)
    : self_(self),
      rules_(rules),
      disk_(rules.fresh_disk || (self == rules.clone && rules.copy_shows)
                ? std::nullopt
                : std::optional(lock::lease::Record{.view = rules.view})),
      member_(new_member()) {}

LeaseSite::Member LeaseSite::new_member() const {
  // The first incarnation has granted nothing before, so it need not abstain.
  return Member({.self = identity(self_),
                 .rules = rules_.lease,
                 .view = rules_.view,
                 .record = disk_,
                 .rebooted = crashes_ == 0,
                 .lost = self_ == rules_.clone && !disk_});
}

// A site and its clone do not hear each other: a member that does retires.
bool LeaseSite::hears(NodeId other) const {
  const auto side = [&](NodeId site) { return (rules_.side >> index(site) & 1) != 0; };
  return other != self_ && side(other) == side(self_) && identity(other) != identity(self_);
}

void LeaseSite::send_to_hearing(Turn<LeaseSite>& turn, const Output<Member>& output) const {
  for (std::uint32_t i = 0; i <= index(rules_.clone); ++i) {
    const NodeId site{i};
    if (hears(site) && (output.kind == OutputKind::broadcast || identity(site) == output.to))
      turn.out.send(site, output.message);
  }
}

void LeaseSite::start(Turn<LeaseSite>& turn) {
  act(turn, [](Member& member, Turn<Member>& inner) { member.start(inner); });
}

void LeaseSite::receive(Turn<LeaseSite>& turn, NodeId from, const Message& message) {
  if (!up_) return;
  act(turn,
      [&](Member& member, Turn<Member>& inner) { member.receive(inner, identity(from), message); });
}

void LeaseSite::on_timer(Turn<LeaseSite>& turn, TimerId timer) {
  if (turn.now < timers().at(timer)) return;
  switch (static_cast<Timer>(timer)) {
    case Timer::member:
      return act(turn,
                 [&](Member& member, Turn<Member>& inner) { member.on_timer(inner, TimerId{0}); });
    case Timer::client:
      next_at_ = kNever;
      return up_ ? leave(turn) : restart(turn);
    case Timer::disk:
      return finish_write(turn);
    case Timer::count:
      CHECK(false);
  }
}

Timers<LeaseSite::Timer, BootTime> LeaseSite::timers() const {
  Timers<Timer, Time> all;
  if (up_) all.set(Timer::member, member_.timers().first());
  all.set(Timer::client, next_at_);
  all.set(Timer::disk, written_at_);
  return all;
}

void LeaseSite::leave(Turn<LeaseSite>& turn) {
  if (!guest_.inside) return;
  const LockId lock = std::exchange(guest_, {}).lock;
  act(turn, [&](Member& member, Turn<Member>& inner) {
    member.command(inner, lock::lease::Command::release(lock, kClient));
  });
}

void LeaseSite::command(Turn<LeaseSite>& turn, const Command& command) {
  switch (command.kind) {
    case Command::Kind::want:
      if (!up_ || waits_ || guest_.inside || returning_) return;
      waits_ = true;
      act(turn, [&](Member& member, Turn<Member>& inner) {
        member.command(inner, lock::lease::Command::acquire(
                                  command.lock, kClient, command.mode, 0, Nanos{0},
                                  rules_.resumes ? kSession : lock::lease::Session{}));
      });
      break;
    case Command::Kind::crash:
      if (up_) crash(turn, command.loses_disk);
      break;
    case Command::Kind::change:
      if (!up_) return;
      act(turn, [&](Member& member, Turn<Member>& inner) {
        const bool votes = member.state().view().votes_for(command.member);
        member.command(inner, lock::lease::Command::change(command.member, votes ? 0 : 1));
      });
      break;
  }
}

void LeaseSite::crash(Turn<LeaseSite>& turn, bool loses_disk) {
  up_ = false;
  ++crashes_;
  if (guest_.acts(turn.now)) ghost_ = guest_;
  guest_ = {};
  waits_ = returning_ = false;
  next_at_ = turn.now + drawn_stay(turn);
  if (const std::uint64_t done = writes_.empty() ? 0 : turn.draw.below(writes_.size() + 1);
      done > 0)
    disk_ = writes_[done - 1];
  writes_.clear();
  written_at_ = kNever;
  if (loses_disk) disk_.reset();
  member_ = new_member();
}

void LeaseSite::finish_write(Turn<LeaseSite>& turn) {
  const lock::lease::Record record = writes_.front();
  writes_.erase(writes_.begin());
  written_at_ = writes_.empty() ? kNever : turn.now + rules_.write;
  save(turn, record);
}

// Not a template, so that `act` does not instantiate itself without end.
void LeaseSite::save(Turn<LeaseSite>& turn, const lock::lease::Record& record) {
  disk_ = record;
  act(turn, [&](Member& member, Turn<Member>& inner) {
    member.command(inner, Member::persisted(record));
  });
}

void LeaseSite::restart(Turn<LeaseSite>& turn) {
  up_ = true;
  start(turn);
  if (rules_.resumes && ghost_.acts(turn.now)) come_back(turn);
}

void LeaseSite::come_back(Turn<LeaseSite>& turn) {
  returning_ = true;
  act(turn, [&](Member& member, Turn<Member>& inner) {
    member.command(inner, {.kind = lock::lease::Command::Kind::resume,
                           .lock = ghost_.lock,
                           .client = kClient,
                           .mode = ghost_.mode,
                           .session = kSession,
                           .ballot = {ghost_.held.count, ghost_.origin},
                           .sub = ghost_.held.sub,
                           .deadline = ghost_.deadline});
  });
}

Nanos LeaseSite::drawn_stay(Turn<LeaseSite>& turn) const {
  return turn.draw.below(2) == 0 ? rules_.short_stay : rules_.long_stay;
}

template <class Do>
void LeaseSite::act(Turn<LeaseSite>& turn, Do todo) {
  std::vector<lock::lease::Record> written;
  step_part(turn, member_, todo, [&](const Output<Member>& output) {
    const bool sends = output.kind == OutputKind::send || output.kind == OutputKind::broadcast;
    if (sends && rules_.clone != kNobody) return send_to_hearing(turn, output);
    if (pass_on(turn, output, std::identity{})) return;
    if (output.kind == OutputKind::notice) return on_notice(turn, output.notice);
    if (rules_.write > Nanos{0}) {
      writes_.push_back(output.record);
      if (written_at_ == kNever) written_at_ = turn.now + rules_.write;
    } else {
      written.push_back(output.record);
    }
  });
  for (const lock::lease::Record& record : written) save(turn, record);
}

void LeaseSite::on_notice(Turn<LeaseSite>& turn, const lock::lease::Notice& notice) {
  using Kind = lock::lease::Notice::Kind;
  switch (notice.kind) {
    case Kind::granted:
      return enter(turn, notice);
    case Kind::extended:
      if (guest_.inside && turn.now >= guest_.deadline) revived_ = true;
      guest_.deadline = std::max(guest_.deadline, notice.deadline);
      break;
    case Kind::lost:
      if (std::exchange(returning_, false)) break;  // it is inside until its deadline
      guest_ = {};
      next_at_ = kNever;
      break;
    case Kind::refused:
    case Kind::view:
    case Kind::busy:
    case Kind::retired:
      break;
  }
}

void LeaseSite::enter(Turn<LeaseSite>& turn, const lock::lease::Notice& notice) {
  waits_ = false;
  guest_ = {.inside = true,
            .lock = notice.lock,
            .mode = notice.mode,
            .held = lock::lease::Held::of(notice.token),
            .origin = notice.origin,
            .deadline = notice.deadline};
  next_at_ = turn.now + drawn_stay(turn);
  if (!std::exchange(returning_, false)) return;
  // The same client under the same token, and not after its deadline.
  if (turn.now >= ghost_.deadline || guest_.held != ghost_.held) revived_ = true;
  guest_.deadline = std::max(guest_.deadline, ghost_.deadline);
  ghost_ = {};
}

}  // namespace tempo::check
