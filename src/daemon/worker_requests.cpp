// Requests of local clients, from the control server.
#include <array>

#include <fmt/core.h>

#include "daemon/control/daemon_view.h"
#include "daemon/worker.h"

namespace tempo::daemon {

node::Reading Worker::reading() { return node_.sync().reading(oscillator_->now()); }

// A running master ends every election with Quit, so only the master itself can start one, by
// resigning.
Result<void> Worker::reelect() {
  const NodeId master = node_.network(0) == nullptr ? kNobody : node_.network(0)->master();
  if (master == kNobody || master == codec_.self()) return resign();
  return std::unexpected(
      fmt::format("only the master can do this; run 'tempo reelect' on {}", name_of(master)));
}

Result<void> Worker::resign() {
  bool asked = false;
  for (std::uint8_t i = 0; i < links_.count(); ++i) {
    const election::MasterElection* election = node_.network(i);
    if (election == nullptr || (election->state() != election::State::master &&
                                election->state() != election::State::conflict))
      continue;
    asked = true;
    step([&](auto& turn) {
      node_.command(turn, {.network = i, .election = election::Command::resign});
    });
  }
  if (!asked)
    return std::unexpected("only the master can do this; 'tempo master' shows which host that is");
  return {};
}

Result<void> Worker::set_time(Nanos by) {
  const node::Reading::Status status = reading().status;
  if (status != node::Reading::Status::synchronized && status != node::Reading::Status::leads)
    return std::unexpected("this host has no network time yet; wait for it with 'tempo wait-sync'");
  step([&](auto& turn) {
    node_.command(turn, {.what = node::Node::Command::What::sync,
                         .network = node::kNoNetwork,
                         .sync = {.what = node::SyncCommand::What::set_offset, .by = by}});
  });
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
                        .locks = locks_.configured() ? lock_status() : "",
                        .groups = groups_.known()});
}

}  // namespace tempo::daemon
