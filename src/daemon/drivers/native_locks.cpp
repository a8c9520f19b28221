#include "daemon/drivers/native_locks.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "daemon/control/daemon_view.h"
#include "daemon/drivers/lock_record_file.h"
#include "daemon/log.h"
#include "machine/overloaded.h"
#include "platform/clocks/boot_clock.h"
#include "platform/host.h"

namespace tempo::daemon {
namespace {

constexpr const char* kLostRecord =
    "votes when enough of the other voters have confirmed it; if most of them have lost their "
    "records too, run 'sudo tempo locks --bootstrap-again' on every voter";
constexpr const char* kOff =
    "no locks: no machines vote on them yet; 'sudo tempo configure expect N' on one machine "
    "chooses "
    "N voters, or set 'expect = N' under [locks] in tempo.toml on every machine";

lock::lease::Rules rules_of(const config::Settings& settings) {
  return {.lease = settings.lock_lease,
          .longest = settings.longest_lease(),
          .drift = Ppb{1'000'000},  // the system clock may be slewed by half of it
          .suppress_replies = true};
}

locks::BoundsMonitor::Rules bounds_of(const config::Settings& settings) {
  return {.delay_max = settings.lock_delay_max};
}

lock::lease::TwoNode policy_of(config::LockPolicy policy) {
  using lock::lease::TwoNode;
  switch (policy) {
    case config::LockPolicy::strict:
      return TwoNode::strict;
    case config::LockPolicy::witness:
      return TwoNode::witness;
    case config::LockPolicy::preferred:
      return TwoNode::preferred;
    case config::LockPolicy::available:
      return TwoNode::available;
  }
  return TwoNode::strict;
}

}  // namespace

std::optional<locks::LockService> make_lock_service(const DaemonIdentity& identity,
                                                    wire::Directory& directory) {
  const config::Settings& settings = identity.settings;
  if (settings.lock_back_end == config::LockBackEnd::etcd) return std::nullopt;
  const std::string place = sys::place_of(settings.state_dir);
  const SavedLocks saved = read_lock_record(settings.state_dir, identity.host, place);
  if (!saved.lost.empty())
    log_error(fmt::format("the lock record is lost: {}; this machine {}", saved.lost, kLostRecord));
  return locks::LockService({.self = identity.host,
                             .life = identity.incarnation,
                             .hosts = &directory,
                             .expected = settings.lock_expect,
                             .named = settings.lock_voters,
                             .rules = rules_of(settings),
                             .bounds = bounds_of(settings),
                             .policy = policy_of(settings.lock_policy),
                             .policy_host = settings.lock_policy_host,
                             .is_policy_host = settings.lock_policy_host == identity.name,
                             .kernel = sys::kernel_boot_id(),
                             .place = place,
                             .record = saved.record,
                             .record_lost = !saved.lost.empty(),
                             .above = saved.highest});
}

// --- clients ---

Result<void> NativeLocks::acquire(const locks::Acquire& request) {
  if (!configured()) return std::unexpected(status());
  parts_.host->command(Service::Command{request});
  return {};
}

Result<void> NativeLocks::resume(const locks::Resume& request) {
  if (!configured()) return std::unexpected(status());
  parts_.host->command(Service::Command{request});
  return {};
}

void NativeLocks::release(locks::ClientId client) {
  parts_.host->command(Service::Command{locks::Release{client}});
}

std::vector<locks::Known> NativeLocks::known() const {
  return configured() ? service()->known(sys::boot_clock()) : std::vector<locks::Known>{};
}

std::optional<locks::LockUpdate> NativeLocks::on_notice(const Service::Notice& notice) {
  std::optional<locks::LockUpdate> for_client;
  std::visit(
      Overloaded{[&](const locks::LockUpdate& update) { for_client = with_sentence(update); },
                 [&](const Service::VotersAgreed& agreed) {
                   parts_.events->emit(
                       "locks-founded",
                       fmt::format("voters agreed: {} machines vote on locks", agreed.voters));
                 },
                 [&](const Service::VotersChanged&) {
                   parts_.events->emit("locks-voters", fmt::format("voters are now {}: {}",
                                                                   names_of_voters(), status()));
                 },
                 [&](const Service::TwoSets& other) {
                   parts_.events->emit("two-voting-sets", two_sets_text(other.host));
                 },
                 [&](const Service::CloneHeard& clone) {
                   parts_.events->emit("clone", clone_text(clone.host));
                 },
                 [&](const Service::Retired&) { parts_.events->emit("vote-lost", retired_text()); },
                 [&](const Service::ChangeEnded& change) {
                   if (change.number == changes_) change_ended_ = result_of(change);
                   if (change.outcome == locks::ChangeOutcome::withdrawn)
                     log_warning(fmt::format(
                         "the change of the vote of {} is withdrawn: its client is gone",
                         name_of(change.host)));
                 }},
      notice);
  return for_client;
}

locks::LockUpdate NativeLocks::with_sentence(locks::LockUpdate update) const {
  if (update.kind == locks::LockUpdate::Kind::refused)
    update.sentence = update.refusal == locks::Refusal::no_voters
                          ? status()
                          : locks::refusal_text(update.refusal, update.lock,
                                                parts_.identity->settings.longest_lease());
  return update;
}

// --- status ---

bool NativeLocks::serves() const { return service()->serves(sys::boot_clock()); }

std::size_t NativeLocks::voters_found() const {
  return static_cast<std::size_t>(std::ranges::count_if(service()->view().slots, [&](NodeId voter) {
    const wire::Directory::Host* host = parts_.transport->codec().directory().find(voter);
    return voter != kNobody &&
           (voter == parts_.transport->codec().self() || (host != nullptr && host->heard));
  }));
}

// The longest wait is a lease that was granted just before the restart.
std::int64_t NativeLocks::seconds_until_served() const {
  const BootTime now = sys::boot_clock();
  const auto most =
      std::chrono::ceil<std::chrono::seconds>(2 * parts_.identity->settings.longest_lease());
  std::int64_t seconds = 1;
  while (seconds < most.count() && !service()->serves(now + std::chrono::seconds{seconds}))
    ++seconds;
  return seconds;
}

std::string NativeLocks::two_sets_text(HostId host) const {
  return fmt::format(
      "two voting sets: {} belongs to other voters than this machine, so a lock can have two "
      "holders; keep the machines of one set, and on each machine of the other stop tempod, remove "
      "the files 'locks' and 'locks.old' from its state directory, set the same 'expect' or "
      "'voters', and start it again",
      name_of(host));
}

std::string NativeLocks::clone_text(HostId host) const {
  return fmt::format(
      "two machines have the id of {}: its votes do not count; stop one of them, give it another "
      "machine id, and restart tempod on both",
      name_of(host));
}

std::string NativeLocks::retired_text() const {
  return parts_.transport->codec().id_taken()
             ? "another machine has the same id: this machine votes on no lock; give one of them "
               "another machine id and restart tempod"
             : "the other voters know a newer record of this machine: it votes on no lock until "
               "tempod restarts; if another machine has the same id, stop it first";
}

std::vector<std::string> NativeLocks::warnings() const {
  const LockHealth seen = health();
  std::vector<std::string> all{seen.two_sets, seen.clone, seen.retired, seen.crowded};
  std::erase(all, "");
  return all;
}

Result<void> NativeLocks::may_begin_again() const {
  if (!configured()) return std::unexpected(status());
  const BootTime now = sys::boot_clock();
  if (!service()->may_have_promised(now)) return {};
  const Nanos left = service()->leases_end() - now;
  return std::unexpected(
      left > Nanos{0}
          ? fmt::format("leases for which this machine has voted may still be held; try again in "
                        "{} s",
                        std::chrono::ceil<std::chrono::seconds>(left).count())
          : std::string("a lease for which this machine has voted may still be held; stop the "
                        "commands that 'tempo locks' shows on all machines, and try again"));
}

void NativeLocks::retire() {
  if (service() != nullptr) parts_.host->command(Service::Command{Service::Retire{}});
}

ipc::LockObstacle NativeLocks::obstacle() const {
  using ipc::LockObstacle;
  if (!configured()) return LockObstacle::off;
  if (service()->retired()) return LockObstacle::clone;
  if (service()->other_set(sys::boot_clock()) != kNoHost) return LockObstacle::other_voters;
  if (!record_error_.empty()) return LockObstacle::unwritable;
  if (service()->record_lost() && !service()->running()) return LockObstacle::record_lost;
  if (service()->crowded()) return LockObstacle::too_many_machines;
  if (!service()->running()) return LockObstacle::no_voters;
  if (!serves()) return LockObstacle::abstaining;
  return locks::losses_survived(service()->view(), voter_sights()) ? LockObstacle::none
                                                                   : LockObstacle::no_majority;
}

std::string NativeLocks::status() const {
  using ipc::LockObstacle;
  const std::size_t expect = service() == nullptr ? 0 : service()->expected();
  switch (obstacle()) {
    case LockObstacle::off:
      return kOff;
    case LockObstacle::other_voters:
      return "locks are not safe: " + two_sets_text(service()->other_set(sys::boot_clock()));
    case LockObstacle::clone:
      return "no locks: " + retired_text();
    case LockObstacle::record_lost:
      return fmt::format("no locks: the lock record is lost; this machine {}", kLostRecord);
    case LockObstacle::no_voters:
      if (service()->committed())
        return fmt::format("waiting for voters: {} of {} found", voters_found(),
                           std::popcount(service()->view().voters()));
      if (service()->stands_aside())
        return fmt::format(
            "waiting for the voters, which do not include this machine: {} of {} found",
            service()->heard(), expect);
      return fmt::format("waiting for voters: {} of {} found", service()->heard() + 1, expect);
    case LockObstacle::too_many_machines:
      return fmt::format(
          "no locks: {} machines agree on {} voters, and more than {} could agree on two sets of "
          "voters; set 'voters = [...]' under [locks] to the same names on every machine",
          service()->heard() + 1, expect, 2 * expect - 1);
    case LockObstacle::unwritable:
      return fmt::format("no locks: cannot save the lock record: {}", record_error_);
    case LockObstacle::abstaining:
      return fmt::format(
          "no locks for another {} s: leases granted before the restart may still be valid",
          seconds_until_served());
    case LockObstacle::no_majority:
      return locks::no_majority_text(service()->view(), voter_sights());
    case LockObstacle::none:
    case LockObstacle::count:
      break;
  }
  const lock::lease::View& view = service()->view();
  return locks::lock_status(view, parts_.transport->name_of(locks::needed_voter(view)));
}

ipc::LocksView NativeLocks::view() const {
  ipc::LocksView all{.guarantee = status(), .obstacle = obstacle()};
  if (!configured() || !service()->committed()) return all;
  all.voters = voters();
  all.votes_needed = locks::votes_needed(service()->view());
  all.losses_survived = locks::losses_survived(service()->view(), voter_sights());
  return all;
}

std::vector<ipc::VoterView> NativeLocks::voters() const {
  const lock::lease::View& view = service()->view();
  const wire::Codec& codec = parts_.transport->codec();
  std::vector<ipc::VoterView> voters;
  for (std::size_t i = 0; i < view.votes.size(); ++i) {
    if (view.votes[i] == 0) continue;
    ipc::VoterView& voter = voters.emplace_back();
    voter.votes = view.votes[i];
    voter.host = parts_.transport->name_of(view.slots[i]);
    if (view.slots[i] == codec.self()) {
      voter.state = "this machine";
      voter.reachable = true;
      continue;
    }
    const Announcer::Sight sight =
        parts_.announcer->sight_of(codec.directory().host_of(view.slots[i]));
    if (!sight.name.empty()) voter.host = sight.name;
    voter.state = sight.state ? announce::name_of(*sight.state) : "unknown";
    voter.reachable = sight.state == announce::State::up;
    voter.heard_ago_s = std::chrono::duration<double>(sight.heard_ago).count();
  }
  return voters;
}

std::vector<locks::VoterSight> NativeLocks::voter_sights() const {
  std::vector<locks::VoterSight> sights;
  for (const ipc::VoterView& voter : voters())
    sights.push_back({.name = voter.host,
                      .votes = voter.votes,
                      .reachable = voter.reachable,
                      .silence = ipc::silence_text(voter)});
  return sights;
}

LockHealth NativeLocks::health() const {
  LockHealth health{.configured = configured()};
  if (!health.configured) return health;
  health.expected = service()->expected();
  const BootTime now = sys::boot_clock();
  if (const HostId other = service()->other_set(now); other != kNoHost)
    health.two_sets = two_sets_text(other);
  if (const HostId clone = service()->clone(now); clone != kNoHost)
    health.clone = clone_text(clone);
  // The warning about the id of this host says the same.
  if (service()->retired() && !parts_.transport->codec().id_taken())
    health.retired = retired_text();
  if (service()->crowded()) health.crowded = status();
  health.agreed = service()->committed();
  health.record_lost = service()->record_lost() && !service()->running();
  health.found = service()->heard() + 1;
  if (!health.agreed) return health;
  const lock::lease::View& view = service()->view();
  health.available = view.available;
  for (std::size_t i = 0; i < view.slots.size(); ++i)
    if (view.slots[i] != kNobody && view.votes[i] > 0)
      health.voters.push_back(
          {.id = id_text(parts_.transport->codec(), view.slots[i]), .votes = view.votes[i]});
  return health;
}

std::string NativeLocks::silent_mode() const {
  const locks::BoundedDelayLocks* silent = configured() ? service()->bounded_delay() : nullptr;
  const auto why = silent != nullptr ? silent->why() : std::nullopt;
  if (!why) return "";
  return locks::silent_mode_text(*why, bounds_of(parts_.identity->settings),
                                 name_of(silent->member(*why)));
}

// --- voters ---

std::string NativeLocks::name_of(HostId host) const { return parts_.transport->name_of(host); }

std::string NativeLocks::names_of_voters() const {
  std::string names;
  for (const NodeId voter : service()->view().slots) {
    if (voter == kNobody) continue;
    if (!names.empty()) names += ", ";
    names += parts_.transport->name_of(voter);
  }
  return names;
}

// A machine that is gone may be known only by its id.
Result<HostId> NativeLocks::find_host(std::string_view text, bool among_voters) const {
  std::vector<HostId> found;
  parts_.transport->codec().directory().for_each([&](const wire::Directory::Host& host) {
    if (among_voters && service()->votes_of(host.id) == 0) return;
    if (host.name.text() == text || id_text(parts_.transport->codec(), host.node) == text)
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

Result<std::uint64_t> NativeLocks::change_voters(std::string_view machine, bool votes) {
  if (!configured() || !service()->running()) return std::unexpected(status());
  if (service()->changing())
    return std::unexpected(result_of({.outcome = locks::ChangeOutcome::busy}).error());
  TRY(host, find_host(machine, !votes));
  change_ended_.reset();
  parts_.host->command(
      Service::Command{Service::ChangeVoters{.number = ++changes_, .host = host, .votes = votes}});
  if (change_ended_ && !*change_ended_) return std::unexpected(change_ended_->error());
  return changes_;
}

// Two sets of voters could lock the same thing twice, so an operator nominates one only where no
// other can come to be.
Result<void> NativeLocks::may_nominate() const {
  if (service()->committed())
    return std::unexpected(
        fmt::format("the voters are known already: {}; 'tempo admit HOST' and 'tempo forget HOST' "
                    "change them",
                    names_of_voters()));
  if (const unsigned expect = parts_.identity->settings.lock_expect; expect != 0)
    return std::unexpected(
        fmt::format("expect = {} in the configuration of this machine asks for voters already; "
                    "remove it there to choose them with this command",
                    expect));
  if (service()->record_lost() || service()->retired()) return std::unexpected(status());
  std::size_t silent = 0;
  std::size_t up = 1;
  for (const auto& [host, member] : parts_.announcer->machine().members()) {
    const Announcer::Sight sight = parts_.announcer->sight_of(host);
    silent += sight.state == announce::State::silent ? 1U : 0U;
    if (sight.state != announce::State::up) continue;
    ++up;
    if (member.says.expect != 0)
      return std::unexpected(
          fmt::format("{} has expect = {} in its configuration and could agree on other voters; "
                      "remove it there first",
                      sight.name, member.says.expect));
  }
  if (silent >= up)
    return std::unexpected(
        fmt::format("{} machines are up and {} are silent, where others could be chosen; try again "
                    "when more than half are up, or stop tempod on those that are gone for good",
                    up, silent));
  return {};
}

Result<std::uint64_t> NativeLocks::nominate_voters(const std::vector<std::string>& machines) {
  if (service() == nullptr) return std::unexpected(status());
  if (service()->changing())
    return std::unexpected(result_of({.outcome = locks::ChangeOutcome::busy}).error());
  if (const auto may = may_nominate(); !may) return std::unexpected(may.error());
  const HostId self = parts_.identity->host;
  Service::NominateVoters wanted{.number = ++changes_};
  for (const std::string& machine : machines) {
    TRY(host, find_host(machine, false));
    if (host != self && parts_.announcer->sight_of(host).state != announce::State::up)
      return std::unexpected(
          fmt::format("{} is not up; 'tempo members' lists the machines", machine));
    if (std::ranges::find(wanted.hosts, host) != wanted.hosts.end())
      return std::unexpected(fmt::format("{} is named twice", machine));
    wanted.hosts.push_back(host);
  }
  if (std::ranges::find(wanted.hosts, self) == wanted.hosts.end())
    return std::unexpected("this machine must be one of the first voters; name it too");
  change_ended_.reset();
  parts_.host->command(Service::Command{std::move(wanted)});
  if (change_ended_ && !*change_ended_) return std::unexpected(change_ended_->error());
  return changes_;
}

std::optional<Result<void>> NativeLocks::change_result(std::uint64_t number) const {
  if (number != changes_)
    return Result<void>{std::unexpected("another change has replaced this one")};
  return change_ended_;
}

void NativeLocks::cancel_change(std::uint64_t number) {
  if (number != changes_ || change_ended_) return;
  parts_.host->command(Service::Command{Service::CancelChange{number}});
}

Result<void> NativeLocks::result_of_nomination(locks::ChangeOutcome outcome) const {
  using locks::ChangeOutcome;
  if (outcome == ChangeOutcome::done) return {};
  if (outcome == ChangeOutcome::busy)
    return std::unexpected("another change of the voters is in progress; try again later");
  if (outcome == ChangeOutcome::already)
    return std::unexpected(
        fmt::format("others were chosen at the same time; the voters are {}", names_of_voters()));
  if (outcome == ChangeOutcome::no_answer)
    return std::unexpected(
        "not all of these machines have agreed within 10 s; if they still do, 'tempo locks' shows "
        "it; otherwise check that they are up, and try again");
  if (outcome == ChangeOutcome::withdrawn) return std::unexpected("the choice was withdrawn");
  return std::unexpected(status());
}

Result<void> NativeLocks::result_of(const Service::ChangeEnded& change) const {
  using locks::ChangeOutcome;
  if (change.host == kNoHost) return result_of_nomination(change.outcome);
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
          service()->view().slots.size(), names_of_voters()));
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
          "{} does not answer lock messages; check that tempod runs there and does not keep its "
          "locks in etcd",
          name));
    case ChangeOutcome::no_majority:
      return std::unexpected(
          fmt::format("no majority of the voters answers, and only a majority can change the "
                      "voters ({}); nothing was changed so far",
                      names_of_voters()));
    case ChangeOutcome::withdrawn:
      return std::unexpected(fmt::format("the change of the vote of {} was withdrawn", name));
  }
  return {};
}

}  // namespace tempo::daemon
