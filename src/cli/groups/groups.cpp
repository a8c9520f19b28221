#include <csignal>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "api/group_requests.h"
#include "base/table.h"
#include "cli/common/exit_codes.h"
#include "cli/groups/elect.h"

namespace tempo::cli {
namespace {

// The list of all groups, and the whole reply for --json.
std::expected<std::pair<ipc::Reply, std::vector<ipc::GroupView>>, int> ask_groups(
    const DaemonArguments& arguments) {
  auto reply = ask(arguments, request_of(ipc::Verb::groups));
  if (!reply) return std::unexpected(reply.error());
  auto list = ipc::groups_of(*reply);
  if (!list) return std::unexpected(print_error(kNoDaemon, list.error()));
  return std::pair{*std::move(reply), *std::move(list)};
}

std::string candidates_of(const ipc::GroupView& group) {
  std::string text;
  for (const ipc::GroupView::Candidate& one : group.candidates)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.host, one.capacity);
  return text;
}

std::string algorithm_of(const ipc::GroupView& group) {
  if (group.held.empty() || group.held == group.algorithm) return group.algorithm;
  return fmt::format("{}, held by {}", group.algorithm, group.held);
}

void print(const ipc::GroupView& group) {
  if (group.leader.empty())
    fmt::print("nobody leads {}\n", group.name);
  else
    fmt::print("{} leads {}, term {}\n", group.leader, group.name, group.term);
  std::fflush(stdout);
}

}  // namespace

int groups(const DaemonArguments& arguments) {
  const auto answer = ask_groups(arguments);
  if (!answer) return answer.error();
  if (arguments.json) {
    fmt::print("{}", answer->first.body.text());
    return kDone;
  }
  report::Table table(
      {"group", "leader", {"term", report::Align::right}, "by", "algorithm", "candidates"});
  for (const ipc::GroupView& group : answer->second)
    table.row({group.name, group.leader.empty() ? "nobody" : group.leader,
               group.leader.empty() ? "" : fmt::format("{}", group.term), group.criterion,
               algorithm_of(group), candidates_of(group)});
  if (answer->second.empty())
    fmt::print("no groups are known here\n");
  else
    fmt::print("{}", table.text());
  return kDone;
}

int leader(const GroupArguments& arguments) {
  const auto answer = ask_groups(arguments.daemon);
  if (!answer) return answer.error();
  ipc::GroupView found{.name = arguments.group};
  for (const ipc::GroupView& group : answer->second)
    if (group.name == arguments.group) found = group;
  if (arguments.daemon.json)
    fmt::print("{}\n", ipc::group_line(found));
  else if (!found.leader.empty())
    fmt::print("{}\n", found.leader);
  if (!found.leader.empty()) return kDone;
  return print_error(kViolation, fmt::format("nobody is known here to lead '{}'; 'tempo groups' "
                                             "lists the groups that are",
                                             arguments.group));
}

int watch_group(const GroupArguments& arguments) {
  auto client = connect(arguments.daemon);
  if (!client) return client.error();
  ipc::Request request = request_of(ipc::Verb::watch_group);
  request.name = arguments.group;
  if (const auto sent = client->send(request); !sent) return report(sent.error());
  for (;;) {
    const auto reply = client->next(std::chrono::hours{1});
    if (!reply) return report(reply.error());
    if (!*reply) continue;
    const auto group = ipc::group_of(**reply);
    if (!group) continue;
    if (arguments.daemon.json) {
      fmt::print("{}\n", ipc::group_line(*group));
      std::fflush(stdout);
    } else {
      print(*group);
    }
  }
}

int resign_group(const GroupArguments& arguments) {
  ipc::Request request = request_of(ipc::Verb::resign_group);
  request.name = arguments.group;
  const auto reply = ask(arguments.daemon, request);
  if (!reply) return reply.error();
  if (arguments.daemon.json) fmt::print("{}", reply->body.text());
  return kDone;
}

}  // namespace tempo::cli
