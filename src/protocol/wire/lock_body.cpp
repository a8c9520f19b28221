#include "protocol/wire/lock_body.h"

#include <algorithm>
#include <utility>

namespace tempo::wire {
namespace {

constexpr std::uint8_t kShared = 1;
constexpr std::uint8_t kHeld = 2;

void put_ballot(Writer& out, const LockBallot& ballot) {
  out.put(ballot.count);
  out.put(std::to_underlying(ballot.origin));
}

LockBallot take_ballot(Reader& in) {
  LockBallot ballot;
  ballot.count = in.take<std::uint64_t>();
  ballot.origin = HostId{in.take<std::uint64_t>()};
  return ballot;
}

void put_waiters(Writer& out, const LockWaiters& waiting) {
  for (const LockWaiter& waiter : waiting) {
    out.put(waiter.ticket);
    out.put(static_cast<std::uint8_t>(waiter.shared ? kShared : 0));
  }
}

bool take_waiters(Reader& in, std::uint8_t count, LockWaiters& waiting) {
  if (count > kMaxLockWaiters || in.left() < count * kLockWaiterBytes) return false;
  for (std::uint8_t i = 0; i < count; ++i) {
    const auto ticket = in.take<std::uint64_t>();
    waiting.push_back({.ticket = ticket, .shared = (in.take<std::uint8_t>() & kShared) != 0});
  }
  return true;
}

}  // namespace

Result<LockBody, Error> take_lock(Reader in) {
  if (in.left() < kLockFixedBytes) return std::unexpected(Error::bad_section);
  LockBody body;
  body.kind = in.take<std::uint8_t>();
  body.why = in.take<std::uint8_t>();
  const auto flags = in.take<std::uint8_t>();
  body.shared = (flags & kShared) != 0;
  body.held = (flags & kHeld) != 0;
  const auto waiting = in.take<std::uint8_t>();
  const auto ends = in.take<std::uint8_t>();
  const auto name = in.take<std::uint8_t>();
  body.view = in.take<std::uint32_t>();
  body.boot = in.take<std::uint32_t>();
  body.k = in.take<std::uint32_t>();
  body.to_boot = in.take<std::uint32_t>();
  body.to_k = in.take<std::uint32_t>();
  body.named = in.take<std::uint32_t>();
  body.ballot = take_ballot(in);
  body.top = in.take<std::uint64_t>();
  body.length = Nanos{in.take<std::int64_t>()};
  body.nonce = in.take<std::uint64_t>();
  body.reserve = in.take<std::uint64_t>();
  if (body.kind >= LockBody::kKinds) return std::unexpected(Error::bad_kind);
  if (body.why >= LockBody::kWhys || body.length < Nanos{0} || body.length.count() > kMaxNanos)
    return std::unexpected(Error::bad_value);
  if (!take_waiters(in, waiting, body.waiting) || ends > kMaxLockEnds ||
      in.left() < ends * kLockBallotBytes + name)
    return std::unexpected(Error::bad_section);
  for (std::uint8_t i = 0; i < ends; ++i) body.ends.push_back(take_ballot(in));
  const auto text = LockName::read(in.take_bytes(name));
  if (!text) return std::unexpected(Error::bad_name);
  body.name = *text;
  return body;
}

void put_lock(Writer& out, const LockBody& body) {
  CHECK(body.kind < LockBody::kKinds && body.why < LockBody::kWhys && body.length >= Nanos{0});
  out.put(body.kind);
  out.put(body.why);
  out.put(static_cast<std::uint8_t>((body.shared ? kShared : 0) | (body.held ? kHeld : 0)));
  out.put(static_cast<std::uint8_t>(body.waiting.size()));
  out.put(static_cast<std::uint8_t>(body.ends.size()));
  out.put(static_cast<std::uint8_t>(body.name.text().size()));
  out.put(body.view);
  out.put(body.boot);
  out.put(body.k);
  out.put(body.to_boot);
  out.put(body.to_k);
  out.put(body.named);
  put_ballot(out, body.ballot);
  out.put(body.top);
  out.put(std::min(body.length.count(), kMaxNanos));
  out.put(body.nonce);
  out.put(body.reserve);
  put_waiters(out, body.waiting);
  for (const LockBallot& ballot : body.ends) put_ballot(out, ballot);
  out.put_bytes(std::as_bytes(std::span(body.name.text())));
}

Result<LockPass, Error> take_pass(Reader in) {
  if (in.left() < kLockPassBytes) return std::unexpected(Error::bad_section);
  LockPass pass;
  pass.target = HostId{in.take<std::uint64_t>()};
  pass.sub = in.take<std::uint32_t>();
  pass.left = Nanos{in.take<std::int64_t>()};
  pass.ticket = in.take<std::uint64_t>();
  if (pass.target == kNoHost || pass.left < Nanos{0} || pass.left.count() > kMaxNanos)
    return std::unexpected(Error::bad_value);
  return pass;
}

void put_pass(Writer& out, const LockPass& pass) {
  CHECK(pass.left >= Nanos{0});
  out.put(std::to_underlying(pass.target));
  out.put(pass.sub);
  out.put(std::min(pass.left.count(), kMaxNanos));
  out.put(pass.ticket);
}

Result<LockStanding, Error> take_standing(Reader in) {
  if (in.left() < kLockStandingFixedBytes) return std::unexpected(Error::bad_section);
  LockStanding standing;
  standing.member = HostId{in.take<std::uint64_t>()};
  standing.boot = in.take<std::uint32_t>();
  standing.k = in.take<std::uint32_t>();
  const auto count = in.take<std::uint8_t>();
  if (standing.member == kNoHost) return std::unexpected(Error::bad_value);
  if (!take_waiters(in, count, standing.waiting)) return std::unexpected(Error::bad_section);
  return standing;
}

void put_standing(Writer& out, const LockStanding& standing) {
  out.put(std::to_underlying(standing.member));
  out.put(standing.boot);
  out.put(standing.k);
  out.put(static_cast<std::uint8_t>(standing.waiting.size()));
  put_waiters(out, standing.waiting);
}

// There is at least one voter, no host occurs twice, and exactly the slots in use have votes.
Result<LockVoters, Error> take_voters(Reader in) {
  if (in.left() < kLockVotersFixedBytes) return std::unexpected(Error::bad_section);
  LockVoters voters;
  voters.count = in.take<std::uint64_t>();
  voters.number = in.take<std::uint32_t>();
  const auto count = in.take<std::uint8_t>();
  if (count > LockVoters::kMax || in.left() < count * kLockVoterBytes)
    return std::unexpected(Error::bad_section);
  for (std::uint8_t i = 0; i < count; ++i) {
    const HostId host{in.take<std::uint64_t>()};
    const auto votes = in.take<std::uint8_t>();
    const auto is_same = [&](const LockVoter& voter) { return voter.host == host; };
    if ((host == kNoHost) != (votes == 0) ||
        (host != kNoHost && std::ranges::any_of(voters.slots, is_same)))
      return std::unexpected(Error::bad_value);
    voters.slots.push_back({.host = host, .votes = votes});
  }
  if (voters.number == 0 || voters.slots.empty() ||
      voters.slots[voters.slots.size() - 1].votes == 0)
    return std::unexpected(Error::bad_value);
  return voters;
}

void put_voters(Writer& out, const LockVoters& voters) {
  out.put(voters.count);
  out.put(voters.number);
  out.put(static_cast<std::uint8_t>(voters.slots.size()));
  for (const LockVoter& voter : voters.slots) {
    out.put(std::to_underlying(voter.host));
    out.put(voter.votes);
  }
}

// The voters are in the order of their ids, and none occurs twice.
Result<VoterSetBody, Error> take_voter_set(Reader in) {
  if (in.left() < 2) return std::unexpected(Error::bad_section);
  VoterSetBody body;
  const auto stage = in.take<std::uint8_t>();
  const auto count = in.take<std::uint8_t>();
  if (stage >= VoterSetBody::kStages) return std::unexpected(Error::bad_kind);
  if (count > VoterSetBody::kMax || in.left() < count * sizeof(HostId))
    return std::unexpected(Error::bad_section);
  body.stage = static_cast<VoterSetBody::Stage>(stage);
  HostId last = kNoHost;
  for (std::uint8_t i = 0; i < count; ++i) {
    const HostId voter{in.take<std::uint64_t>()};
    if (voter <= last) return std::unexpected(Error::bad_value);
    body.voters.push_back(voter);
    last = voter;
  }
  return body;
}

void put_voter_set(Writer& out, const VoterSetBody& body) {
  out.put(std::to_underlying(body.stage));
  out.put(static_cast<std::uint8_t>(body.voters.size()));
  for (const HostId voter : body.voters) out.put(std::to_underlying(voter));
}

}  // namespace tempo::wire
