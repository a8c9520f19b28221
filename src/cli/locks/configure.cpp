#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "cli/locks/lock.h"
#include "cli/operations/requests.h"

namespace tempo::cli {
namespace {

// Requests that make the proposed machines voters, one after the other.
struct Proposal {
  std::string question;
  std::string done;
  std::vector<ipc::Request> requests{};
};

int refuse(const std::string& message) { return print_error(kViolation, message); }

std::string names_of(const std::vector<obs::MemberView>& machines) {
  std::string names;
  for (const obs::MemberView& machine : machines)
    names += (names.empty() ? "" : ", ") + machine.name + (machine.self ? " (this machine)" : "");
  return names;
}

// Machines that are up, this one first, then by name; none of the voters.
std::vector<obs::MemberView> candidates(std::vector<obs::MemberView> members,
                                        const std::vector<ipc::VoterView>& voters) {
  std::erase_if(members, [&](const obs::MemberView& member) {
    const bool votes = std::ranges::any_of(voters, [&](const ipc::VoterView& voter) {
      return voter.host == member.name || (member.self && voter.state == "this machine");
    });
    return votes || (!member.self && member.state != "up");
  });
  std::ranges::sort(members, {}, [](const obs::MemberView& member) {
    return std::pair{!member.self, member.name};
  });
  return members;
}

Proposal first_voters(const std::vector<obs::MemberView>& chosen) {
  ipc::Request request = request_of(ipc::Verb::nominate_voters);
  for (const obs::MemberView& machine : chosen) request.hosts.push_back(machine.id);
  return {
      .question = fmt::format("These machines will vote on locks: {}", names_of(chosen)),
      .done = fmt::format("{} vote on locks; 'tempo locks --voters' shows them.", names_of(chosen)),
      .requests = {request}};
}

Proposal more_voters(const std::vector<obs::MemberView>& chosen) {
  Proposal proposal{
      .question = fmt::format("These machines will also vote on locks: {}", names_of(chosen)),
      .done = fmt::format("{} vote on locks too; 'tempo locks --voters' shows all voters.",
                          names_of(chosen))};
  for (const obs::MemberView& machine : chosen) {
    ipc::Request& request = proposal.requests.emplace_back(request_of(ipc::Verb::admit));
    request.host = machine.id;
  }
  return proposal;
}

int carry_out(const ExpectArguments& arguments, const Proposal& proposal) {
  if (!arguments.yes) {
    if (!stdin_is_terminal())
      return print_error(kBadUsage,
                         proposal.question +
                             ": cannot ask without a terminal, so nothing was changed; add --yes "
                             "to agree");
    print_error("{}. Go on? [y/N] ", proposal.question);
    if (const std::string answer = read_line(); answer != "y" && answer != "Y" && answer != "yes")
      return kViolation;
  }
  for (const ipc::Request& request : proposal.requests) {
    const bool last = &request == &proposal.requests.back();
    if (last) return send_order(arguments.daemon, request, proposal.done, "tempo locks");
    const auto reply = order(arguments.daemon, request, "tempo locks");
    if (!reply) return reply.error();
  }
  return kDone;
}

}  // namespace

int configure_expect(const ExpectArguments& arguments) {
  const auto locks_reply = ask(arguments.daemon, request_of(ipc::Verb::locks));
  if (!locks_reply) return locks_reply.error();
  const auto view = ipc::locks_view_of(*locks_reply);
  if (!view)
    return print_error(kNoDaemon, view.error() + "; use the tempo that came with this tempod");
  const auto snapshot = ask_status(arguments.daemon);
  if (!snapshot) return snapshot.error();
  const std::size_t have = view->voters.size();
  if (have == arguments.voters) {
    if (arguments.daemon.json)
      print_json(Json::object());
    else
      print("{} machines vote on locks already; 'tempo locks --voters' shows them.\n", have);
    return kDone;
  }
  if (have > arguments.voters)
    return refuse(
        fmt::format("{} machines vote on locks; take a vote from one with 'tempo forget "
                    "HOST', of those that 'tempo locks --voters' shows",
                    have));
  std::vector<obs::MemberView> chosen = candidates(snapshot->members, view->voters);
  const std::size_t missing = arguments.voters - have;
  if (chosen.size() < missing)
    return refuse(
        fmt::format("{} more voters are needed, but only {} machines without a vote are "
                    "up{}; 'tempo members' lists them",
                    missing, chosen.size(), chosen.empty() ? "" : ": " + names_of(chosen)));
  chosen.resize(missing);
  return carry_out(arguments, have == 0 ? first_voters(chosen) : more_voters(chosen));
}

}  // namespace tempo::cli
