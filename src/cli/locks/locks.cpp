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
      table.row({lock.name, std::string(ipc::name_of(lock.kind)), lock.here ? "idle" : "holds",
                 lock.shared ? "shared" : "exclusive", lock.holder, "", ""});
  }
  return table.text();
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

int locks(const LocksArguments& all) {
  if (all.bootstrap_again) return bootstrap_again(all);
  const DaemonArguments& arguments = all.daemon;
  const auto reply = ask(arguments, request_of(ipc::Verb::locks));
  if (!reply) return reply.error();
  const auto list = ipc::locks_of(*reply);
  if (!list) return print_error(kNoDaemon, list.error());
  if (arguments.json) {
    print_json(data_of(*reply));
    return kDone;
  }
  print("{}\n", reply->body.text_at("guarantee").value_or(""));
  if (!list->empty()) print("\n{}", table_of(*list));
  return kDone;
}

}  // namespace tempo::cli
