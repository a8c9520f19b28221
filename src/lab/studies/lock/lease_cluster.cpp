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

constexpr std::uint32_t kClients = 10;  // indices of the streams under Cause::plan
constexpr std::uint32_t kFaults = 11;
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
      inbox_(setup.sites),
      rates_(setup.sites),
      client_stream_(setup.seed, std::to_underlying(Cause::plan), kClients),
      fault_stream_(setup.seed, std::to_underlying(Cause::plan), kFaults),
      reading_stream_(setup.seed, std::to_underlying(Cause::plan), kReadings),
      world_(
          {.nodes = setup.sites,
           .seed = setup.seed,
           .link = link_of(setup),
           .write = Delay::uniform(setup.write / 10, setup.write)},
          [this](NodeId id, Incarnation) {
            const auto& disk = world_.disk(id);
            const bool readable = disk.file() == Disk<Member>::File::good;
            return Member({.self = id,
                           .rules = setup_.rules,
                           .view = view_of(setup_),
                           .record = readable ? std::optional(disk.record()) : std::nullopt});
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
    const std::int64_t limit = setup.drift ? setup.rules.drift.value : 0;
    // Site 0 has the fastest clock and site 1 the slowest; the others lie in between.
    rates_[i] = i == 0   ? limit
                : i == 1 ? -limit
                         : -limit + static_cast<std::int64_t>(
                                        clocks.below(2 * static_cast<std::uint64_t>(limit) + 1));
    if (setup.faults.steps_per_s > 0)
      world_.set_clock(NodeId{i},
                       Oscillator({.rate = static_cast<double>(rates_[i]) * 1e-9}, Stream{}));
    else
      world_.set_rate(NodeId{i}, Ppb{rates_[i]});
    if (!setup.fresh_disks) world_.disk(NodeId{i}).set({.view = view_of(setup)});
  }
}

Outcome Cluster::run() {
  for (std::uint32_t i = 0; i < setup_.sites; ++i) world_.start(NodeId{i});
  for (std::uint32_t i = 0; i < clients_.size(); ++i)
    agenda_.add(Instant{} + exponential(client_stream_, setup_.think), {Event::Kind::ask, i});
  if (setup_.time_bound > Nanos{0})
    for (std::uint32_t i = 0; i < setup_.sites; ++i)
      agenda_.add(Instant{} + Nanos{1}, {Event::Kind::time, i});
  const Faults& faults = setup_.faults;
  plan(Event::Kind::crash, faults.crashes_per_s);
  plan(Event::Kind::blackout, faults.blackouts_per_s);
  plan(Event::Kind::pause, faults.pauses_per_s);
  plan(Event::Kind::partition, faults.partitions_per_s);
  plan(Event::Kind::change, faults.changes_per_s);
  plan(Event::Kind::step, faults.steps_per_s);

  const Nanos lease = setup_.rules.lease;
  while (entries_ < setup_.entries && !world_.exhausted()) {
    const std::uint64_t before = entries_;
    run_until(world_.now() + 50 * lease);
    // A permanent partition allows no progress.
    if (entries_ == before && world_.now() > Instant{} + 100'000 * lease) break;
  }
  stop_faults();
  std::vector<std::uint64_t> before;
  before.reserve(ledgers_.size());
  for (const sim::lock::Ledger& ledger : ledgers_) before.push_back(ledger.tally().entries);
  run_until(world_.now() + 30 * lease);
  requesting_ = false;
  for (int i = 0; i < 100; ++i) run_until(world_.now() + lease);
  for (std::size_t i = 0; i < ledgers_.size(); ++i) {
    const sim::lock::Ledger& ledger = ledgers_[i];
    outcome_.blocked += ledger.tally().entries == before[i] ? 1U : 0U;
    outcome_.tally.add(ledger.tally());
    outcome_.tally.deadlocks += ledger.waiting() > 0 ? 1U : 0U;
  }
  using tempo::lock::lease::Kind;
  outcome_.tally.messages = messages_;
  outcome_.tally.refusals = outcome_.sent[std::to_underlying(Kind::refuse)];
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

void Cluster::ask(std::uint32_t which) {
  Client& client = clients_[which];
  if (!requesting_ || client.state != Client::State::idle) return;
  if (!world_.up(client.site)) {
    agenda_.add(world_.now() + 5ms, {Event::Kind::ask, which});
    return;
  }
  ++client.request;
  client.state = Client::State::waits;
  client.mode = client_stream_.chance(setup_.readers) ? Mode::shared : Mode::exclusive;
  ledgers_[client.lock].asked(client.number, world_.now());
  if (client_stream_.chance(setup_.deaths))
    agenda_.add(world_.now() + exponential(client_stream_, setup_.stay),
                {Event::Kind::quit, which, client.request});
  // Clocks that start together serve as network time.
  const Nanos shown = world_.local_now(client.site).time_since_epoch();
  const auto network_us = static_cast<std::uint64_t>(setup_.network_time ? shown / 1us : 0);
  client.length = wanted_length();
  client.session = {};
  if (setup_.resume > 0 && client_stream_.chance(setup_.resume))
    client.session = {.number = client_id(which) + 1, .process = which + 1};
  send_command(client.site,
               Command::acquire(LockId{client.lock}, ClientId{client_id(which)}, client.mode,
                                network_us, client.length, client.session));
}

// Draws nothing if all lengths are equal, so that existing seeds keep their meaning.
Nanos Cluster::wanted_length() {
  if (setup_.other_lengths == 0 || !client_stream_.chance(setup_.other_lengths)) return Nanos{0};
  return client_stream_.uniform(setup_.rules.lease / 4, setup_.rules.longest);
}

Cluster::Command Cluster::release(std::uint32_t which) const {
  return Command::release(LockId{clients_[which].lock}, ClientId{client_id(which)});
}

void Cluster::go_idle(Client& client, std::uint32_t which) {
  if (client.state == Client::State::waits)
    ledgers_[client.lock].gave_up(client.number);
  else
    ledgers_[client.lock].left(client.number);
  client.state = Client::State::idle;
  client.orphan = client.returning = false;
  agenda_.add(world_.now() + exponential(client_stream_, setup_.think), {Event::Kind::ask, which});
}

// The client dies or gives up while it waits or is inside.
void Cluster::quit(std::uint32_t which) {
  Client& client = clients_[which];
  const bool known = !client.orphan || client.returning;
  go_idle(client, which);
  if (known) send_command(client.site, release(which));
}

void Cluster::leave(std::uint32_t which) {
  if (clients_[which].state == Client::State::inside) quit(which);
}

// The connection to the daemon breaks, and the client, which lives, connects again at once.
void Cluster::hang_up(std::uint32_t which) {
  Client& client = clients_[which];
  if (client.state != Client::State::inside || client.orphan) return;
  if (!mutated(Mutation::closed_is_done)) return;
  client.orphan = true;
  send_command(client.site, release(which));
}

// The client of a dead daemon finds the next incarnation.
void Cluster::come_back(std::uint32_t which) {
  Client& client = clients_[which];
  if (!client.orphan || client.returning || !world_.up(client.site)) return;
  client.returning = true;
  const auto held = tempo::lock::lease::Held::of(client.token);
  send_command(client.site, {.kind = Command::Kind::resume,
                             .lock = LockId{client.lock},
                             .client = ClientId{client_id(which)},
                             .mode = client.mode,
                             .length = client.length,
                             .session = client.session,
                             .ballot = {held.count, client.origin},
                             .sub = held.sub,
                             .deadline = client.deadline});
}

void Cluster::test_clock(std::uint32_t which) {
  Client& client = clients_[which];
  if (client.state != Client::State::inside || mutated(Mutation::client_without_clock_test)) return;
  if (world_.local_now(client.site) < client.deadline) return plan_clock_test(which);
  ++outcome_.deadlines;
  quit(which);
}

// The test is never late: rounding goes down, and a test that comes early is repeated.
void Cluster::plan_clock_test(std::uint32_t which) {
  const Client& client = clients_[which];
  const Nanos left = client.deadline - world_.local_now(client.site);
  const std::int64_t rate = rates_[index(client.site)];
  const double span =
      static_cast<double>(left.count()) * kBillion / static_cast<double>(kBillion + rate);
  agenda_.add(world_.now() + std::max(Nanos{static_cast<Nanos::rep>(span)}, Nanos{1}),
              {Event::Kind::deadline, which, client.request});
}

void Cluster::send_command(NodeId site, const Command& command) {
  if (world_.up(site) && world_.paused(site))
    inbox_[index(site)].push_back(command);
  else
    world_.command(site, command);
}

// --- notices ---

void Cluster::on_notice(NodeId site, const Notice& notice) {
  const std::uint32_t id = std::to_underlying(notice.client);
  const auto which = static_cast<std::uint32_t>(id % clients_.size());
  Client& client = clients_[which];
  const bool present = id == client_id(which) && client.site == site && !client.orphan;
  switch (notice.kind) {
    case Notice::Kind::granted:
      if (present && client.state == Client::State::waits) enter(which, notice);
      if (id == client_id(which) && client.returning) enter_again(which, notice);
      break;
    case Notice::Kind::extended:
      extend(site, notice);
      break;
    case Notice::Kind::lost:
      // A client that cannot resume is inside until its deadline, as without a daemon.
      if (id == client_id(which)) client.returning = false;
      if (!present || client.state != Client::State::inside) break;
      ++outcome_.lost;
      go_idle(client, which);
      break;
    case Notice::Kind::refused:
      if (present && client.state == Client::State::waits) go_idle(client, which);
      break;
    case Notice::Kind::view:
      enter_view(notice.view);
      break;
    case Notice::Kind::busy:
    case Notice::Kind::retired:
      break;
  }
}

// A grant may have waited for the disk of a paused daemon: the client reads the clock first.
void Cluster::enter(std::uint32_t which, const Notice& notice) {
  Client& client = clients_[which];
  if (world_.local_now(client.site) >= notice.deadline &&
      !mutated(Mutation::client_without_clock_test)) {
    ++outcome_.deadlines;
    agenda_.add(world_.now(), {Event::Kind::quit, which, client.request});
    return;
  }
  client.state = Client::State::inside;
  client.deadline = notice.deadline;
  client.token = notice.token;
  client.origin = notice.origin;
  ledgers_[client.lock].entered(client.number, client.mode, notice.token, world_.now());
  ++entries_;
  const bool takes_long = client_stream_.chance(setup_.long_stays);
  agenda_.add(
      world_.now() + exponential(client_stream_, takes_long ? 2 * setup_.rules.lease : setup_.stay),
      {Event::Kind::leave, which, client.request});
  plan_clock_test(which);
  if (setup_.hang_ups > 0 && client_stream_.chance(setup_.hang_ups))
    agenda_.add(world_.now() + exponential(client_stream_, setup_.stay),
                {Event::Kind::hang_up, which, client.request});
}

// The lock of an earlier incarnation goes on. A client whose deadline has passed takes nothing
// back.
void Cluster::enter_again(std::uint32_t which, const Notice& notice) {
  Client& client = clients_[which];
  if (world_.local_now(client.site) >= client.deadline) ++outcome_.revivals;
  if (notice.token != client.token && outcome_.broken == nullptr)
    outcome_.broken = "another token after a resume";
  client.orphan = client.returning = false;
  client.deadline = std::max(client.deadline, notice.deadline);
  ++outcome_.resumes;
}

// All members must see the same views.
void Cluster::enter_view(const View& view) {
  views_.resize(std::max<std::size_t>(views_.size(), view.number + 1));
  std::optional<View>& known = views_[view.number];
  if (!known) ++outcome_.views;
  if (known && *known != view && outcome_.broken == nullptr)
    outcome_.broken = "two views of one number";
  known = view;
}

void Cluster::extend(NodeId site, const Notice& notice) {
  const BootTime shown = world_.local_now(site);
  for (Client& client : clients_) {
    if (client.site != site || LockId{client.lock} != notice.lock || client.orphan ||
        client.state != Client::State::inside)
      continue;
    if (shown >= client.deadline) ++outcome_.revivals;
    client.deadline = std::max(client.deadline, notice.deadline);
  }
}

}  // namespace tempo::sim::lease
