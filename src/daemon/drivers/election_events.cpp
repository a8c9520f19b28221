#include "daemon/drivers/election_events.h"

#include <string>

#include <fmt/core.h>

#include "daemon/control/daemon_view.h"
#include "daemon/log.h"

namespace tempo::daemon {

void ElectionEvents::on_notice(const node::Node::ElectionNotice& of_network) {
  const election::Notice& notice = of_network.notice;
  const std::string& network = parts_.transport->links().label(of_network.network);
  const std::string peer = parts_.transport->name_of(notice.peer);
  if (notice.news == election::Change::leads) {
    parts_.events->emit("became-master", fmt::format("{}: this machine is master, epoch {}",
                                                     network, notice.epoch.round));
  } else if (notice.news == election::Change::follows) {
    if (states_[of_network.network] == "master")
      parts_.events->emit("two-masters",
                          fmt::format("{}: this machine and {} were both masters", network, peer));
    parts_.events->emit("master-changed", fmt::format("{}: {} is master, epoch {}", network, peer,
                                                      notice.epoch.round));
  } else if (notice.news == election::Change::peer_down) {
    parts_.events->emit("host-down", fmt::format("{}: {} does not answer", network, peer));
  }
}

void ElectionEvents::on_notice(const node::Node::UpstreamChanged& changed) {
  const Links& links = parts_.transport->links();
  if (changed.network != node::kNoNetwork && links.count() > 1)
    parts_.events->emit("time-source",
                        fmt::format("clock follows network {}", links.label(changed.network)));
}

void ElectionEvents::on_notice(const node::Node::TimeLoop& loop) {
  parts_.events->emit("time-circle",
                      fmt::format("{}: time loop detected; not following this network",
                                  parts_.transport->links().label(loop.network)));
}

void ElectionEvents::on_notice(const membership::Notice& notice) {
  using Kind = membership::Notice::Kind;
  switch (notice.kind) {
    case Kind::main:
      return log_info("this machine leads the main part of the network");
    case Kind::not_main:
      return log_info("this machine no longer leads the main part of the network");
    case Kind::dissolved:
      return log_info("this machine gives up its view of the network and joins as a new member");
    case Kind::outdated:
      return log_info(
          "resigning: another member was in the main part of the network later than this machine");
    case Kind::installed:
    case Kind::generation:
      return;
  }
}

// The log line names network, old and new state, and the mastership that the host knows.
void ElectionEvents::report_states(Instant now, const node::Node& node) {
  const Links& links = parts_.transport->links();
  for (std::uint8_t i = 0; i < links.count(); ++i) {
    const election::MasterElection* election = node.network(i);
    if (election == nullptr) continue;
    const std::string_view state = state_name(election->state());
    if (states_[i] == state) continue;
    if (states_[i] == "master" && state != "conflict")
      parts_.events->emit("lost-master",
                          fmt::format("{}: this machine is no longer master", links.label(i)));
    if (state == "conflict")
      parts_.events->emit("two-masters", fmt::format("{}: another master is active on this network",
                                                     links.label(i)));
    const std::string master = parts_.transport->name_of(election->master());
    log_debug(fmt::format("{}: {} -> {} (epoch {}, master {})", links.label(i),
                          states_[i].empty() ? "-" : states_[i], state, election->followed().round,
                          master.empty() ? "none" : master));
    states_[i] = state;
    parts_.transport->trace().becomes(now, election::name_of(election->state()));
  }
}

}  // namespace tempo::daemon
