#include "daemon/drivers/local_groups.h"

#include <fmt/core.h>

namespace tempo::daemon {

Result<void> LocalGroups::request(const Service::Command& command) {
  if (service() == nullptr) return std::unexpected(parts_.why_none());
  refused_.reset();
  this->command(command);
  if (refused_) return std::unexpected(groups::sentence_of(*refused_));
  return {};
}

std::vector<groups::Known> LocalGroups::known() const {
  return service() != nullptr ? service()->known() : std::vector<groups::Known>{};
}

std::optional<groups::Known> LocalGroups::known(std::string_view group) const {
  return service() != nullptr ? service()->known(group) : std::nullopt;
}

void LocalGroups::on_notice(const groups::LeadershipUpdate& update) {
  if (on_update_) on_update_(update);
}

void LocalGroups::on_notice(const Service::LeaderChanged& changed) {
  const auto known = this->known(changed.group);
  const std::string leader = known ? parts_.transport->name_of(known->leader) : "";
  if (!leader.empty())
    parts_.events->emit("leader-changed", fmt::format("{}: {} leads, term {}", changed.group,
                                                      leader, std::to_underlying(known->term)));
  else
    parts_.events->emit("leader-gone", fmt::format("{}: no known leader", changed.group));
  if (on_change_) on_change_(changed.group);
}

void LocalGroups::on_notice(const groups::AlgorithmReplaced& replaced) {
  parts_.events->emit("election-by-c",
                      fmt::format("{}: {}", replaced.group, groups::sentence_of(replaced)));
}

}  // namespace tempo::daemon
