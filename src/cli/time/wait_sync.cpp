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

namespace tempo::cli {
namespace {

constexpr Nanos kPause = 100ms;
constexpr Nanos kLastLook = 1s;
constexpr Nanos kReplyTimeout = 5s;  // longest wait for one answer of tempod

// Asks tempod once and keeps the connection. Nothing: `why` has the reason.
std::optional<obs::Snapshot> look(const std::string& socket, Nanos timeout,
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
                         : Result<obs::Snapshot>(std::unexpected(std::string("it has no status")));
  if (snapshot) return *std::move(snapshot);
  why = {client::ErrorCode::bad_reply,
         fmt::format("tempod's answer cannot be understood: {}; use the tempo that came with it",
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
  const Instant deadline = steady_now() + *timeout;
  std::optional<client::Client> client;
  client::Error why;
  std::optional<obs::Snapshot> last;
  while (true) {
    // The last look is no shorter than an answer takes.
    const Nanos left = std::max(deadline - steady_now(), kLastLook);
    last = look(arguments.daemon.socket, std::min(kReplyTimeout, left), client, why);
    if (last && good_enough(*last, *within)) break;
    if (interrupted()) return kInterrupted;
    if (steady_now() >= deadline) {
      // A daemon that says no will say it again; one that is not there yet may be starting.
      if (!last) return report(why);
      return print_error(
          kViolation,
          fmt::format("after {} this machine is {}, not within {}; 'tempo doctor' looks "
                      "for the cause, --timeout waits longer",
                      span_text(*timeout), state_text(*last), span_text(*within)));
    }
    poll(nullptr, 0, static_cast<int>(kPause / 1ms));
  }
  if (arguments.daemon.json)
    fmt::print("{}", Json::object()
                         .add("status", last->status)
                         .add("bound_us", *last->bound_us())
                         .add("reference", last->reference)
                         .text());
  else
    fmt::print("{}\n", state_text(*last));
  return kDone;
}

}  // namespace tempo::cli
