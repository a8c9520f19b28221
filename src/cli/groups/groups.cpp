#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "api/group_requests.h"
#include "base/table.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/groups/capacity_meter.h"
#include "cli/groups/elect.h"

namespace tempo::cli {
namespace {

// The whole reply, for --json, and the groups in it.
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
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.host,
                        capacity_text(group.criterion, one.capacity));
  return text;
}

std::string algorithm_of(const ipc::GroupView& group) {
  if (group.held.empty() || group.held == group.algorithm) return group.algorithm;
  return fmt::format("{}, held by {}", group.algorithm, group.held);
}

Json json_of(const ipc::GroupView& group) {
  return data_of(ipc::parse_reply(ipc::group_line(group)).value_or(ipc::Reply{}));
}

std::string leader_text(const ipc::GroupView& group) {
  return group.leader.empty()
             ? fmt::format("{} has no leader", group.name)
             : fmt::format("{} leads {}, term {}", group.leader, group.name, group.term);
}

}  // namespace

int groups(const DaemonArguments& arguments) {
  const auto answer = ask_groups(arguments);
  if (!answer) return answer.error();
  if (arguments.json) {
    print_json(data_of(answer->first));
    return kDone;
  }
  report::Table table(
      {"group", "leader", {"term", report::Align::right}, "criterion", "algorithm", "candidates"});
  for (const ipc::GroupView& group : answer->second)
    table.row({group.name, group.leader.empty() ? "none" : group.leader,
               group.leader.empty() ? "" : fmt::format("{}", group.term), group.criterion,
               algorithm_of(group), candidates_of(group)});
  print("{}", answer->second.empty() ? "no groups\n" : table.text());
  return kDone;
}

int leader(const GroupArguments& arguments) {
  const auto answer = ask_groups(arguments.daemon);
  if (!answer) return answer.error();
  ipc::GroupView found{.name = arguments.group};
  for (const ipc::GroupView& group : answer->second)
    if (group.name == arguments.group) found = group;
  if (arguments.daemon.json)
    print_json(json_of(found));
  else if (!found.leader.empty())
    print("{}\n", found.leader);
  if (!found.leader.empty()) return kDone;
  return print_error(
      kViolation,
      fmt::format("group '{}' has no leader; 'tempo groups' lists the groups", arguments.group));
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
      print_json_line(data_of(**reply));
    } else {
      print("{}\n", leader_text(*group));
      std::fflush(stdout);
    }
  }
}

int resign_group(const GroupArguments& arguments) {
  ipc::Request request = request_of(ipc::Verb::resign_group);
  request.name = arguments.group;
  const auto reply = order(arguments.daemon, request, "tempo groups");
  if (!reply) return reply.error();
  if (arguments.daemon.json) print_json(data_of(*reply));
  return kDone;
}

}  // namespace tempo::cli
