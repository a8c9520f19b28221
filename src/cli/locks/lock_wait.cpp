#include "cli/locks/lock_wait.h"

#include <utility>

#include <fmt/core.h>

#include "api/snapshot.h"
#include "base/span_text.h"
#include "cli/common/daemon.h"
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

LockHolder ask_holder(const std::string& socket, const std::string& name) {
  auto client = client::Client::connect(socket, kAskTimeout);
  if (!client) return {};
  const auto reply = client->ask(request_of(ipc::Verb::locks));
  if (!reply) return {};
  const auto locks = ipc::locks_of(*reply);
  return locks ? holder_of(*locks, name) : LockHolder{};
}

LockWaitLine::LockWaitLine(const std::string& socket, std::string name, bool enabled)
    : name_(std::move(name)), line_(enabled), request_(socket, ipc::Verb::locks, line_.active()) {}

void LockWaitLine::update() {
  const auto reply = request_.update();
  if (!reply) return;
  if (const auto locks = ipc::locks_of(*reply))
    line_.show(waiting_text(name_, holder_of(*locks, name_),
                            reply->body.text_at("guarantee").value_or("")));
}

}  // namespace tempo::cli
