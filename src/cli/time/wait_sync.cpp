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

constexpr double kRecently = 60;  // seconds since a member's last datagram

// Whether another member keeps the same time.
bool has_company(const obs::Snapshot& snapshot) {
  return !snapshot.reference.empty() ||
         std::ranges::any_of(snapshot.members, [](const obs::MemberView& member) {
           return !member.self && member.offset_us && member.heard_ago_s <= kRecently;
         });
}

// The reason to wait on; empty: there is none.
std::string missing(const obs::Snapshot& snapshot, const WaitSyncArguments& arguments,
                    Nanos within) {
  const auto bound = snapshot.bound_us();
  // A machine that is alone needs --alone, or UTC: see below.
  const bool alone = snapshot.status == "alone";
  if ((snapshot.status != "synchronized" && snapshot.status != "leads" && !alone) || !bound)
    return "not synchronized";
  if (*bound * 1000 > static_cast<double>(within.count())) return "its bound is too wide";
  const bool utc = snapshot.utc_bound_us.has_value();
  if (arguments.utc && !utc) return "it carries no UTC";
  if (!arguments.alone && !utc && !has_company(snapshot))
    return "no other member was heard, and it carries no UTC; --alone accepts that";
  return {};
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
  if (arguments.alone && arguments.utc)
    return print_error(kBadUsage, "give --alone or --utc, not both");

  const InterruptGuard guard;
  WaitLine line(!arguments.daemon.json);
  const Instant deadline = steady_now() + *timeout;
  std::optional<client::Client> client;
  client::Error why;
  std::optional<obs::Snapshot> last;
  while (true) {
    const Nanos left = std::max(deadline - steady_now(), kLastTimeout);
    last = ask_once(arguments.daemon.socket, std::min(kReplyTimeout, left), client, why);
    const std::string reason = last ? missing(*last, arguments, *within) : "";
    if (last && reason.empty()) break;
    line.show("waiting for synchronization: " +
              (last ? fmt::format("{} ({})", state_text(*last), reason)
                    : std::string("tempod is not reachable")));
    if (interrupted()) return kInterrupted;
    if (steady_now() >= deadline) {
      line.clear();
      if (!last) return report(why);  // until now tempod might have been starting
      return print_error(
          kViolation,
          fmt::format("timed out after {} waiting for synchronization within {}: this machine is "
                      "{} ({}); run 'tempo doctor', or raise --timeout",
                      span_text(*timeout), span_text(*within), state_text(*last), reason));
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
