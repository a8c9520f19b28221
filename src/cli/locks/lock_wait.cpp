#include "cli/locks/lock_wait.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "api/snapshot.h"
#include "base/span_text.h"
#include "cli/common/daemon.h"
#include "cli/common/exit_codes.h"
#include "client/client.h"

namespace tempo::cli {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kAskTimeout = std::chrono::milliseconds{500};

std::string seconds_text(double seconds) {
  return seconds < 60 ? fmt::format("{:.1f} s", seconds) : obs::uptime_text(seconds);
}

}  // namespace

LockHolder holder_of(const std::vector<ipc::LockView>& locks, const std::string& name) {
  for (const ipc::LockView& lock : locks) {
    if (lock.name != name) continue;
    for (const ipc::LockView::Client& client : lock.clients)
      if (client.inside)
        return {.host = lock.holder.empty() ? "this machine" : lock.holder,
                .held_s = client.since_s};
    return {.host = lock.holder, .held_s = std::nullopt};
  }
  return {};
}

std::string waiting_text(const std::string& name, const LockHolder& holder,
                         const std::string& state) {
  if (holder.host.empty())
    return fmt::format("waiting for lock '{}'{}", name, state.empty() ? "" : ": " + state);
  return fmt::format("waiting for lock '{}', held by {}{}", name, holder.host,
                     holder.held_s ? " for " + seconds_text(*holder.held_s) : "");
}

std::optional<std::string> not_acquired_text(const std::string& name, const LockHolder& holder,
                                             nanoseconds waited) {
  if (holder.host.empty()) return std::nullopt;
  const std::string held =
      holder.host + (holder.held_s ? fmt::format(" (for {})", seconds_text(*holder.held_s)) : "");
  if (waited > nanoseconds{0})
    return fmt::format("timed out after {} waiting for lock '{}', held by {}", span_text(waited),
                       name, held);
  return fmt::format("lock '{}' is held by {}; not waiting", name, held);
}

std::optional<NotGranted> why_timed_out(const ipc::LocksView& view, const std::string& name,
                                        ipc::LockKind kind, nanoseconds waited) {
  const auto of_state = [&](int status, const char* cure) {
    return NotGranted{status,
                      fmt::format("lock '{}' was not granted: {}{}", name, view.guarantee, cure)};
  };
  // A lock of another kind needs no majority.
  const bool lease = kind == ipc::LockKind::lease;
  switch (lease ? view.obstacle : ipc::LockObstacle::none) {
    case ipc::LockObstacle::no_majority:
      return of_state(kNoMajority, "; see 'tempo locks --voters'");
    case ipc::LockObstacle::no_voters:
      return of_state(kNoVoters, "; start tempod on the other machines");
    case ipc::LockObstacle::too_many_machines:
      return of_state(kNoVoters, "");
    case ipc::LockObstacle::abstaining:
      return of_state(kAbstaining, "; try again then");
    case ipc::LockObstacle::unwritable:
    case ipc::LockObstacle::record_lost:
    case ipc::LockObstacle::clone:
      return of_state(kNoRecord, "");
    case ipc::LockObstacle::none:
    case ipc::LockObstacle::off:
    case ipc::LockObstacle::other_voters:
    case ipc::LockObstacle::count:
      break;
  }
  const auto held = not_acquired_text(name, holder_of(view.locks, name), waited);
  if (!held) return std::nullopt;
  return NotGranted{kNotObtained, *held};
}

NotGranted why_refused(const ipc::LocksView& view, const std::string& name, ipc::LockKind kind,
                       const std::string& message) {
  // These obstacles refuse every request at once.
  if (view.obstacle == ipc::LockObstacle::no_voters ||
      view.obstacle == ipc::LockObstacle::too_many_machines ||
      view.obstacle == ipc::LockObstacle::record_lost)
    if (auto reason = why_timed_out(view, name, ipc::LockKind::lease, nanoseconds{0}))
      return *std::move(reason);
  const auto used = [&](bool same) {
    return std::ranges::any_of(view.locks, [&](const ipc::LockView& lock) {
      return lock.name == name && (lock.kind == kind) == same;
    });
  };
  return {used(false) && !used(true) ? kWrongKind : kLockRefused, message};
}

std::optional<ipc::LocksView> ask_locks(const std::string& socket) {
  auto client = client::Client::connect(socket, kAskTimeout);
  if (!client) return std::nullopt;
  const auto reply = client->ask(request_of(ipc::Verb::locks));
  if (!reply) return std::nullopt;
  auto view = ipc::locks_view_of(*reply);
  if (!view) return std::nullopt;
  return *std::move(view);
}

LockWaitLine::LockWaitLine(const std::string& socket, std::string name, bool enabled)
    : name_(std::move(name)), line_(enabled), request_(socket, ipc::Verb::locks, line_.active()) {}

void LockWaitLine::update() {
  const auto reply = request_.update();
  if (!reply) return;
  if (const auto view = ipc::locks_view_of(*reply))
    line_.show(waiting_text(
        name_,
        view->obstacle == ipc::LockObstacle::none ? holder_of(view->locks, name_) : LockHolder{},
        view->guarantee));
}

}  // namespace tempo::cli
