// The voters of the locks, and how an operator changes them: a machine gets a vote or loses it,
// through as many views as needed (doc/internals/lease.md, section 5). Every change ends: done,
// impossible, or given up without an answer of a majority.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "daemon/control/daemon_view.h"
#include "daemon/lock_driver.h"
#include "platform/clocks/boot_clock.h"

namespace tempo::daemon {

std::string LockDriver::name_of(HostId host) const {
  const wire::Directory::Host* known = parts_.codec->directory().find(host);
  if (known != nullptr) return name_of_node(*parts_.codec, known->node);
  return fmt::format("{:016x}", std::to_underlying(host));
}

std::uint8_t LockDriver::votes_of(HostId host) const {
  const lock::lease::View& view = service_->view();
  for (std::size_t i = 0; i < view.votes.size(); ++i)
    if (view.votes[i] > 0 && parts_.codec->directory().host_of(view.slots[i]) == host)
      return view.votes[i];
  return 0;
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
    if (among_voters && votes_of(host.id) == 0) return;
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
  if (change_.number != 0 && !change_.ended)
    return std::unexpected("another change of the voters is in progress; try again later");
  TRY(host, find_host(machine, !votes));
  const lock::lease::View& view = service_->view();
  if (view.available)
    return std::unexpected(
        "with policy = \"available\" each machine votes for itself; set another policy on both "
        "machines and restart tempod first");
  if (votes && votes_of(host) > 0)
    return std::unexpected(fmt::format("{} is already a voter", name_of(host)));
  if (votes && std::ranges::count(view.slots, kNobody) == 0)
    return std::unexpected(fmt::format(
        "there are already {} voters, the maximum; remove one of {} with 'tempo forget' first",
        view.slots.size(), names_of_voters()));
  if (!votes && std::ranges::count(view.votes, 0) + 1 == std::ssize(view.votes))
    return std::unexpected(fmt::format(
        "{} is the only voter; add another one with 'tempo admit HOST' first", name_of(host)));
  const config::Settings& settings = parts_.identity->settings;
  if (!votes && settings.lock_policy == config::LockPolicy::preferred &&
      name_of(host) == settings.lock_policy_host)
    return std::unexpected(fmt::format(
        "{} is the preferred machine (policy-host); set another policy on both machines "
        "and restart tempod first",
        name_of(host)));
  service_->give_up_change(
      sys::boot_clock());  // a change requested by this machine itself can wait
  change_ = {.number = change_.number + 1,
             .host = host,
             .votes = votes,
             .takes_part = !votes || host == parts_.identity->host,
             .until = change_deadline()};
  if (!change_.takes_part) service_->ask_record(host);
  advance_change();
  return change_.number;
}

std::optional<Result<void>> LockDriver::change_result(std::uint64_t number) const {
  if (number != change_.number)
    return Result<void>{std::unexpected("another change has replaced this one")};
  return change_.ended;
}

// The deadline allows for a lease per view and for repeated requests.
Instant LockDriver::change_deadline() const {
  return sys::boot_clock() + 5 * parts_.identity->settings.longest_lease() + 1s;
}

// One vote is added or removed at a time: the next step starts when the last is done.
void LockDriver::advance_change() {
  if (change_.number == 0 || change_.ended) return;
  const std::uint8_t has = votes_of(change_.host);
  if ((has > 0) == change_.votes) return end_change({});
  const Instant now = sys::boot_clock();
  if (!change_.takes_part && service_->last_record() == change_.host) {
    change_.takes_part = true;
    change_.until = change_deadline();
  }
  if (now >= change_.until) {
    service_->give_up_change(now);
    if (!change_.takes_part)
      return end_change(std::unexpected(fmt::format(
          "{} does not answer lock messages; check that tempod runs there with 'expect = {}' under "
          "[locks] in tempo.toml",
          name_of(change_.host), parts_.identity->settings.lock_expect)));
    return end_change(
        std::unexpected(fmt::format("no majority of the voters answers, and only a majority can "
                                    "change the voters ({}); nothing "
                                    "was changed so far",
                                    names_of_voters())));
  }
  // While a step is in progress, the service refuses this without effect.
  if (change_.takes_part)
    static_cast<void>(service_->change(
        now, change_.host, static_cast<std::uint8_t>(change_.votes ? has + 1 : has - 1)));
}

// Question or answer may have been lost.
void LockDriver::ask_again() {
  if (change_.number != 0 && !change_.ended && !change_.takes_part)
    service_->ask_record(change_.host);
}

void LockDriver::end_change(Result<void> result) { change_.ended = std::move(result); }

void LockDriver::follow_voters() {
  if (!bounded_delay_) return;
  const locks::MemberMap members(
      {.number_of = [this](HostId host) { return parts_.codec->number_of(host); },
       .host_of = [this](NodeId number) { return parts_.codec->directory().host_of(number); }});
  bounded_delay_->follow(sys::boot_clock(), locks::voters_of(service_->view(), members));
}

void LockDriver::voters_changed() {
  follow_voters();
  emit_event_("locks-voters", fmt::format("voters are now {}: {}", names_of_voters(), status()));
  if (change_.number != 0 && !change_.ended) change_.until = change_deadline();
}

// The preferred of two machines has two votes. It takes the second one itself as soon as both are
// voters.
void LockDriver::prefer() {
  const config::Settings& settings = parts_.identity->settings;
  if (settings.lock_policy != config::LockPolicy::preferred || !service_ ||
      settings.lock_policy_host != parts_.identity->name || (change_.number != 0 && !change_.ended))
    return;
  const lock::lease::View& view = service_->view();
  if (std::ranges::count(view.votes, 1) != 2 || votes_of(parts_.identity->host) != 1 || !serves())
    return;
  static_cast<void>(service_->change(sys::boot_clock(), parts_.identity->host, 2));
}

bool LockDriver::is_witness() const {
  const config::Settings& settings = parts_.identity->settings;
  return settings.lock_policy == config::LockPolicy::witness &&
         settings.lock_policy_host == parts_.identity->name;
}

}  // namespace tempo::daemon
