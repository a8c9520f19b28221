#include "cli/time/now.h"

#include <array>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "api/page_file.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"

namespace tempo::cli {
namespace {

std::string_view note_of(std::string_view status) {
  if (status == "holdover") return ", holdover: no master corrects this clock";
  if (status == "minority") return ", minority: cut off from most of the members";
  if (status == "alone") return ", alone: no other machine heard, the time of this machine";
  return "";
}

std::string_view name_of(page::Status status) {
  constexpr std::array<std::string_view, 6> kNames{"unsynchronized", "holdover", "synchronized",
                                                   "leads",          "minority", "alone"};
  return kNames.at(static_cast<std::size_t>(status));
}

// The content of the time page beside the socket, in the form of a reply of tempod; nullopt if
// there is no page or no network time. Then tempod is asked, which knows the reason.
std::optional<ipc::Reply> page_reply(const std::string& socket) {
  const auto page = page::Reader::open(page::path_for(socket));
  if (!page) return std::nullopt;
  const page::Reading reading = page->now();
  if (reading.status == page::Status::unsynchronized) return std::nullopt;
  const auto since_1970 = [](WallTime time) { return time.time_since_epoch().count(); };
  const auto reply = ipc::parse_reply(ipc::now_line({.time_ns = since_1970(reading.time),
                                                     .earliest_ns = since_1970(reading.earliest),
                                                     .latest_ns = since_1970(reading.latest),
                                                     .status = std::string(name_of(reading.status)),
                                                     .generation = reading.generation}));
  return reply ? std::optional(*reply) : std::nullopt;
}

std::expected<ipc::Reply, int> now_reply(const DaemonArguments& arguments) {
  // The time page is that of this machine.
  if (arguments.host.empty())
    if (auto reply = page_reply(arguments.socket)) return *std::move(reply);
  return ask(arguments, request_of(ipc::Verb::now));
}

}  // namespace

int now(const DaemonArguments& arguments) {
  const auto reply = now_reply(arguments);
  if (!reply) return reply.error();
  const auto answer = ipc::now_of(*reply);
  if (!answer)
    return print_error(kNoDaemon,
                       fmt::format("invalid reply from tempod: {}; use the tempo that came with it",
                                   answer.error()));
  obs::Snapshot known;
  known.status = answer->status;
  known.time_ns = answer->time_ns;
  known.earliest_ns = answer->earliest_ns;
  known.latest_ns = answer->latest_ns;
  const auto bound = known.bound_us();
  if (arguments.json)
    print_json(*reply->body.at("now"));
  else
    print("{} UTC\n", obs::utc_text(answer->time_ns));
  if (!bound)
    return print_error(kViolation,
                       "no network time yet, this is the time of this machine; 'tempo wait-sync' "
                       "waits until it is synchronized");
  if (arguments.json) return kDone;
  print("earliest  {}\nlatest    {}\nwithin    {}{}\n", obs::utc_text(answer->earliest_ns),
        obs::utc_text(answer->latest_ns), obs::micros_text(*bound), note_of(answer->status));
  return kDone;
}

}  // namespace tempo::cli
