#include "services/etcd/session.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"

namespace tempo::etcd {
namespace {

using State = ipc::LockUpdate::State;

constexpr Nanos kLookInterval = 2s;              // interval of looks at a lock that is waited for
constexpr Nanos kLeaderChangePause = 50ms;       // pause before a renewal with a new leader
constexpr std::int64_t kClockRateMargin = 1000;  // one part in 1000, for the rates of two clocks

// The part of a lease that is safe here, counted from before its request.
Nanos safe_span(Nanos span) { return span - span / kClockRateMargin; }

Nanos seconds(std::int64_t count) { return std::chrono::seconds{count}; }

}  // namespace

void Session::ask(const Request& request, Asked asked) {
  asked_[++last_number_] = std::move(asked);
  driver_->ask(last_number_, request);
}

Nanos Session::pause() const {
  return std::max<Nanos>((held_ ? held_->span : options_.lease) / 10, 100ms);
}

// --- requests of programs ---

void Session::acquire(BootTime now, std::int64_t id, const std::string& name, bool shared) {
  CHECK(!claims_.contains(id));
  tempod_seen_ = now;
  claims_[id] = {.name = name, .shared = shared};
  advance_claims(now);
}

void Session::release(BootTime now, std::int64_t id) {
  const auto found = claims_.find(id);
  if (found == claims_.end()) return;
  Claim& claim = found->second;
  if (claim.stage == Stage::entering) {
    claim.released = true;  // the key must not be created after its removal
    return;
  }
  // The key of a request that is to be repeated may exist already: the first one got no answer.
  if (!claim.key.empty()) leave(now, claim.key, claim.stage == Stage::wanted);
  claims_.erase(found);
}

void Session::close(BootTime now) {
  const bool some_inside = std::ranges::any_of(
      claims_, [](const auto& claim) { return claim.second.stage == Stage::inside; });
  for (const auto& [id, claim] : claims_)
    if (some_inside && claim.stage != Stage::inside && !claim.key.empty())
      leave(now, claim.key, false);
  if (!some_inside && held_)
    ask(revoke_lease(held_->id), {.kind = Asked::Kind::revoke, .sent = now});
  claims_.clear();
  leaving_.clear();
  held_.reset();
}

// Advances all claims as far as possible.
void Session::advance_claims(BootTime now) {
  for (auto& [id, claim] : claims_) {
    if (claim.stage != Stage::wanted) continue;
    if (held_) {
      enter(now, id, claim);
    } else if (!std::exchange(granting_, true)) {
      ask(grant_lease(std::chrono::ceil<std::chrono::seconds>(options_.lease).count()),
          {.kind = Asked::Kind::grant, .sent = now});
    }
  }
}

void Session::enter(BootTime now, std::int64_t id, Claim& claim) {
  const std::string directory = directory_of(options_.cluster, claim.name);
  if (claim.key.empty()) claim.key = key_of(directory, claim.shared, held_->id, ++last_key_);
  claim.stage = Stage::entering;
  ask(etcd::enter(directory, claim.key, options_.host, held_->id),
      {.kind = Asked::Kind::enter, .sent = now, .lease = held_->id, .id = id, .key = claim.key});
}

void Session::leave(BootTime now, const std::string& key, bool unsure) {
  leaving_[key] = {.next = kNever, .unsure = unsure};
  ask(remove(key),
      {.kind = Asked::Kind::remove, .sent = now, .lease = held_ ? held_->id : "", .key = key});
}

void Session::look(BootTime now, const std::string& name) {
  if (const auto found = looking_.find(name); found != looking_.end()) {
    found->second = true;
    return;
  }
  looking_[name] = false;
  ask(etcd::look(directory_of(options_.cluster, name)),
      {.kind = Asked::Kind::look, .sent = now, .name = name});
}

// --- answers of etcd ---

void Session::answered(BootTime now, std::uint64_t number, const Result<Json>& answer) {
  const auto found = asked_.find(number);
  if (found == asked_.end()) return;
  const Asked asked = std::move(found->second);
  asked_.erase(found);
  Result<Json> result = answer;
  if (answer)
    if (const std::string error = error_in(*answer); !error.empty())
      result = std::unexpected(fmt::format("etcd error: {}", error));
  switch (asked.kind) {
    case Asked::Kind::grant:
      return on_grant(now, asked, result);
    case Asked::Kind::keep_alive:
      return on_keep_alive(now, asked, result);
    case Asked::Kind::confirm:
      return on_confirm(now, asked, result);
    case Asked::Kind::enter:
      return on_enter(now, asked, result);
    case Asked::Kind::look:
      return on_look(now, number, asked, result);
    case Asked::Kind::remove:
      return on_remove(now, asked, result);
    case Asked::Kind::revoke:
      return;
  }
}

void Session::on_grant(BootTime now, const Asked& asked, const Result<Json>& answer) {
  granting_ = false;
  const auto lease = answer ? lease_of(*answer) : std::unexpected(answer.error());
  if (!lease || lease->seconds == 0) {
    const std::string sentence = lease ? "etcd granted no lease" : lease.error();
    std::erase_if(claims_, [&](const auto& claim) {
      if (claim.second.stage != Stage::wanted) return false;
      driver_->refuse(claim.first, sentence);
      return true;
    });
    return;
  }
  const Nanos span = seconds(lease->seconds);
  held_ = Held{.id = lease->id,
               .span = span,
               .deadline = asked.sent + safe_span(span),
               .renew = asked.sent + span / 3};
  if (now < held_->deadline) advance_claims(now);
}

void Session::on_keep_alive(BootTime now, const Asked& asked, const Result<Json>& answer) {
  if (!held_ || held_->id != asked.lease) return;
  const auto lease = answer ? lease_of(*answer) : std::unexpected(answer.error());
  if (lease && lease->seconds == 0) return on_lease_expired(now);
  if (!lease) {
    renewing_ = false;
    held_->renew = now + pause();
    return;
  }
  ask(confirm(directory_of(options_.cluster)), {.kind = Asked::Kind::confirm,
                                                .sent = now,
                                                .lease = asked.lease,
                                                .term = lease->term,
                                                .span = seconds(lease->seconds),
                                                .renewed = asked.sent});
}

void Session::on_confirm(BootTime now, const Asked& asked, const Result<Json>& answer) {
  if (!held_ || held_->id != asked.lease) return;
  renewing_ = false;
  const auto term = answer ? term_of(*answer) : std::unexpected(answer.error());
  if (!term || *term != asked.term) {
    held_->renew = now + (term ? kLeaderChangePause : pause());
    return;
  }
  held_->span = asked.span;
  held_->renew = std::max(asked.renewed + asked.span / 3, now + kLeaderChangePause);
  const BootTime deadline = asked.renewed + safe_span(asked.span);
  if (deadline <= held_->deadline) return;
  held_->deadline = deadline;
  for (const auto& [id, claim] : claims_)
    if (claim.stage == Stage::inside)
      driver_->notify(
          {.id = id, .state = State::extended, .until_ns = deadline.time_since_epoch().count()});
}

void Session::on_enter(BootTime now, const Asked& asked, const Result<Json>& answer) {
  const auto found = claims_.find(asked.id);
  if (found == claims_.end() || found->second.key != asked.key)
    return;  // belongs to an earlier lease
  Claim& claim = found->second;
  const auto line = answer ? queue_of(*answer) : std::unexpected(answer.error());
  if (!line && lease_expired(line.error())) {
    if (claim.released) claims_.erase(found);
    return on_lease_expired(now);
  }
  if (claim.released) {
    leave(now, claim.key, !line);
    claims_.erase(found);
    return;
  }
  if (!line) {  // retry with the same key: there must not be two
    claim.stage = Stage::wanted;
    next_look_ = std::min(next_look_, now + pause());
    return;
  }
  claim.stage = Stage::waiting;
  claim.known = last_number_;
  judge(now, asked.id, claim, *line);
  if (claim.stage != Stage::inside) next_look_ = std::min(next_look_, now + kLookInterval);
}

void Session::on_look(BootTime now, std::uint64_t number, const Asked& asked,
                      const Result<Json>& answer) {
  const bool again = looking_[asked.name];
  looking_.erase(asked.name);
  const auto line = answer ? queue_of(*answer) : std::unexpected(answer.error());
  for (auto next = claims_.begin(); line && next != claims_.end();) {
    const auto current = next++;
    Claim& claim = current->second;
    const bool there = claim.stage == Stage::waiting || claim.stage == Stage::inside;
    if (!there || claim.name != asked.name || claim.known >= number) continue;
    if (!judge(now, current->first, claim, *line)) claims_.erase(current);
  }
  if (again) look(now, asked.name);
  advance_claims(now);
}

bool Session::judge(BootTime now, std::int64_t id, Claim& claim,
                    const std::vector<QueueEntry>& line) {
  const auto own = std::ranges::find(line, claim.key, &QueueEntry::key);
  if (own == line.end()) {
    if (line.size() >= kMaxQueue) return true;  // further back than the part that was read
    if (claim.stage == Stage::inside) {         // the key was removed by another program
      driver_->notify({.id = id, .state = State::lost});
      return false;
    }
    claim.stage = Stage::wanted;
    claim.key.clear();
    return true;
  }
  if (claim.stage == Stage::inside || !held_ || now >= held_->deadline) return true;
  const bool blocked = std::any_of(
      line.begin(), own, [&](const QueueEntry& before) { return !before.shared || !claim.shared; });
  if (blocked) return true;
  claim.stage = Stage::inside;
  driver_->notify({.id = id,
                   .state = State::granted,
                   .token = own->created,
                   .until_ns = held_->deadline.time_since_epoch().count()});
  return true;
}

void Session::on_remove(BootTime now, const Asked& asked, const Result<Json>& answer) {
  const auto found = leaving_.find(asked.key);
  if (found == leaving_.end()) return;
  const bool its_lease_ends =
      !held_ || held_->id != asked.lease;  // the key is deleted together with its lease
  if (!its_lease_ends && !answer) {
    found->second.next = now + pause();
  } else if (!its_lease_ends && std::exchange(found->second.unsure, false)) {
    found->second.next = now + held_->span;  // the request that creates it may have been overtaken
  } else {
    leaving_.erase(found);
  }
}

// --- time ---

void Session::changed(BootTime now, std::string_view name) {
  for (const auto& [id, claim] : claims_)
    if (claim.name == name && (claim.stage == Stage::waiting || claim.stage == Stage::inside))
      return look(now, claim.name);
}

void Session::changed_possibly(BootTime now) {
  for (const auto& [id, claim] : claims_)
    if (claim.stage == Stage::waiting || claim.stage == Stage::inside) look(now, claim.name);
}

// The deadlines of all held locks have passed; waiting claims queue again.
void Session::on_lease_expired(BootTime now) {
  if (!held_) return;
  ask(revoke_lease(held_->id), {.kind = Asked::Kind::revoke, .sent = now});
  held_.reset();
  renewing_ = false;
  leaving_.clear();
  std::erase_if(claims_, [&](const auto& entry) {
    const auto& [id, claim] = entry;
    if (claim.stage == Stage::inside) driver_->notify({.id = id, .state = State::lost});
    return claim.stage == Stage::inside || claim.released;
  });
  for (auto& [id, claim] : claims_) {
    claim.stage = Stage::wanted;
    claim.key.clear();
  }
  advance_claims(now);
}

void Session::on_timer(BootTime now) {
  if (held_ && now >= held_->deadline) on_lease_expired(now);
  if (held_ && now >= held_->renew && !renewing_) {
    if (claims_.empty() && leaving_.empty()) {
      ask(revoke_lease(held_->id), {.kind = Asked::Kind::revoke, .sent = now});
      held_.reset();
    } else if (now - tempod_seen_ > held_->span) {
      held_->renew = now + pause();  // a paused tempod must not hold its locks indefinitely
    } else {
      renewing_ = true;
      ask(keep_alive(held_->id),
          {.kind = Asked::Kind::keep_alive, .sent = now, .lease = held_->id});
    }
  }
  for (auto& [key, leaving] : leaving_)
    if (now >= leaving.next) {
      leaving.next = kNever;
      ask(remove(key),
          {.kind = Asked::Kind::remove, .sent = now, .lease = held_ ? held_->id : "", .key = key});
    }
  if (now < next_look_) return;
  next_look_ = kNever;
  advance_claims(now);
  for (const auto& [id, claim] : claims_)
    if (claim.stage == Stage::waiting) {
      next_look_ = now + kLookInterval;
      look(now, claim.name);
    }
}

BootTime Session::due() const {
  BootTime due = next_look_;
  if (held_) due = std::min({due, held_->deadline, renewing_ ? kNever : held_->renew});
  for (const auto& [key, leaving] : leaving_) due = std::min(due, leaving.next);
  return due;
}

}  // namespace tempo::etcd
