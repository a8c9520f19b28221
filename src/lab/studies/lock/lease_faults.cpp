// The faults of a simulated run of lease locks, and their end.
#include <algorithm>
#include <bit>

#include "lab/sim/partition.h"
#include "lab/studies/lock/lease_cluster.h"

namespace tempo::sim::lease {

void Cluster::happen(const Event& event) {
  using enum Event::Kind;
  const NodeId site{event.which};
  switch (event.kind) {
    case ask:
      return this->ask(event.which);
    case quit:
      if (clients_[event.which].request == event.request &&
          clients_[event.which].state != Client::State::idle)
        this->quit(event.which);
      return;
    case leave:
      if (clients_[event.which].request == event.request) this->leave(event.which);
      return;
    case hang_up:
      if (clients_[event.which].request == event.request) this->hang_up(event.which);
      return;
    case come_back:
      if (clients_[event.which].request == event.request) this->come_back(event.which);
      return;
    case deadline:
      if (clients_[event.which].request == event.request) test_clock(event.which);
      return;
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
  const NodeId victim{static_cast<std::uint32_t>(fault_stream_.below(setup_.sites))};
  const Nanos lease = setup_.rules.lease;
  switch (event.kind) {
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
      world_.clock(victim).jump(fault_stream_.unit() * 2 * in_seconds(lease));
      for (std::uint32_t i = 0; i < clients_.size(); ++i)
        if (clients_[i].site == victim && clients_[i].state == Client::State::inside)
          plan_clock_test(i);
      return plan(step, faults.steps_per_s);
    default:
      return;
  }
}

// Draws a duration on a logarithmic scale: short ones are as likely as long ones.
Nanos Cluster::span_up_to(Nanos most) {
  const Nanos least = std::max(most / 1000, Nanos{1});
  const double scale = exact_exp(-fault_stream_.unit() * 6.9);
  return std::max(least, Nanos{static_cast<Nanos::rep>(static_cast<double>(most.count()) * scale)});
}

void Cluster::plan(Event::Kind kind, double per_second) {
  if (per_second <= 0) return;
  const double seconds = fault_stream_.exponential(1 / per_second);
  agenda_.add(world_.now() + Nanos{static_cast<Nanos::rep>(seconds * 1e9)}, {kind});
}

// Clients outlive their daemon: those inside continue until their deadline. Any prefix of the
// writes in progress reaches the disk.
void Cluster::crash(NodeId site) {
  if (!world_.up(site)) return;
  const std::size_t writing = world_.disk(site).writing();
  world_.crash(site, writing == 0 ? 0 : fault_stream_.below(writing + 1));
  ++outcome_.crashes;
  const std::uint32_t at = index(site);
  inbox_[at].clear();
  if (fault_stream_.chance(setup_.faults.lost_disks)) world_.disk(site).lose();
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    if (client.site != site) continue;
    if (client.state == Client::State::waits) go_idle(client, i);
    if (client.state != Client::State::inside) continue;
    client.orphan = true;
    client.returning = false;
    if (client.session.number != 0) ++outcome_.orphans;
  }
  agenda_.add(world_.now() + span_up_to(4 * setup_.rules.lease), {Event::Kind::restart, at});
}

void Cluster::restart(NodeId site) {
  if (world_.up(site)) return;
  world_.start(site);
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    const Client& client = clients_[i];
    if (client.site == site && client.orphan && client.session.number != 0)
      agenda_.add(world_.now() + span_up_to(4 * setup_.delay),
                  {Event::Kind::come_back, i, client.request});
  }
}

void Cluster::wake_up(NodeId site) {
  world_.resume(site);
  std::vector<Command> waiting;
  std::swap(waiting, inbox_[index(site)]);
  for (const Command& command : waiting) send_command(site, command);
}

// Reports the world's time with an error. The error lies at the lower end of the bound, at the
// upper end, or in between, each with the same probability. A paused daemon reads no clock.
void Cluster::report_time(NodeId site) {
  agenda_.add(world_.now() + setup_.rules.lease / 8, {Event::Kind::time, index(site)});
  const double part = static_cast<double>(reading_stream_.below(3)) - 1;
  const double error = setup_.time_error * (part == 0 ? 2 * reading_stream_.unit() - 1 : part);
  if (!world_.up(site) || world_.paused(site)) return;
  const auto bound = static_cast<double>(setup_.time_bound.count());
  const Nanos read =
      world_.now().time_since_epoch() + Nanos{static_cast<Nanos::rep>(error * bound)};
  send_command(site, Command::time(read - setup_.time_bound, read + setup_.time_bound));
}

// Splits the network in two parts, or closes some links in one direction.
void Cluster::cut() {
  const std::uint32_t n = setup_.sites;
  const bool parts = fault_stream_.chance(0.6);
  const std::uint64_t side = fault_stream_.below(std::uint64_t{1} << n);
  if (parts) {
    std::vector<bool> here(n);
    for (std::uint32_t i = 0; i < n; ++i) here[i] = (side >> i & 1) != 0;
    return world_.set_partition(partition_between(here));
  }
  std::vector<bool> partition(std::size_t{n} * n);
  for (std::uint32_t from = 0; from < n; ++from)
    for (std::uint32_t to = 0; to < n; ++to)
      partition[std::size_t{from} * n + to] = from != to && fault_stream_.chance(0.3);
  world_.set_partition(std::move(partition));
}

// At least two members keep their votes.
void Cluster::change_view(NodeId site) {
  if (!world_.up(site)) return;
  const tempo::lock::lease::View& view = world_.machine(site).state().view();
  const std::uint32_t most = std::min(setup_.sites, tempo::lock::lease::kMaxVoters);
  const NodeId member{static_cast<std::uint32_t>(fault_stream_.below(most))};
  if (!view.votes_for(member))
    send_command(site, Command::change(member, 1));
  else if (std::popcount(view.voters()) > 2)
    send_command(site, Command::change(member, 0));
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
