// What goes wrong in a play, and how it ends.
#include <algorithm>
#include <bit>

#include "lab/sim/partition.h"
#include "lab/studies/lock/lease_cluster.h"

namespace tempo::sim::lease {

void Cluster::happen(const What& what) {
  using enum What::Kind;
  const NodeId site{what.who};
  switch (what.kind) {
    case ask:
      return this->ask(what.who);
    case quit:
      if (clients_[what.who].request == what.request &&
          clients_[what.who].state != Client::State::idle)
        this->quit(what.who);
      return;
    case leave:
      if (clients_[what.who].request == what.request) this->leave(what.who);
      return;
    case deadline:
      if (clients_[what.who].request == what.request) test_clock(what.who);
      return;
    case written:
      if (lives_[what.who] != what.request) return;
      disks_[what.who] = what.record;
      being_written_[what.who].erase(being_written_[what.who].begin());
      return notify(site, Command::written(what.record));
    case restart:
      return this->restart(site);
    case resume:
      return wake_up(site);
    case time:
      return report_time(site);
    default:
      break;
  }
  if (!faulty_) return;
  const Faults& faults = setup_.faults;
  const NodeId victim{static_cast<std::uint32_t>(mishap_.below(setup_.sites))};
  const Nanos lease = setup_.rules.lease;
  switch (what.kind) {
    case crash:
      this->crash(victim);
      return plan(crash, faults.crashes_per_s);
    case blackout:
      for (std::uint32_t i = 0; i < setup_.sites; ++i) this->crash(NodeId{i});
      return plan(blackout, faults.blackouts_per_s);
    case pause:
      world_.pause(victim);
      agenda_.add(world_.now() + span_up_to(3 * lease), {resume, index(victim)});
      return plan(pause, faults.pauses_per_s);
    case partition:
      cut();
      agenda_.add(world_.now() + span_up_to(6 * lease), {heal});
      return plan(partition, faults.partitions_per_s);
    case heal:
      return world_.set_partition({});
    case change:
      change_view(victim);
      return plan(change, faults.changes_per_s);
    case step:
      world_.clock(victim).jump(mishap_.unit() * 2 * in_seconds(lease));
      for (std::uint32_t i = 0; i < clients_.size(); ++i)
        if (clients_[i].site == victim && clients_[i].state == Client::State::inside)
          plan_clock_test(i);
      return plan(step, faults.steps_per_s);
    default:
      return;
  }
}

// Short ones are as likely as long ones.
Nanos Cluster::span_up_to(Nanos most) {
  const Nanos least = std::max(most / 1000, Nanos{1});
  const double scale = exact_exp(-mishap_.unit() * 6.9);
  return std::max(least, Nanos{static_cast<Nanos::rep>(static_cast<double>(most.count()) * scale)});
}

void Cluster::plan(What::Kind kind, double per_second) {
  if (per_second <= 0) return;
  const double seconds = mishap_.exponential(1 / per_second);
  agenda_.add(world_.now() + Nanos{static_cast<Nanos::rep>(seconds * 1e9)}, {kind});
}

// Clients outlive their daemon: those inside go on until their deadline. Writes under way may have
// reached the disk or not.
void Cluster::crash(NodeId site) {
  if (!world_.up(site)) return;
  world_.crash(site);
  ++outcome_.crashes;
  const std::uint32_t at = index(site);
  ++lives_[at];
  inbox_[at].clear();
  for (const Record& record : being_written_[at])
    if (mishap_.chance(0.5)) disks_[at] = record;
  being_written_[at].clear();
  if (mishap_.chance(setup_.faults.lost_disks)) disks_[at].reset();
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    if (client.site != site) continue;
    if (client.state == Client::State::waits) go_idle(client, i);
    if (client.state == Client::State::inside) client.orphan = true;
  }
  agenda_.add(world_.now() + span_up_to(4 * setup_.rules.lease), {What::Kind::restart, at});
}

void Cluster::restart(NodeId site) {
  if (!world_.up(site)) world_.start(site);
}

void Cluster::wake_up(NodeId site) {
  world_.resume(site);
  std::vector<Command> waiting;
  std::swap(waiting, inbox_[index(site)]);
  for (const Command& command : waiting) notify(site, command);
}

// Network time is that of the world, and known with an error as often at one end of its bound or at
// the other as in between. A daemon that stands still reads no clock.
void Cluster::report_time(NodeId site) {
  agenda_.add(world_.now() + setup_.rules.lease / 8, {What::Kind::time, index(site)});
  const double part = static_cast<double>(reading_.below(3)) - 1;
  const double error = setup_.time_error * (part == 0 ? 2 * reading_.unit() - 1 : part);
  if (!world_.up(site) || world_.paused(site)) return;
  const auto bound = static_cast<double>(setup_.time_bound.count());
  const Nanos read =
      world_.now().time_since_epoch() + Nanos{static_cast<Nanos::rep>(error * bound)};
  notify(site, Command::time(read - setup_.time_bound, read + setup_.time_bound));
}

// Two parts, or some ways closed in one direction.
void Cluster::cut() {
  const std::uint32_t n = setup_.sites;
  const bool parts = mishap_.chance(0.6);
  const std::uint64_t side = mishap_.below(std::uint64_t{1} << n);
  if (parts) {
    std::vector<bool> here(n);
    for (std::uint32_t i = 0; i < n; ++i) here[i] = (side >> i & 1) != 0;
    return world_.set_partition(partition_between(here));
  }
  std::vector<bool> partition(std::size_t{n} * n);
  for (std::uint32_t from = 0; from < n; ++from)
    for (std::uint32_t to = 0; to < n; ++to)
      partition[std::size_t{from} * n + to] = from != to && mishap_.chance(0.3);
  world_.set_partition(std::move(partition));
}

// At least two keep their votes.
void Cluster::change_view(NodeId site) {
  if (!world_.up(site)) return;
  const tempo::lock::lease::View& view = world_.machine(site).state().view();
  const std::uint32_t most = std::min(setup_.sites, tempo::lock::lease::kMaxVoters);
  const NodeId member{static_cast<std::uint32_t>(mishap_.below(most))};
  if (!view.votes_for(member))
    notify(site, Command::change(member, 1));
  else if (std::popcount(view.voters()) > 2)
    notify(site, Command::change(member, 0));
}

void Cluster::stop_faults() {
  faulty_ = false;
  world_.set_partition({});
  Link link = world_.link();
  link.loss = link.duplicate = link.reorder = 0;
  world_.set_link(link);
  for (std::uint32_t i = 0; i < setup_.sites; ++i) {
    wake_up(NodeId{i});
    restart(NodeId{i});
  }
}

}  // namespace tempo::sim::lease
