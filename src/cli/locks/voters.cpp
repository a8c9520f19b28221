#include <algorithm>
#include <expected>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/locks/lock.h"
#include "cli/operations/requests.h"

namespace tempo::cli {
namespace {

constexpr const char* kCheck = "tempo locks --voters";

int change(const VoterArguments& arguments, ipc::Verb verb, const char* done) {
  ipc::Request request = request_of(verb);
  request.host = arguments.host;
  return send_order(arguments.daemon, request, fmt::format(fmt::runtime(done), arguments.host),
                    "tempo locks");
}

// The id of the machine that is up and has this name or id; otherwise the exit status, after an
// error message. A dead machine may have the same name.
std::expected<std::string, int> running_machine(const DaemonArguments& daemon,
                                                const std::string& name) {
  const auto snapshot = ask_status(daemon);
  if (!snapshot) return std::unexpected(snapshot.error());
  std::vector<std::string> ids;
  for (const obs::MemberView& member : snapshot->members)
    if ((member.name == name || member.id == name) && (member.self || member.state == "up"))
      ids.push_back(member.id);
  if (ids.size() == 1) return ids.front();
  if (ids.empty())
    return std::unexpected(print_error(
        kRefused, fmt::format("no machine named '{}' is up; nothing was changed; start tempod on "
                              "it, and see 'tempo members'",
                              name)));
  return std::unexpected(print_error(
      kRefused, fmt::format("{} machines named '{}' are up; nothing was changed; use the id of one "
                            "(see 'tempo members --json')",
                            ids.size(), name)));
}

}  // namespace

int unlock(const UnlockArguments& arguments) {
  ipc::Request request = request_of(ipc::Verb::give_back);
  request.name = arguments.name;
  return send_order(arguments.daemon, request,
                    fmt::format("Lock '{}' was given back.", arguments.name), "tempo locks");
}

int forget(const VoterArguments& arguments) {
  return change(arguments, ipc::Verb::forget,
                "{} no longer votes on locks; 'tempo locks' shows the state of locks.");
}

int admit(const VoterArguments& arguments) {
  return change(arguments, ipc::Verb::admit,
                "{} votes on locks; 'tempo locks' shows the state of locks.");
}

int replace(const ReplaceArguments& arguments) {
  const auto id = running_machine(arguments.daemon, arguments.successor);
  if (!id) return id.error();
  ipc::Request request = request_of(ipc::Verb::forget);
  request.host = arguments.dead;
  if (const auto forgotten = order(arguments.daemon, request, kCheck); !forgotten)
    return forgotten.error();
  request = request_of(ipc::Verb::admit);
  request.host = *id;
  const auto admitted = order(arguments.daemon, request, kCheck);
  if (!admitted) {
    print_error(
        "tempo: the old {} no longer votes, but the new {} does not vote yet; run 'tempo "
        "admit {}'\n",
        arguments.dead, arguments.successor, *id);
    return admitted.error();
  }
  if (arguments.daemon.json)
    print_json(Json::object().add("admitted", *id));
  else
    print("{} votes on locks in place of {}; 'tempo locks' shows the state of locks.\n",
          arguments.successor, arguments.dead);
  return kDone;
}

}  // namespace tempo::cli
