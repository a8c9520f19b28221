#include "cli/time/status.h"

#include <string>

#include <fmt/core.h>

#include "api/metrics/metrics.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "platform/whole_file.h"

namespace tempo::cli {
namespace {

Color color_of(const std::string& status) {
  if (status == "synchronized" || status == "leads") return Color::green;
  return status == "unsynchronized" ? Color::red : Color::yellow;
}

// The text with colours: the state in the first line, and warnings.
std::string colored_status(const obs::Snapshot& snapshot) {
  const std::string text = status_text(snapshot);
  if (!stdout_color()) return text;
  const std::size_t state = snapshot.name.size() + 2;  // after "name: "
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (at == 0 && line.size() > state)
      out += line.substr(0, state) + colored(line.substr(state), color_of(snapshot.status));
    else
      out += line.starts_with("  warning ") ? colored(line, Color::yellow) : line;
    out += '\n';
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return out;
}

int metrics(const StatusArguments& arguments, const obs::Snapshot& snapshot) {
  const auto reply = ask(arguments.daemon, request_of(ipc::Verb::locks));
  if (!reply) return reply.error();
  const auto locks = ipc::locks_view_of(*reply);
  if (!locks)
    return print_error(kNoDaemon, fmt::format("invalid reply from tempod: {}; use the tempo that "
                                              "came with it",
                                              locks.error()));
  const std::string text = obs::metrics_text(snapshot, *locks);
  if (arguments.output.empty()) {
    print("{}", text);
    return kDone;
  }
  // A reader sees the old contents or the new ones, never a part.
  const auto written = sys::replace_file(arguments.output, text);
  return written ? kDone : print_error(kRefused, written.error());
}

}  // namespace

int status(const StatusArguments& arguments) {
  if (arguments.metrics && arguments.daemon.json)
    return print_error(kBadUsage, "give --json or --metrics, not both");
  if (!arguments.output.empty() && !arguments.metrics)
    return print_error(kBadUsage, "--output writes metrics; give --metrics too");
  const auto reply = ask(arguments.daemon, request_of(ipc::Verb::status));
  if (!reply) return reply.error();
  const auto snapshot = snapshot_in(*reply);
  if (!snapshot) return snapshot.error();
  if (arguments.metrics) return metrics(arguments, *snapshot);
  if (arguments.daemon.json)
    print_json(*reply->body.at("status"));  // including fields that only a newer tempod sends
  else
    print("{}", colored_status(*snapshot));
  return kDone;
}

}  // namespace tempo::cli
