// Requests of local clients, from the control server.
#include <array>
#include <utility>

#include <fmt/core.h>

#include "daemon/control/daemon_view.h"
#include "daemon/worker.h"

namespace tempo::daemon {

node::Reading Worker::reading() { return node_.sync().reading(oscillator_->now()); }

// --- reelect ---

namespace {

ipc::Refusal refusal(ipc::Code code, std::string message) {
  return {.code = code, .message = std::move(message)};
}

// The network that `reelect` is about: the one whose time this host follows, else the only one.
Result<std::uint8_t, ipc::Refusal> network_to_reelect(const node::Node& node, const Links& links) {
  if (node.upstream() != node::kNoNetwork) return node.upstream();
  std::vector<std::uint8_t> joined;
  for (std::uint8_t i = 0; i < links.count(); ++i)
    if (node.network(i) != nullptr && links.here(i)) joined.push_back(i);
  if (joined.size() == 1) return joined.front();
  if (joined.empty())
    return std::unexpected(
        refusal(ipc::Code::unavailable, "no network is up; bring an interface up and try again"));
  return std::unexpected(refusal(
      ipc::Code::unavailable,
      fmt::format("this machine is on {} networks and does not follow any of them yet; wait with "
                  "'tempo wait-sync', or run 'tempo reelect' on a member of one network",
                  joined.size())));
}

}  // namespace

bool Worker::leads(std::uint8_t number) const {
  const election::MasterElection* election = node_.network(number);
  return election != nullptr && (election->state() == election::State::master ||
                                 election->state() == election::State::conflict);
}

void Worker::resign(std::uint8_t number, const std::string& asker) {
  emit_event("reelect", fmt::format("{}: this machine resigns at the request of {}",
                                    links_.label(number), asker));
  step([&](auto& turn) {
    node_.command(turn, node::Node::ElectionCommand{number, election::Command::resign});
  });
}

// A running master ends every election with Quit, so only the master itself can start one, by
// resigning.
std::variant<Worker::ReelectResult, std::uint32_t> Worker::reelect() {
  if (node_.upstream() == node::kNoNetwork) {
    ipc::Reelected done{.master = name_of(codec_.self()), .network = ""};
    for (std::uint8_t i = 0; i < links_.count(); ++i) {
      if (!leads(i)) continue;
      resign(i, "a local client");
      done.network += (done.network.empty() ? "" : ", ") + links_.label(i);
    }
    if (!done.network.empty()) return ReelectResult(std::move(done));
  }
  const auto network = network_to_reelect(node_, links_);
  if (!network) return ReelectResult(std::unexpected(network.error()));
  const election::MasterElection& election = *node_.network(*network);
  const NodeId master = election.master();
  // After an election or a resignation, `master` is still the old one until there is another.
  if (election.state() != election::State::slave || master == kNobody || master == codec_.self())
    return ReelectResult(std::unexpected(
        refusal(ipc::Code::no_master, "no master on this network; an election is in progress")));
  const std::uint32_t number =
      reelect_request_.ask(oscillator_->now(), {.network = *network,
                                                .node = master,
                                                .host = codec_.directory().host_of(master),
                                                .round = election.followed().round});
  send_reelect();
  return number;
}

void Worker::send_reelect() {
  const std::optional<wire::DiagnosticBody> request = reelect_request_.take_due(oscillator_->now());
  if (!request) return;
  const ReelectRequest::Master& master = reelect_request_.master();
  std::array<std::byte, wire::kMaxBytes> buffer;
  if (!links_.send(master.network, master.node, {buffer.data(), codec_.encode(*request, buffer)},
                   std::nullopt))
    ++unsent_;
}

std::optional<Worker::ReelectResult> Worker::reelect_result(std::uint32_t number) const {
  const std::optional<ReelectRequest::Outcome> outcome = reelect_request_.outcome(number);
  if (!outcome) return std::nullopt;
  const std::string master = name_of(outcome->master.node);
  switch (outcome->what) {
    case ReelectRequest::Outcome::What::honoured:
      return ipc::Reelected{.master = master, .network = links_.label(outcome->master.network)};
    case ReelectRequest::Outcome::What::refused:
      return std::unexpected(
          refusal(ipc::Code::unavailable, fmt::format("{} refused: {}", master, outcome->reason)));
    case ReelectRequest::Outcome::What::no_answer:
      break;
  }
  return std::unexpected(
      refusal(ipc::Code::unavailable,
              fmt::format("the master {0} did not answer; try again, or run 'tempo reelect' on {0}",
                          master)));
}

// Another host asks this one to resign.
void Worker::receive_reelect(std::uint8_t number, NodeId from, const wire::DiagnosticBody& body) {
  const wire::Directory::Host* host = codec_.directory().find(from);
  const bool of_this_round = leads(number) && node_.network(number)->followed().round == body.round;
  const ReelectLimiter::Verdict verdict = reelect_limiter_.judge(
      oscillator_->now(),
      {.host = from, .incarnation = host->incarnation, .question = body.question}, of_this_round);
  if (verdict.resign) resign(number, name_of(from));
  std::array<std::byte, wire::kMaxBytes> buffer;
  links_.send(number, from, {buffer.data(), codec_.encode(verdict.answer, buffer)}, std::nullopt);
}

// --- other requests ---

Result<void> Worker::set_time(Nanos by) {
  const node::Reading::Status status = reading().status;
  if (status != node::Reading::Status::synchronized && status != node::Reading::Status::leads)
    return std::unexpected("this machine has no network time yet; wait with 'tempo wait-sync'");
  step(
      [&](auto& turn) { node_.command(turn, node::Node::ClockCommand{node::SetNetworkTime{by}}); });
  return {};
}

void Worker::ask_members() {
  const std::optional<wire::DiagnosticBody> question = remote_diagnosis_.ask(oscillator_->now());
  if (!question) return;
  std::array<std::byte, wire::kMaxBytes> buffer;
  for (std::uint8_t i = 0; i < links_.count(); ++i)
    if (links_.here(i)) links_.broadcast(i, {buffer.data(), codec_.encode(*question, buffer)});
}

bool Worker::members_answered() {
  std::size_t others = 0;
  codec_.directory().for_each([&](const wire::Directory::Host& host) {
    others += host.heard && host.node != codec_.self() ? 1U : 0U;
  });
  return remote_diagnosis_.over(oscillator_->now(), others);
}

std::vector<ipc::MemberFindings> Worker::member_findings() const {
  std::vector<ipc::MemberFindings> all;
  codec_.directory().for_each([&](const wire::Directory::Host& host) {
    if (!host.heard || host.node == codec_.self()) return;
    ipc::MemberFindings& member = all.emplace_back();
    member.name = name_of(host.node);
    member.id = id_text(codec_, host.node);
    const std::optional<RemoteDiagnosis::Answer> answer = remote_diagnosis_.of(host.node);
    if (!answer) return;
    member.answered = true;
    member.missing = answer->missing;
    member.findings = answer->findings;
  });
  return all;
}

std::string Worker::name_of(NodeId node) const { return name_of_node(codec_, node); }

std::string Worker::name_of(HostId host) const {
  const wire::Directory::Host* known = codec_.directory().find(host);
  if (host == kNoHost || known == nullptr) return "";
  return name_of(known->node);
}

std::string Worker::lock_status() const {
  const std::string mode = locks_.silent_mode();
  return mode.empty() ? locks_.status() : locks_.status() + "; " + mode;
}

obs::Snapshot Worker::snapshot() {
  return make_snapshot({.identity = &identity_,
                        .codec = &codec_,
                        .node = &node_,
                        .links = &links_,
                        .now = oscillator_->now(),
                        .started = started_,
                        .duplicate_id = duplicate_id_,
                        .clock_error = clock_error_,
                        .incompatible_peer = incompatible_peers_.about(oscillator_->now()),
                        .unsent = unsent_,
                        .stalls = stalls_,
                        .reelect_honoured = reelect_limiter_.honoured(),
                        .reelect_refused = reelect_limiter_.refused(),
                        .locks = locks_.configured() ? lock_status() : "",
                        .groups = groups_.known()});
}

}  // namespace tempo::daemon
