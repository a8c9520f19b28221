#include "cli/time/wait_sync.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "base/span_text.h"
#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"

namespace tempo::cli {
namespace {

constexpr Nanos kPause = 100ms;      // between two questions
constexpr Nanos kLastTimeout = 1s;   // for the last question before the deadline
constexpr Nanos kReplyTimeout = 5s;  // longest wait for one answer from tempod

// Asks tempod once and keeps the connection. nullopt: `why` has the reason.
std::optional<obs::Snapshot> ask_once(const std::string& socket, Nanos timeout,
                                      std::optional<client::Client>& client, client::Error& why) {
  if (!client) {
    auto connected = client::Client::connect(socket, timeout);
    if (!connected) {
      why = connected.error();
      return std::nullopt;
    }
    client = *std::move(connected);
  }
  const auto reply = client->ask(request_of(ipc::Verb::status));
  if (!reply) {
    why = reply.error();
    client.reset();
    return std::nullopt;
  }
  const auto status = reply->body.at("status");
  auto snapshot = status ? obs::from_json(status->line())
                         : Result<obs::Snapshot>(std::unexpected(std::string("no status")));
  if (snapshot) return *std::move(snapshot);
  why = {client::ErrorCode::bad_reply,
         fmt::format("invalid reply from tempod: {}; use the tempo that came with it",
                     snapshot.error())};
  return std::nullopt;
}

bool good_enough(const obs::Snapshot& snapshot, Nanos within) {
  const auto bound = snapshot.bound_us();
  return (snapshot.status == "synchronized" || snapshot.status == "leads") && bound &&
         *bound * 1000 <= static_cast<double>(within.count());
}

std::string state_text(const obs::Snapshot& snapshot) {
  const auto bound = snapshot.bound_us();
  return bound ? fmt::format("{}, within {}", snapshot.status, obs::micros_text(*bound))
               : snapshot.status;
}

}  // namespace

int wait_sync(const WaitSyncArguments& arguments) {
  const auto timeout = span_of(arguments.timeout, "--timeout");
  if (!timeout) return timeout.error();
  const auto within = span_of(arguments.within, "--within");
  if (!within) return within.error();

  const InterruptGuard guard;
  WaitLine line(!arguments.daemon.json);
  const Instant deadline = steady_now() + *timeout;
  std::optional<client::Client> client;
  client::Error why;
  std::optional<obs::Snapshot> last;
  while (true) {
    const Nanos left = std::max(deadline - steady_now(), kLastTimeout);
    last = ask_once(arguments.daemon.socket, std::min(kReplyTimeout, left), client, why);
    if (last && good_enough(*last, *within)) break;
    line.show("waiting for synchronization: " +
              (last ? state_text(*last) : std::string("tempod is not reachable")));
    if (interrupted()) return kInterrupted;
    if (steady_now() >= deadline) {
      line.clear();
      if (!last) return report(why);  // until now tempod might have been starting
      return print_error(
          kViolation,
          fmt::format("timed out after {} waiting for synchronization within {}: this machine is "
                      "{}; run 'tempo doctor', or raise --timeout",
                      span_text(*timeout), span_text(*within), state_text(*last)));
    }
    poll(nullptr, 0, static_cast<int>(kPause / 1ms));
  }
  line.clear();
  if (arguments.daemon.json)
    print_json(Json::object()
                   .add("status", last->status)
                   .add("bound_us", *last->bound_us())
                   .add("reference", last->reference));
  else
    print("{}\n", state_text(*last));
  return kDone;
}

}  // namespace tempo::cli
