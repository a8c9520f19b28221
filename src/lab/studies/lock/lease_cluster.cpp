#include "lab/studies/lock/lease_cluster.h"

#include <algorithm>

#include "base/check.h"
#include "protocol/lock/lease/lease_mutation.h"

namespace tempo::sim::lease {

using tempo::lock::LockId;
using tempo::lock::Mode;
using tempo::lock::lease::ClientId;
using tempo::lock::lease::kMaxVoters;
using tempo::lock::lease::Mutation;
using tempo::lock::lease::View;

namespace {

constexpr std::uint32_t kClients = 10;  // of Cause::plan: which stream is whose
constexpr std::uint32_t kMishaps = 11;
constexpr std::uint32_t kClocks = 12;
constexpr std::uint32_t kReadings = 13;
constexpr std::int64_t kBillion = 1'000'000'000;

View view_of(const Setup& setup) {
  const std::uint32_t voters = setup.voters == 0 ? setup.sites : setup.voters;
  return setup.policy ? two_members(*setup.policy) : tempo::lock::lease::one_vote_each(voters);
}

Link link_of(const Setup& setup) {
  return {.delay = Delay::uniform(setup.delay / 10, setup.delay),
          .loss = setup.faults.loss,
          .duplicate = setup.faults.duplicate,
          .reorder = setup.faults.late,
          .lateness = Delay::uniform(0s, 3 * setup.rules.lease)};
}

Nanos exponential(Stream& stream, Nanos mean) {
  return Nanos{static_cast<Nanos::rep>(stream.exponential(static_cast<double>(mean.count())))};
}

}  // namespace

Cluster::Cluster(const Setup& setup)
    : setup_(setup),
      disks_(setup.sites),
      being_written_(setup.sites),
      inbox_(setup.sites),
      lives_(setup.sites),
      rates_(setup.sites),
      chance_(setup.seed, std::to_underlying(Cause::plan), kClients),
      mishap_(setup.seed, std::to_underlying(Cause::plan), kMishaps),
      reading_(setup.seed, std::to_underlying(Cause::plan), kReadings),
      world_(
          {.nodes = setup.sites, .seed = setup.seed, .link = link_of(setup)},
          [this](NodeId id, Incarnation) {
            return Member({.self = id,
                           .rules = setup_.rules,
                           .view = view_of(setup_),
                           .record = disks_[index(id)]});
          },
          *this) {
  CHECK(setup.sites > 0 && setup.sites <= kMaxSites && setup.contending <= setup.sites);
  CHECK(setup.voters <= kMaxVoters && (setup.voters > 0 || setup.sites <= kMaxVoters));
  std::vector<NodeId> site_of;
  for (std::uint32_t site = 0; site < setup.contending; ++site)
    for (std::uint32_t i = 0; i < setup.clients; ++i) site_of.push_back(NodeId{site});
  for (std::uint32_t lock = 0; lock < setup.locks; ++lock) {
    ledgers_.emplace_back(setup.sites, site_of);
    for (std::uint32_t i = 0; i < site_of.size(); ++i)
      clients_.push_back({.site = site_of[i], .lock = lock, .number = i});
  }
  Stream clocks(setup.seed, std::to_underlying(Cause::plan), kClocks);
  for (std::uint32_t i = 0; i < setup.sites; ++i) {
    const std::int64_t most = setup.drift ? setup.rules.drift.value : 0;
    // The fastest and the slowest are there, the others in between.
    rates_[i] = i == 0   ? most
                : i == 1 ? -most
                         : -most + static_cast<std::int64_t>(
                                       clocks.below(2 * static_cast<std::uint64_t>(most) + 1));
    if (setup.faults.steps_per_s > 0)
      world_.set_clock(NodeId{i},
                       Oscillator({.rate = static_cast<double>(rates_[i]) * 1e-9}, Stream{}));
    else
      world_.set_rate(NodeId{i}, Ppb{rates_[i]});
    if (!setup.fresh_disks) disks_[i] = Record{.view = view_of(setup)};
  }
}

Outcome Cluster::run() {
  for (std::uint32_t i = 0; i < setup_.sites; ++i) world_.start(NodeId{i});
  for (std::uint32_t i = 0; i < clients_.size(); ++i)
    agenda_.add(Instant{} + exponential(chance_, setup_.think), {What::Kind::ask, i});
  if (setup_.time_bound > Nanos{0})
    for (std::uint32_t i = 0; i < setup_.sites; ++i)
      agenda_.add(Instant{} + Nanos{1}, {What::Kind::time, i});
  const Faults& faults = setup_.faults;
  plan(What::Kind::crash, faults.crashes_per_s);
  plan(What::Kind::blackout, faults.blackouts_per_s);
  plan(What::Kind::pause, faults.pauses_per_s);
  plan(What::Kind::partition, faults.partitions_per_s);
  plan(What::Kind::change, faults.changes_per_s);
  plan(What::Kind::step, faults.steps_per_s);

  const Nanos lease = setup_.rules.lease;
  while (entries_ < setup_.entries && !world_.exhausted()) {
    const std::uint64_t before = entries_;
    run_until(world_.now() + 50 * lease);
    // Where everything is cut off for ever nothing will come.
    if (entries_ == before && world_.now() > Instant{} + 100'000 * lease) break;
  }
  stop_faults();
  std::vector<std::uint64_t> before;
  before.reserve(ledgers_.size());
  for (const sim::lock::Ledger& ledger : ledgers_) before.push_back(ledger.tally().entries);
  run_until(world_.now() + 30 * lease);
  wishes_ = false;
  for (int i = 0; i < 100; ++i) run_until(world_.now() + lease);
  for (std::size_t i = 0; i < ledgers_.size(); ++i) {
    const sim::lock::Ledger& ledger = ledgers_[i];
    outcome_.blocked += ledger.tally().entries == before[i] ? 1U : 0U;
    outcome_.tally.add(ledger.tally());
    outcome_.tally.deadlocks += ledger.waiting() > 0 ? 1U : 0U;
  }
  using tempo::lock::lease::Kind;
  outcome_.tally.messages = messages_;
  outcome_.tally.refusals = outcome_.said[std::to_underlying(Kind::refuse)];
  if (world_.exhausted()) outcome_.broken = "storm";
  outcome_.ended = world_.now();
  outcome_.events = world_.events();
  return outcome_;
}

void Cluster::run_until(Instant limit) {
  while (world_.now() < limit) {
    const Instant stop = std::min(limit, std::max(agenda_.first(), world_.now()));
    world_.run_until(stop, [&] { return agenda_.first() < stop || enough(); });
    while (agenda_.first() <= world_.now()) happen(agenda_.take());
    if (world_.exhausted() || enough()) return;
  }
}

// --- clients ---

void Cluster::ask(std::uint32_t who) {
  Client& client = clients_[who];
  if (!wishes_ || client.state != Client::State::idle) return;
  if (!world_.up(client.site)) {
    agenda_.add(world_.now() + 5ms, {What::Kind::ask, who});
    return;
  }
  ++client.request;
  client.state = Client::State::waits;
  client.mode = chance_.chance(setup_.readers) ? Mode::shared : Mode::exclusive;
  ledgers_[client.lock].asked(client.number, world_.now());
  if (chance_.chance(setup_.deaths))
    agenda_.add(world_.now() + exponential(chance_, setup_.stay),
                {What::Kind::quit, who, client.request});
  // Network time is as good as clocks that start together.
  const Nanos shown = world_.local_now(client.site).time_since_epoch();
  const auto network_us = static_cast<std::uint64_t>(setup_.network_time ? shown / 1us : 0);
  notify(client.site, Command::acquire(LockId{client.lock}, ClientId{client_id(who)}, client.mode,
                                       network_us, wanted_length()));
}

// Nothing is drawn where all are alike: runs stay as they were.
Nanos Cluster::wanted_length() {
  if (setup_.other_lengths == 0 || !chance_.chance(setup_.other_lengths)) return Nanos{0};
  return chance_.uniform(setup_.rules.lease / 4, setup_.rules.longest);
}

Cluster::Command Cluster::release(std::uint32_t who) const {
  return Command::release(LockId{clients_[who].lock}, ClientId{client_id(who)});
}

void Cluster::go_idle(Client& client, std::uint32_t who) {
  if (client.state == Client::State::waits)
    ledgers_[client.lock].gave_up(client.number);
  else
    ledgers_[client.lock].left(client.number);
  client.state = Client::State::idle;
  client.orphan = false;
  agenda_.add(world_.now() + exponential(chance_, setup_.think), {What::Kind::ask, who});
}

// Dies, or gives up, while it waits or is inside.
void Cluster::quit(std::uint32_t who) {
  Client& client = clients_[who];
  const bool known = !client.orphan;
  go_idle(client, who);
  if (known) notify(client.site, release(who));
}

void Cluster::leave(std::uint32_t who) {
  if (clients_[who].state == Client::State::inside) quit(who);
}

void Cluster::test_clock(std::uint32_t who) {
  Client& client = clients_[who];
  if (client.state != Client::State::inside || mutated(Mutation::client_without_clock_test)) return;
  if (world_.local_now(client.site) < client.deadline) return plan_clock_test(who);
  ++outcome_.deadlines;
  quit(who);
}

// Never late: what rounds does so downwards, and a test that comes early is repeated.
void Cluster::plan_clock_test(std::uint32_t who) {
  const Client& client = clients_[who];
  const Nanos left = client.deadline - world_.local_now(client.site);
  const std::int64_t rate = rates_[index(client.site)];
  const double span =
      static_cast<double>(left.count()) * kBillion / static_cast<double>(kBillion + rate);
  agenda_.add(world_.now() + std::max(Nanos{static_cast<Nanos::rep>(span)}, Nanos{1}),
              {What::Kind::deadline, who, client.request});
}

void Cluster::notify(NodeId site, const Command& command) {
  if (world_.up(site) && world_.paused(site))
    inbox_[index(site)].push_back(command);
  else
    world_.command(site, command);
}

// --- notices ---

void Cluster::receive(NodeId site, const Notice& notice) {
  const std::uint32_t id = std::to_underlying(notice.client);
  const auto who = static_cast<std::uint32_t>(id % clients_.size());
  Client& client = clients_[who];
  const bool present = id == client_id(who) && client.site == site && !client.orphan;
  switch (notice.kind) {
    case Notice::Kind::granted:
      if (present && client.state == Client::State::waits) enter(who, notice);
      break;
    case Notice::Kind::extended:
      extend(site, notice);
      break;
    case Notice::Kind::lost:
      if (!present || client.state != Client::State::inside) break;
      ++outcome_.lost;
      go_idle(client, who);
      break;
    case Notice::Kind::refused:
      if (present && client.state == Client::State::waits) go_idle(client, who);
      break;
    case Notice::Kind::write:
      ++outcome_.writes;
      being_written_[index(site)].push_back(notice.record);
      agenda_.add(world_.now() + chance_.uniform(setup_.write / 10, setup_.write),
                  {What::Kind::written, index(site), lives_[index(site)], notice.record});
      break;
    case Notice::Kind::view:
      enter_view(notice.record.view);
      break;
  }
}

void Cluster::enter(std::uint32_t who, const Notice& notice) {
  Client& client = clients_[who];
  client.state = Client::State::inside;
  client.deadline = notice.deadline;
  ledgers_[client.lock].entered(client.number, client.mode, notice.token, world_.now());
  ++entries_;
  const bool takes_long = chance_.chance(setup_.long_stays);
  agenda_.add(
      world_.now() + exponential(chance_, takes_long ? 2 * setup_.rules.lease : setup_.stay),
      {What::Kind::leave, who, client.request});
  plan_clock_test(who);
}

// All members see the same views.
void Cluster::enter_view(const View& view) {
  views_.resize(std::max<std::size_t>(views_.size(), view.number + 1));
  std::optional<View>& known = views_[view.number];
  if (!known) ++outcome_.views;
  if (known && *known != view && outcome_.broken == nullptr)
    outcome_.broken = "two views of one number";
  known = view;
}

void Cluster::extend(NodeId site, const Notice& notice) {
  const Instant shown = world_.local_now(site);
  for (Client& client : clients_) {
    if (client.site != site || LockId{client.lock} != notice.lock || client.orphan ||
        client.state != Client::State::inside)
      continue;
    if (shown >= client.deadline) ++outcome_.revivals;
    client.deadline = std::max(client.deadline, notice.deadline);
  }
}

}  // namespace tempo::sim::lease
