#include "protocol/lock/lock_client.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "base/span_text.h"
#include "protocol/wire/lock_body.h"

namespace tempo::locks {

std::optional<Refusal> defect_of(std::string_view name) {
  if (name.empty()) return Refusal::empty_name;
  if (name.size() > wire::kMaxLockName) return Refusal::long_name;
  const auto plain = [](char c) { return c > ' ' && c <= '~'; };
  if (!std::ranges::all_of(name, plain)) return Refusal::bad_name;
  return std::nullopt;
}

std::string refusal_text(Refusal refusal, std::string_view name, Nanos longest) {
  switch (refusal) {
    case Refusal::queue_full:
    case Refusal::no_voters:
    case Refusal::held:
      return "";
    case Refusal::empty_name:
      return "the lock's name is empty; give it 1 to 64 characters";
    case Refusal::long_name:
      return "the lock's name is longer than 64 characters; use a shorter one";
    case Refusal::bad_name:
      return "the lock's name has a space or a character that is not printable ASCII; remove it";
    case Refusal::lease_length:
      return fmt::format(
          "the lease must be {} to {} long on this machine; for longer leases raise "
          "'lease-max-ms' under [locks] in tempo.toml on every machine",
          span_text(kShortestLease), span_text(longest));
    case Refusal::too_many_clients:
      return "too many clients hold or wait for locks on this machine; try again later";
    case Refusal::too_many_locks:
      return "too many locks are in use; try again when some have been released";
    case Refusal::witness:
      return "this machine is the witness: it votes but cannot hold locks; take the lock on one of "
             "the other two";
    case Refusal::used_as_lease:
    case Refusal::used_as_silent:
      return fmt::format(
          "lock '{}' is in use as a {}, or was until recently; use the same kind or another name",
          name, refusal == Refusal::used_as_lease ? "lease" : "silent or explicit lock");
    case Refusal::lease_of_other_kind:
      return "only a lease can have a lease time; use kind \"lease\"";
    case Refusal::no_vote:
      return "this machine has no vote on locks, and only voters can use silent and explicit "
             "locks; use --kind lease, or give this machine a vote with 'tempo admit'";
    case Refusal::count:
      break;
  }
  return "";
}

std::string_view name_of(Refusal refusal) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"queue_full", "empty_name", "long_name", "bad_name", "lease_length", "too_many_clients",
       "too_many_locks", "no_voters", "witness", "used_as_lease", "used_as_silent",
       "lease_of_other_kind", "no_vote", "held"});
  static_assert(kNames.size() == std::to_underlying(Refusal::count));
  CHECK(refusal < Refusal::count);
  return kNames[std::to_underlying(refusal)];
}

}  // namespace tempo::locks
