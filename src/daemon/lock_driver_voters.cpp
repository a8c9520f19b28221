// The voters of the locks for users: the machines have names, and a change ends with a sentence.
#include <utility>

#include <fmt/core.h>

#include "daemon/control/daemon_view.h"
#include "daemon/lock_driver.h"

namespace tempo::daemon {

std::string LockDriver::name_of(HostId host) const {
  const wire::Directory::Host* known = parts_.codec->directory().find(host);
  if (known != nullptr) return name_of_node(*parts_.codec, known->node);
  return fmt::format("{:016x}", std::to_underlying(host));
}

std::string LockDriver::names_of_voters() const {
  std::string names;
  for (const NodeId voter : service_->view().slots) {
    if (voter == kNobody) continue;
    if (!names.empty()) names += ", ";
    names += name_of_node(*parts_.codec, voter);
  }
  return names;
}

// A machine that is gone may be known only by its id.
Result<HostId> LockDriver::find_host(std::string_view text, bool among_voters) const {
  std::vector<HostId> found;
  parts_.codec->directory().for_each([&](const wire::Directory::Host& host) {
    if (among_voters && service_->votes_of(host.id) == 0) return;
    if (host.name.text() == text || id_text(*parts_.codec, host.node) == text)
      found.push_back(host.id);
  });
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    return std::unexpected(fmt::format(
        "more than one machine is named '{}'; use its id (see 'tempo members --json')", text));
  if (among_voters)
    return std::unexpected(
        fmt::format("no voter is named '{}'; the voters are {}", text, names_of_voters()));
  return std::unexpected(
      fmt::format("no machine is named '{}'; 'tempo members' lists the known ones", text));
}

Result<std::uint64_t> LockDriver::change_voters(std::string_view machine, bool votes) {
  if (!service_ || !service_->running()) return std::unexpected(status());
  if (service_->changing())
    return std::unexpected(result_of({.outcome = locks::ChangeOutcome::busy}).error());
  TRY(host, find_host(machine, !votes));
  change_ended_.reset();
  command(Service::ChangeVoters{.number = ++changes_, .host = host, .votes = votes});
  if (change_ended_ && !*change_ended_) return std::unexpected(change_ended_->error());
  return changes_;
}

std::optional<Result<void>> LockDriver::change_result(std::uint64_t number) const {
  if (number != changes_)
    return Result<void>{std::unexpected("another change has replaced this one")};
  return change_ended_;
}

void LockDriver::on_notice(const Service::ChangeEnded& change) {
  if (change.number == changes_) change_ended_ = result_of(change);
}

Result<void> LockDriver::result_of(const Service::ChangeEnded& change) const {
  using locks::ChangeOutcome;
  const std::string name = name_of(change.host);
  switch (change.outcome) {
    case ChangeOutcome::done:
      return {};
    case ChangeOutcome::not_running:
      return std::unexpected(status());
    case ChangeOutcome::busy:
      return std::unexpected("another change of the voters is in progress; try again later");
    case ChangeOutcome::available:
      return std::unexpected(
          "with policy = \"available\" each machine votes for itself; set another policy on both "
          "machines and restart tempod first");
    case ChangeOutcome::already:
      return std::unexpected(fmt::format("{} is already a voter", name));
    case ChangeOutcome::full:
      return std::unexpected(fmt::format(
          "there are already {} voters, the maximum; remove one of {} with 'tempo forget' first",
          service_->view().slots.size(), names_of_voters()));
    case ChangeOutcome::last:
      return std::unexpected(
          fmt::format("{} is the only voter; add another one with 'tempo admit HOST' first", name));
    case ChangeOutcome::preferred:
      return std::unexpected(fmt::format(
          "{} is the preferred machine (policy-host); set another policy on both machines and "
          "restart tempod first",
          name));
    case ChangeOutcome::no_answer:
      return std::unexpected(fmt::format(
          "{} does not answer lock messages; check that tempod runs there with 'expect = {}' under "
          "[locks] in tempo.toml",
          name, parts_.identity->settings.lock_expect));
    case ChangeOutcome::no_majority:
      return std::unexpected(
          fmt::format("no majority of the voters answers, and only a majority can change the "
                      "voters ({}); nothing was changed so far",
                      names_of_voters()));
  }
  return {};
}

}  // namespace tempo::daemon
