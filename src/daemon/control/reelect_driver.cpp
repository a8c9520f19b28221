#include "daemon/control/reelect_driver.h"

#include <utility>
#include <vector>

#include <fmt/core.h>

namespace tempo::daemon {
namespace {

std::unexpected<ipc::Refusal> refused(ipc::Code code, std::string message) {
  return std::unexpected(ipc::Refusal{.code = code, .message = std::move(message)});
}

}  // namespace

bool ReelectDriver::leads(std::uint8_t network) const {
  const election::MasterElection* election = node().network(network);
  return election != nullptr && (election->state() == election::State::master ||
                                 election->state() == election::State::conflict);
}

void ReelectDriver::resign(std::uint8_t network, const std::string& asker) {
  parts_.events->emit("reelect", fmt::format("{}: this machine resigns at the request of {}",
                                             parts_.transport->links().label(network), asker));
  parts_.host->command(
      node::Node::Command{node::Node::ElectionCommand{network, election::Command::resign}});
}

// The network whose time this host follows, else the only one.
Result<std::uint8_t, ipc::Refusal> ReelectDriver::network_to_reelect() const {
  if (node().upstream() != node::kNoNetwork) return node().upstream();
  const Links& links = parts_.transport->links();
  std::vector<std::uint8_t> joined;
  for (std::uint8_t i = 0; i < links.count(); ++i)
    if (node().network(i) != nullptr && links.here(i)) joined.push_back(i);
  if (joined.size() == 1) return joined.front();
  if (joined.empty())
    return refused(ipc::Code::unavailable, "no network is up; bring an interface up and try again");
  return refused(
      ipc::Code::unavailable,
      fmt::format("this machine is on {} networks and does not follow any of them yet; wait with "
                  "'tempo wait-sync', or run 'tempo reelect' on a member of one network",
                  joined.size()));
}

std::variant<ReelectDriver::ReelectResult, std::uint32_t> ReelectDriver::reelect() {
  const wire::Codec& codec = parts_.transport->codec();
  const Links& links = parts_.transport->links();
  if (node().upstream() == node::kNoNetwork) {
    ipc::Reelected done{.master = parts_.transport->name_of(codec.self()), .network = ""};
    for (std::uint8_t i = 0; i < links.count(); ++i) {
      if (!leads(i)) continue;
      resign(i, "a local client");
      done.network += (done.network.empty() ? "" : ", ") + links.label(i);
    }
    if (!done.network.empty()) return ReelectResult(std::move(done));
  }
  const auto network = network_to_reelect();
  if (!network) return ReelectResult(std::unexpected(network.error()));
  const election::MasterElection& election = *node().network(*network);
  const NodeId master = election.master();
  // After an election or a resignation, `master` is still the old one until there is another.
  if (election.state() != election::State::slave || master == kNobody || master == codec.self())
    return ReelectResult(
        refused(ipc::Code::no_master, "no master on this network; an election is in progress"));
  const std::uint32_t number =
      request_.ask(parts_.host->clock().now(), {.network = *network,
                                                .node = master,
                                                .host = codec.directory().host_of(master),
                                                .round = election.followed().round});
  send_due();
  return number;
}

void ReelectDriver::send_due() {
  if (const auto request = request_.take_due(parts_.host->clock().now()))
    parts_.transport->send(request_.master().network, request_.master().node, *request);
}

std::optional<ReelectDriver::ReelectResult> ReelectDriver::result(std::uint32_t number) const {
  const std::optional<ReelectRequest::Outcome> outcome = request_.outcome(number);
  if (!outcome) return std::nullopt;
  const std::string master = parts_.transport->name_of(outcome->master.node);
  switch (outcome->what) {
    case ReelectRequest::Outcome::What::honoured:
      return ipc::Reelected{.master = master,
                            .network = parts_.transport->links().label(outcome->master.network)};
    case ReelectRequest::Outcome::What::refused:
      return refused(ipc::Code::unavailable,
                     fmt::format("{} refused: {}", master, outcome->reason));
    case ReelectRequest::Outcome::What::no_answer:
      break;
  }
  return refused(
      ipc::Code::unavailable,
      fmt::format("the master {0} did not answer; try again, or run 'tempo reelect' on {0}",
                  master));
}

void ReelectDriver::receive(std::uint8_t network, NodeId from, const wire::DiagnosticBody& body) {
  request_.receive(from, body);
  if (body.kind != wire::DiagnosticBody::Kind::reelect) return;
  const wire::Directory::Host* host = parts_.transport->codec().directory().find(from);
  const bool of_this_round =
      leads(network) && node().network(network)->followed().round == body.round;
  const ReelectLimiter::Verdict verdict = limiter_.judge(
      parts_.host->clock().now(),
      {.host = from, .incarnation = host->incarnation, .question = body.question}, of_this_round);
  if (verdict.resign) resign(network, parts_.transport->name_of(from));
  parts_.transport->send(network, from, verdict.answer);
}

}  // namespace tempo::daemon
