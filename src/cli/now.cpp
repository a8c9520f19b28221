#include "cli/now.h"

#include <fmt/core.h>

#include "cli/exit_codes.h"

namespace tempo::cli {

int now(const DaemonArguments& arguments) {
  const auto reply = ask(arguments, request_of(ipc::Verb::now));
  if (!reply) return reply.error();
  const auto answer = ipc::now_of(*reply);
  if (!answer) return complain(kNoDaemon, answer.error() + "; use the tempo that came with it");
  obs::Snapshot known;
  known.status = answer->status;
  known.time_ns = answer->time_ns;
  known.earliest_ns = answer->earliest_ns;
  known.latest_ns = answer->latest_ns;
  const auto bound = known.bound_us();
  if (arguments.json) {
    fmt::print("{}", reply->body.at("now")->text());
    return bound ? kDone : kBrokenPromise;
  }
  fmt::print("{} UTC\n", obs::utc_text(answer->time_ns));
  if (!bound)
    return complain(
        kBrokenPromise,
        "this is the machine's own time, there is no network time yet; 'tempo wait-sync' "
        "waits for it");
  fmt::print("earliest  {}\nlatest    {}\nwithin    {}\n", obs::utc_text(answer->earliest_ns),
             obs::utc_text(answer->latest_ns), obs::micros_text(*bound));
  return kDone;
}

}  // namespace tempo::cli
