#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/number_text.h"
#include "base/span_text.h"
#include "base/table.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/locks/lock.h"
#include "cli/operations/requests.h"

namespace tempo::cli {
namespace {

Nanos span_of_seconds(double seconds) {
  return Nanos{static_cast<std::int64_t>(std::max(seconds, 0.0) * 1e3) * 1'000'000};
}

std::string client_text(const ipc::LockView& lock, const ipc::LockView::Client& client) {
  return fmt::format("{} pid {}", lock.here ? lock.holder : "here", client.pid);
}

// A row for each client and each waiter on another machine; for a lock that another machine holds,
// the name of that machine.
std::string table_of(const std::vector<ipc::LockView>& locks) {
  report::Table table(
      {"lock", "kind", "state", "mode", "client", {"token", report::Align::right}, "for"});
  for (const ipc::LockView& lock : locks) {
    bool inside = false;
    for (const ipc::LockView::Client& client : lock.clients) {
      inside |= client.inside;
      table.row({lock.name, std::string(ipc::name_of(lock.kind)), client.inside ? "holds" : "waits",
                 client.shared ? "shared" : "exclusive", client_text(lock, client),
                 client.inside && client.token != 0 ? fmt::format("{}", client.token) : "",
                 span_text(span_of_seconds(client.since_s))});
    }
    for (const ipc::LockView::Waiter& waiter : lock.elsewhere)
      table.row({lock.name, std::string(ipc::name_of(lock.kind)), "waits",
                 waiter.shared ? "shared" : "exclusive", waiter.host, "",
                 span_text(span_of_seconds(waiter.since_s))});
    if (!inside && !lock.holder.empty())
      table.row({lock.name, std::string(ipc::name_of(lock.kind)), lock.here ? "idle here" : "holds",
                 lock.shared ? "shared" : "exclusive", lock.holder, "", ""});
  }
  return table.text();
}

std::string voters_table_of(const ipc::LocksView& view) {
  report::Table table({"voter", {"votes", report::Align::right}, "state"});
  for (const ipc::VoterView& voter : view.voters)
    table.row({voter.host, fmt::format("{}", voter.votes),
               voter.state == "this machine" ? voter.state
               : voter.reachable             ? "reachable"
                                             : ipc::silence_text(voter)});
  return table.text();
}

// "2 of 3 votes are needed, 3 are reachable; one more voter may fail".
std::string votes_text(const ipc::LocksView& view) {
  std::uint32_t all = 0;
  std::uint32_t reachable = 0;
  for (const ipc::VoterView& voter : view.voters) {
    all += voter.votes;
    if (voter.reachable) reachable += voter.votes;
  }
  const std::string text =
      fmt::format("{} of {} votes {} needed, {} {} reachable", view.votes_needed, all,
                  view.votes_needed == 1 ? "is" : "are", reachable, reachable == 1 ? "is" : "are");
  if (!view.losses_survived) return text + "; no locks are granted";
  if (*view.losses_survived == 0) return text + "; no further voter may fail";
  return fmt::format("{}; {} more voter{} may fail", text, *view.losses_survived,
                     *view.losses_survived == 1 ? "" : "s");
}

int bootstrap_again(const LocksArguments& arguments) {
  ipc::Request request = request_of(ipc::Verb::bootstrap_again);
  if (!arguments.above.empty()) {
    const auto above = parse_number<std::uint64_t>(arguments.above);
    if (!above || *above == 0)
      return print_error(kBadUsage, fmt::format("'{}' is not a token; --above takes one, as in "
                                                "$TEMPO_LOCK_TOKEN",
                                                arguments.above));
    request.above = *above;
  }
  return send_order(arguments.daemon, request,
                    "This machine has forgotten the voters. It agrees on new ones when enough "
                    "machines have done the same; 'tempo locks' shows the state of locks.",
                    "tempo locks");
}

}  // namespace

int locks(const LocksArguments& arguments) {
  if (arguments.bootstrap_again) return bootstrap_again(arguments);
  const auto reply = ask(arguments.daemon, request_of(ipc::Verb::locks));
  if (!reply) return reply.error();
  const auto view = ipc::locks_view_of(*reply);
  if (!view) return print_error(kNoDaemon, view.error());
  if (arguments.daemon.json) {
    print_json(data_of(*reply));
    return kDone;
  }
  print("{}\n", view->guarantee);
  if (arguments.voters && !view->voters.empty())
    print("\n{}\n{}\n", voters_table_of(*view), votes_text(*view));
  if (!arguments.voters && !view->locks.empty()) print("\n{}", table_of(view->locks));
  return kDone;
}

}  // namespace tempo::cli
