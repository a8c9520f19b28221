#include "cli/operations/trace.h"

#include <cstdio>

#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/operations/requests.h"

namespace tempo::cli {

int trace_switch(const DaemonArguments& arguments, bool on) {
  ipc::Request request = request_of(ipc::Verb::trace);
  request.on = on;
  return send_order(arguments, request,
                    on ? "The trace is on; 'tempo trace follow' prints it." : "The trace is off.",
                    "tempo trace follow");
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
    if (!text) continue;  // the acknowledgement of the request
    if (arguments.json)
      print_json_line(Json::object().add("trace", *text));
    else
      print("{}\n", *text);
    std::fflush(stdout);
    if (std::ferror(stdout) != 0) return kDone;  // the reader of the pipe is gone
  }
  return kInterrupted;
}

}  // namespace tempo::cli
