#include "cli/operations/trace.h"

#include <cstdio>

#include <fmt/core.h>

#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/operations/orders.h"

namespace tempo::cli {

int trace_switch(const DaemonArguments& arguments, bool on) {
  ipc::Request request = request_of(ipc::Verb::trace);
  request.on = on;
  return give_order(arguments, request,
                    on ? "The trace is on; 'tempo trace follow' shows it." : "The trace is off.");
}

int trace_follow(const DaemonArguments& arguments) {
  auto client = connect(arguments);
  if (!client) return client.error();
  const InterruptGuard guard;
  if (const auto sent = client->send(request_of(ipc::Verb::trace_follow)); !sent)
    return report(sent.error());
  while (!interrupted()) {
    const auto reply = client->next(500ms);
    if (!reply) return interrupted() ? kInterrupted : report(reply.error());
    if (!*reply) continue;
    const auto text = ipc::trace_of(**reply);
    // tempod says first that it agrees.
    if (!text) continue;
    if (arguments.json)
      fmt::print("{}\n", Json::object().add("trace", *text).line());
    else
      fmt::print("{}\n", *text);
    std::fflush(stdout);
    if (std::ferror(stdout) != 0) return kDone;  // nobody reads any more
  }
  return kInterrupted;
}

}  // namespace tempo::cli
