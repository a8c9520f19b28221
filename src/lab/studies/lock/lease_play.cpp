#include "lab/studies/lock/lease_play.h"

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

Play::Play(const Setup& setup)
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
      customers_.push_back({.site = site_of[i], .lock = lock, .number = i});
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

Outcome Play::run() {
  for (std::uint32_t i = 0; i < setup_.sites; ++i) world_.start(NodeId{i});
  for (std::uint32_t i = 0; i < customers_.size(); ++i)
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

void Play::run_until(Instant limit) {
  while (world_.now() < limit) {
    const Instant stop = std::min(limit, std::max(agenda_.first(), world_.now()));
    world_.run_until(stop, [&] { return agenda_.first() < stop || enough(); });
    while (agenda_.first() <= world_.now()) happen(agenda_.take());
    if (world_.exhausted() || enough()) return;
  }
}

// --- clients ---

void Play::ask(std::uint32_t who) {
  Customer& customer = customers_[who];
  if (!wishes_ || customer.state != Customer::State::idle) return;
  if (!world_.up(customer.site)) {
    agenda_.add(world_.now() + 5ms, {What::Kind::ask, who});
    return;
  }
  ++customer.request;
  customer.state = Customer::State::waits;
  customer.mode = chance_.chance(setup_.readers) ? Mode::shared : Mode::exclusive;
  ledgers_[customer.lock].asked(customer.number, world_.now());
  if (chance_.chance(setup_.deaths))
    agenda_.add(world_.now() + exponential(chance_, setup_.stay),
                {What::Kind::quit, who, customer.request});
  // Network time is as good as clocks that start together.
  const Nanos shown = world_.local_now(customer.site).time_since_epoch();
  const auto network_us = static_cast<std::uint64_t>(setup_.network_time ? shown / 1us : 0);
  notify(customer.site, Command::acquire(LockId{customer.lock}, ClientId{client_id(who)}, customer.mode,
                                    network_us, wanted_length()));
}

// Nothing is drawn where all are alike: runs stay as they were.
Nanos Play::wanted_length() {
  if (setup_.other_lengths == 0 || !chance_.chance(setup_.other_lengths)) return Nanos{0};
  return chance_.uniform(setup_.rules.lease / 4, setup_.rules.longest);
}

Play::Command Play::release(std::uint32_t who) const {
  return Command::release(LockId{customers_[who].lock}, ClientId{client_id(who)});
}

void Play::go_idle(Customer& customer, std::uint32_t who) {
  if (customer.state == Customer::State::waits)
    ledgers_[customer.lock].gave_up(customer.number);
  else
    ledgers_[customer.lock].left(customer.number);
  customer.state = Customer::State::idle;
  customer.orphan = false;
  agenda_.add(world_.now() + exponential(chance_, setup_.think), {What::Kind::ask, who});
}

// Dies, or gives up, while it waits or is inside.
void Play::quit(std::uint32_t who) {
  Customer& customer = customers_[who];
  const bool known = !customer.orphan;
  go_idle(customer, who);
  if (known) notify(customer.site, release(who));
}

void Play::leave(std::uint32_t who) {
  if (customers_[who].state == Customer::State::inside) quit(who);
}

void Play::test_clock(std::uint32_t who) {
  Customer& customer = customers_[who];
  if (customer.state != Customer::State::inside || mutated(Mutation::client_without_clock_test))
    return;
  if (world_.local_now(customer.site) < customer.deadline) return plan_clock_test(who);
  ++outcome_.deadlines;
  quit(who);
}

// Never late: what rounds does so downwards, and a test that comes early is repeated.
void Play::plan_clock_test(std::uint32_t who) {
  const Customer& customer = customers_[who];
  const Nanos left = customer.deadline - world_.local_now(customer.site);
  const std::int64_t rate = rates_[index(customer.site)];
  const double span =
      static_cast<double>(left.count()) * kBillion / static_cast<double>(kBillion + rate);
  agenda_.add(world_.now() + std::max(Nanos{static_cast<Nanos::rep>(span)}, Nanos{1}),
              {What::Kind::deadline, who, customer.request});
}

void Play::notify(NodeId site, const Command& command) {
  if (world_.up(site) && world_.paused(site))
    inbox_[index(site)].push_back(command);
  else
    world_.command(site, command);
}

// --- notices ---

void Play::receive(NodeId site, const Notice& notice) {
  const std::uint32_t id = std::to_underlying(notice.client);
  const auto who = static_cast<std::uint32_t>(id % customers_.size());
  Customer& customer = customers_[who];
  const bool present = id == client_id(who) && customer.site == site && !customer.orphan;
  switch (notice.kind) {
    case Notice::Kind::granted:
      if (present && customer.state == Customer::State::waits) enter(who, notice);
      break;
    case Notice::Kind::extended:
      extend(site, notice);
      break;
    case Notice::Kind::lost:
      if (!present || customer.state != Customer::State::inside) break;
      ++outcome_.lost;
      go_idle(customer, who);
      break;
    case Notice::Kind::refused:
      if (present && customer.state == Customer::State::waits) go_idle(customer, who);
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

void Play::enter(std::uint32_t who, const Notice& notice) {
  Customer& customer = customers_[who];
  customer.state = Customer::State::inside;
  customer.deadline = notice.deadline;
  ledgers_[customer.lock].entered(customer.number, customer.mode, notice.token, world_.now());
  ++entries_;
  const bool takes_long = chance_.chance(setup_.long_stays);
  agenda_.add(
      world_.now() + exponential(chance_, takes_long ? 2 * setup_.rules.lease : setup_.stay),
      {What::Kind::leave, who, customer.request});
  plan_clock_test(who);
}

// All members see the same views.
void Play::enter_view(const View& view) {
  views_.resize(std::max<std::size_t>(views_.size(), view.number + 1));
  std::optional<View>& known = views_[view.number];
  if (!known) ++outcome_.views;
  if (known && *known != view && outcome_.broken == nullptr)
    outcome_.broken = "two views of one number";
  known = view;
}

void Play::extend(NodeId site, const Notice& notice) {
  const Instant shown = world_.local_now(site);
  for (Customer& customer : customers_) {
    if (customer.site != site || LockId{customer.lock} != notice.lock || customer.orphan ||
        customer.state != Customer::State::inside)
      continue;
    if (shown >= customer.deadline) ++outcome_.revivals;
    customer.deadline = std::max(customer.deadline, notice.deadline);
  }
}

}  // namespace tempo::sim::lease
