#include "protocol/lock/lock_mail.h"

#include <algorithm>
#include <utility>

namespace tempo::locks {
namespace {

using lock::Mode;
using lock::lease::Ballot;
using lock::lease::Boot;
using lock::lease::Message;
using lock::lease::Standing;
using lock::lease::Waiting;

static_assert(lock::lease::kKinds == wire::LockBody::kKinds);
static_assert(lock::lease::kMaxInsiders == wire::kMaxLockInsiders);
static_assert(std::to_underlying(lock::lease::Why::ended) + 1 == wire::LockBody::kWhys);
static_assert(lock::lease::kMaxAnnounced == wire::kMaxLockWaiters);
static_assert(lock::lease::kMaxEnds == wire::kMaxLockEnds);
static_assert(lock::lease::kMaxStandings == wire::kMaxLockStandings);
static_assert(lock::lease::kMaxVoters == wire::kMaxLockClaims);

wire::LockBallot ballot_of(const Ballot& ballot, const wire::Directory& hosts) {
  return {ballot.count, hosts.host_of(ballot.origin)};
}

wire::LockWaiters waiters_of(const Waiting& waiting) {
  wire::LockWaiters all;
  for (const auto& waiter : waiting)
    all.push_back({.ticket = waiter.ticket, .shared = waiter.mode == Mode::shared});
  return all;
}

// Reads the parts of a body and remembers whether all are valid. A host may be absent, but a
// present one must get a member number. A counter must leave room to count on: an honest member
// never sends a larger value, and this member would keep it for good.
class Reading {
 public:
  explicit Reading(wire::Directory& hosts) : hosts_(&hosts) {}

  NodeId member(HostId host) {
    if (host == kNoHost) return kNobody;
    const NodeId number = hosts_->number_of(host);
    good_ &= number != kNobody;
    return number;
  }
  Ballot ballot(const wire::LockBallot& ballot) {
    return {.count = count(ballot.count), .origin = member(ballot.origin)};
  }
  std::uint64_t count(std::uint64_t count) {
    good_ &= count <= kMaxCount;
    return count;
  }
  std::uint64_t ticket(std::uint64_t ticket) {
    good_ &= ticket <= kMaxTicket;
    return ticket;
  }
  Waiting waiting(const wire::LockWaiters& waiters) {
    Waiting all;
    for (const auto& waiter : waiters)
      all.push_back({.ticket = ticket(waiter.ticket),
                     .mode = waiter.shared ? Mode::shared : Mode::exclusive});
    return all;
  }
  lock::lease::View view(const wire::LockVoters& voters) {
    const auto view = view_of(voters, *hosts_);
    good_ &= view.has_value() && voters.number != 0;
    return view.value_or(lock::lease::View{});
  }
  bool good() const { return good_; }

 private:
  wire::Directory* hosts_;
  bool good_ = true;
};

}  // namespace

wire::RecordId record_of(lock::lease::RecordId id) {
  return wire::RecordId{std::to_underlying(id)};
}
lock::lease::RecordId record_of(wire::RecordId id) {
  return lock::lease::RecordId{std::to_underlying(id)};
}

wire::LockClaims claims_of(const lock::lease::Claims& claims, const wire::Directory& hosts) {
  wire::LockClaims all;
  for (const lock::lease::Claim& claim : claims)
    all.push_back({.host = hosts.host_of(claim.member),
                   .record = record_of(claim.life.record),
                   .boot = std::to_underlying(claim.life.boot)});
  return all;
}

wire::LockBody body_of(const Message& message, const wire::Directory& hosts,
                       std::string_view name) {
  wire::LockBody body{.kind = std::to_underlying(message.kind),
                      .why = std::to_underlying(message.why),
                      .shared = message.mode == Mode::shared,
                      .held = message.held,
                      .resumed = message.resumed,
                      .confirmed = message.confirmed,
                      .no_wait = message.no_wait,
                      .name = wire::LockName(name),
                      .view = message.view,
                      .boot = std::to_underlying(message.boot),
                      .k = message.k,
                      .to_boot = std::to_underlying(message.to_boot),
                      .to_k = message.to_k,
                      .named = message.named,
                      .ballot = ballot_of(message.ballot, hosts),
                      .top = message.top,
                      .length = std::max(message.length, Nanos{0}),
                      .nonce = message.nonce,
                      .reserve = message.reserve,
                      .record = record_of(message.record),
                      .waiting = waiters_of(message.waiting)};
  for (const Ballot& ballot : message.ends) body.ends.push_back(ballot_of(ballot, hosts));
  if (message.kind == lock::lease::Kind::record) body.set = voters_of(message.set, hosts);
  body.claims = claims_of(message.claims, hosts);
  if (message.next.count != 0) {
    body.next = voters_of(message.next.view, hosts);
    body.next.count = message.next.count;
  }
  if (message.target == kNobody) {
    body.inside.sub = message.sub;
    for (const auto& insider : message.inside)
      body.inside.clients.push_back({insider.sub, insider.session.number, insider.session.process});
    return body;
  }
  body.pass = {.target = hosts.host_of(message.target),
               .sub = message.sub,
               .left = std::max(message.left, Nanos{0}),
               .ticket = message.ticket};
  for (const Standing& standing : message.standings)
    body.pass.standings.push_back({.member = hosts.host_of(standing.member),
                                   .boot = std::to_underlying(standing.boot),
                                   .k = standing.k,
                                   .waiting = waiters_of(standing.waiting)});
  return body;
}

std::optional<Message> message_of(const wire::LockBody& body, wire::Directory& hosts,
                                  lock::LockId lock) {
  Reading reading(hosts);
  Message message{.kind = static_cast<lock::lease::Kind>(body.kind),
                  .lock = lock,
                  .view = body.view,
                  .boot = Boot{body.boot},
                  .record = record_of(body.record),
                  .k = body.k,
                  .waiting = reading.waiting(body.waiting),
                  .ballot = reading.ballot(body.ballot),
                  .mode = body.shared ? Mode::shared : Mode::exclusive,
                  .held = body.held,
                  .resumed = body.resumed,
                  .confirmed = body.confirmed,
                  .no_wait = body.no_wait,
                  .length = body.length,
                  .named = static_cast<lock::lease::Voters>(body.named),
                  .to_boot = Boot{body.to_boot},
                  .to_k = body.to_k,
                  .top = reading.count(body.top),
                  .why = static_cast<lock::lease::Why>(body.why),
                  .target = reading.member(body.pass.target),
                  .sub = body.pass.target == kNoHost ? body.inside.sub : body.pass.sub,
                  .left = body.pass.left,
                  .ticket = reading.ticket(body.pass.ticket),
                  .nonce = body.nonce,
                  .reserve = reading.count(body.reserve)};
  for (const wire::LockBallot& ballot : body.ends) message.ends.push_back(reading.ballot(ballot));
  for (const wire::LockStanding& standing : body.pass.standings)
    message.standings.push_back({.member = reading.member(standing.member),
                                 .boot = Boot{standing.boot},
                                 .k = standing.k,
                                 .waiting = reading.waiting(standing.waiting)});
  for (const wire::LockClaim& claim : body.claims)
    message.claims.push_back(
        {reading.member(claim.host), {record_of(claim.record), Boot{claim.boot}}});
  for (const wire::LockInsider& insider : body.inside.clients)
    message.inside.push_back({insider.sub, {insider.session, insider.process}});
  if (message.kind == lock::lease::Kind::record) message.set = reading.view(body.set);
  if (body.next.count != 0)
    message.next = {reading.count(body.next.count), reading.view(body.next)};
  if (!reading.good() || message.sub > kMaxSub) return std::nullopt;
  return message;
}

}  // namespace tempo::locks
