#include "lab/studies/group/group_run.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "lab/sim/world.h"
#include "lab/studies/group/group_cluster.h"

namespace tempo::sim::groups {
namespace {

constexpr std::uint32_t kEverything = 20;  // of Cause::plan: which stream is ours
constexpr std::int64_t kBillion = 1'000'000'000;
constexpr const char* kGroup = "web";
const live::UserId kUser{1};

HostId id_of(std::uint32_t host) { return HostId{100 + host}; }
NodeId node_of(HostId id) {
  return NodeId{static_cast<std::uint32_t>(std::to_underlying(id) - 100)};
}

locks::Numbering numbering() {
  return {[](HostId id) { return node_of(id); }, [](NodeId node) { return id_of(index(node)); }};
}

// Of a host that has never run: all vote.
locks::Saved first_disk(std::uint32_t hosts) {
  std::vector<HostId> voters;
  for (std::uint32_t i = 0; i < hosts; ++i) voters.push_back(id_of(i));
  return {.view = locks::first_voters(voters)};
}

}  // namespace

// What the daemon is made of, without its sockets.
class Cluster::Host final : public locks::Driver, public live::Driver {
 public:
  Host(Cluster& cluster, std::uint32_t number)
      : play_(&cluster),
        number_(number),
        locks({.self = id_of(number),
               .voters = {},
               .hosts = numbering(),
               .rules = cluster.lock_rules_,
               .saved = cluster.disks_[number]},
              cluster.draw_, *this),
        groups({.self = NodeId{number},
                .life = Incarnation{cluster.lives_[number] * 1000 + 1},
                .hosts = numbering(),
                .rules = {.lease = cluster.setup_.lease}},
               cluster.draw_, *this) {}

  void broadcast(const wire::LockBody& body) override { play_->send(number_, kAll, body); }
  void send(HostId to, const wire::LockBody& body) override {
    play_->send(number_, index(node_of(to)), body);
  }
  void write(const locks::Saved& saved) override {
    play_->agenda_.add(play_->now_ + play_->up_to(1ms), {.kind = What::Kind::written,
                                                         .who = number_,
                                                         .life = play_->lives_[number_],
                                                         .saved = saved});
  }
  void notify(locks::ClientId client, const locks::LockUpdate& news) override {
    play_->agenda_.add(play_->now_, {.kind = What::Kind::lock_news,
                                     .who = number_,
                                     .life = play_->lives_[number_],
                                     .client = client,
                                     .news = news});
  }

  void broadcast(const wire::GroupBody& body) override { play_->send(number_, kAll, body); }
  void send(HostId to, const wire::GroupBody& body) override {
    play_->send(number_, index(node_of(to)), body);
  }
  Result<void> acquire(locks::ClientId client, const std::string& name) override {
    return locks.acquire(
        play_->moment(number_).now,
        {.client = client,
         .name = name,
         .network_us = static_cast<std::uint64_t>(play_->now_.time_since_epoch() / 1us)});
  }
  void release(locks::ClientId client) override {
    locks.release(play_->moment(number_).now, client);
  }
  void notify(live::UserId /*user*/, const live::LeadershipUpdate& news) override {
    play_->receive_news(number_, news);
  }
  void changed(const std::string& /*group*/) override {}
  void not_as_wanted(const std::string& /*group*/, const std::string& /*sentence*/) override {}

 private:
  Cluster* play_;
  std::uint32_t number_;

 public:
  locks::Service locks;
  live::Service groups;
};

Cluster::Cluster(const Setup& setup)
    : setup_(setup),
      lock_rules_{.lease = setup.lease, .longest = setup.lease, .block = 64},
      hosts_(setup.hosts),
      users_(setup.hosts),
      disks_(setup.hosts, first_disk(setup.hosts)),
      lives_(setup.hosts),
      paused_(setup.hosts),
      held_back_(setup.hosts),
      side_(setup.hosts),
      chance_(setup.seed, std::to_underlying(Cause::plan), kEverything),
      draw_(chance_) {
  CHECK(setup.hosts > 0 && setup.hosts <= lock::lease::kMaxVoters);
  const auto drift = static_cast<std::uint64_t>(lock_rules_.drift.value);
  for (std::uint32_t i = 0; i < setup.hosts; ++i) {
    rates_.push_back(static_cast<std::int64_t>(chance_.below(2 * drift + 1)) -
                     static_cast<std::int64_t>(drift));
    errors_.push_back(up_to(setup.clock_error));
    users_[i].capacity = new_capacity();
  }
  reign_ended_ = now_;
}

Outcome Cluster::run() {
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) start(i);
  const Faults& faults = setup_.faults;
  plan(What::Kind::crash, faults.crashes_per_s);
  plan(What::Kind::pause, faults.pauses_per_s);
  plan(What::Kind::partition, faults.partitions_per_s);
  plan(What::Kind::resign, faults.resigns_per_s);
  plan(What::Kind::flap, faults.flaps_per_s);
  run_until(now_ + setup_.faulty);
  faulty_ = parted_ = false;
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) {
    agenda_.add(now_, {.kind = What::Kind::resume, .who = i});
    agenda_.add(now_, {.kind = What::Kind::restart, .who = i});
  }
  run_until(now_ + 60 * setup_.lease + 4 * setup_.min_stay);
  judge_the_end();
  return outcome_;
}

// --- time ---

Instant Cluster::local(std::uint32_t host, Instant at) const {
  return at + at.time_since_epoch() * rates_[host] / kBillion;
}

live::Moment Cluster::moment(std::uint32_t host) const {
  return {.now = local(host, now_), .network = now_ + errors_[host], .trusted = setup_.trusted};
}

// Clocks run nearly alike: who is woken too early is woken again.
Instant Cluster::due(std::uint32_t host) const {
  if (!hosts_[host] || paused_[host]) return kNever;
  const live::Moment at = moment(host);
  Instant due = kNever;
  if (const Instant lock = hosts_[host]->locks.due(); lock != kNever)
    due = now_ + std::max(lock - at.now, Nanos{0});
  if (const auto wait = hosts_[host]->groups.due_in(at)) due = std::min(due, now_ + *wait);
  return due == kNever ? kNever : due + 1us;
}

void Cluster::run_until(Instant limit) {
  while (outcome_.broken == nullptr) {
    Instant next = std::min(limit, agenda_.first());
    std::uint32_t first = kAll;
    for (std::uint32_t i = 0; i < setup_.hosts; ++i)
      if (const Instant when = due(i); when < next) {
        next = when;
        first = i;
      }
    now_ = std::max(now_, next);
    if (now_ >= limit) return;
    if (first != kAll)
      on_timer(first);
    else
      happen(agenda_.take());
  }
}

void Cluster::on_timer(std::uint32_t host) {
  const live::Moment at = moment(host);
  if (hosts_[host]->locks.due() <= at.now) hosts_[host]->locks.on_timer(at.now);
  hosts_[host]->groups.on_timer(at);
  if (outcome_.broken == nullptr) outcome_.broken = hosts_[host]->groups.check();
}

// --- the network ---

Nanos Cluster::up_to(Nanos most) {
  return Nanos{
      static_cast<std::int64_t>(chance_.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

void Cluster::send(std::uint32_t from, std::uint32_t to, const Body& body) {
  const auto shared = std::make_shared<const Body>(body);
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) {
    if (i == from || (to != kAll && to != i)) continue;
    if (parted_ && side_[i] != side_[from]) continue;
    const int copies = faulty_ && chance_.chance(setup_.faults.duplicate) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      if (faulty_ && chance_.chance(setup_.faults.loss)) continue;
      Nanos takes = setup_.delay / 10 + up_to(setup_.delay - setup_.delay / 10);
      if (faulty_ && chance_.chance(setup_.faults.late)) takes += up_to(3 * setup_.lease);
      agenda_.add(now_ + takes,
                  {.kind = What::Kind::arrive, .who = i, .from = from, .body = shared});
    }
  }
}

// --- what happens ---

void Cluster::happen(const What& what) {
  using enum What::Kind;
  const std::uint32_t who = what.who;
  const bool for_daemon = what.kind == arrive || what.kind == written || what.kind == lock_news ||
                          what.kind == stand || what.kind == stopped;
  if (for_daemon) {
    if (what.kind != arrive && what.kind != stand && what.life != lives_[who]) return;
    if (!hosts_[who]) {
      if (what.kind == stand) agenda_.add(now_ + 5ms, what);
      return;
    }
    if (paused_[who]) {
      held_back_[who].push_back(what);
      return;
    }
  }
  Host* host = for_daemon ? hosts_[who].get() : nullptr;
  switch (what.kind) {
    case arrive:
      if (const auto* lock = std::get_if<wire::LockBody>(what.body.get()))
        host->locks.receive(moment(who).now, id_of(what.from), *lock);
      else
        host->groups.receive(moment(who), id_of(what.from), std::get<wire::GroupBody>(*what.body));
      break;
    case written:
      disks_[who] = what.saved;
      host->locks.written(moment(who).now, *what.saved);
      break;
    case lock_news:
      host->groups.receive_lock(moment(who), what.client, what.news);
      break;
    case stand:
      this->stand(who);
      break;
    case stopped:
      if (users_[who].acts) end_to_act(who);
      users_[who].stops = false;
      host->groups.stopped(moment(who), kUser);
      break;
    case deadline:
      if (users_[who].life != what.life || !users_[who].acts) return;
      if (local(who, now_) < users_[who].deadline) return plan_clock_test(who);
      end_to_act(who);
      break;
    case restart:
      if (!hosts_[who]) start(who);
      break;
    case resume:
      paused_[who] = false;
      for (const What& late : std::exchange(held_back_[who], {})) happen(late);
      break;
    default:
      fault(what);
  }
  if (outcome_.broken == nullptr && hosts_[who]) outcome_.broken = hosts_[who]->groups.check();
}

// On a ring nobody is clearly better than another.
live::Capacity Cluster::new_capacity() {
  const std::uint64_t range = live::on_ring(setup_.algorithm) ? 9 : 100;
  return static_cast<live::Capacity>(100 + chance_.below(range));
}

void Cluster::plan(What::Kind kind, double per_second) {
  if (per_second <= 0) return;
  const double seconds = chance_.exponential(1 / per_second);
  agenda_.add(now_ + Nanos{static_cast<Nanos::rep>(seconds * 1e9)}, {.kind = kind});
}

void Cluster::fault(const What& what) {
  using enum What::Kind;
  if (!faulty_) return;
  const auto victim = static_cast<std::uint32_t>(chance_.below(setup_.hosts));
  const Faults& faults = setup_.faults;
  switch (what.kind) {
    case crash:
      this->crash(victim);
      return plan(crash, faults.crashes_per_s);
    case pause:
      paused_[victim] = true;
      agenda_.add(now_ + up_to(3 * setup_.lease), {.kind = resume, .who = victim});
      return plan(pause, faults.pauses_per_s);
    case partition:
      parted_ = true;
      for (std::uint32_t i = 0; i < setup_.hosts; ++i) side_[i] = chance_.chance(0.5);
      agenda_.add(now_ + up_to(10 * setup_.lease), {.kind = heal});
      return plan(partition, faults.partitions_per_s);
    case heal:
      parted_ = false;
      return;
    case resign:
      for (const auto& host : hosts_)
        if (host) (void)host->groups.resign(moment(victim), kGroup);
      return plan(resign, faults.resigns_per_s);
    case flap:
      users_[victim].capacity = new_capacity();
      if (hosts_[victim] && !paused_[victim])
        hosts_[victim]->groups.offer(moment(victim), kUser, users_[victim].capacity);
      return plan(flap, faults.flaps_per_s);
    default:
      return;
  }
}

// --- hosts and users ---

void Cluster::start(std::uint32_t host) {
  ++lives_[host];
  hosts_[host] = std::make_unique<Host>(*this, host);
  hosts_[host]->locks.start(moment(host).now);
  users_[host].stands = false;
  agenda_.add(now_ + up_to(setup_.lease / 4), {.kind = What::Kind::stand, .who = host});
}

void Cluster::crash(std::uint32_t host) {
  if (!hosts_[host]) return;
  hosts_[host].reset();
  ++lives_[host];
  paused_[host] = false;
  held_back_[host].clear();
  users_[host].orphan = users_[host].acts;
  users_[host].stops = users_[host].stands = false;
  agenda_.add(now_ + up_to(8 * setup_.lease), {.kind = What::Kind::restart, .who = host});
}

// One that still acts for a dead daemon stands again when it has stopped.
void Cluster::stand(std::uint32_t host) {
  User& user = users_[host];
  if (user.stands) return;
  if (user.acts) {
    agenda_.add(now_ + 5ms, {.kind = What::Kind::stand, .who = host});
    return;
  }
  user.stands = true;
  const auto stood = hosts_[host]->groups.stand(
      moment(host), {.user = kUser,
                     .group = kGroup,
                     .terms = {live::on_ring(setup_.algorithm) ? live::Criterion::random
                                                               : live::Criterion::weight,
                               setup_.algorithm},
                     .capacity = user.capacity,
                     .min_stay = setup_.min_stay});
  if (!stood) outcome_.broken = "cannot stand";
}

void Cluster::receive_news(std::uint32_t host, const live::LeadershipUpdate& news) {
  User& user = users_[host];
  switch (news.kind) {
    case live::LeadershipUpdate::Kind::leads:
      return begin_to_act(host, news);
    case live::LeadershipUpdate::Kind::extended:
      if (user.acts && !user.orphan && local(host, now_) < user.deadline)
        user.deadline = std::max(user.deadline, news.deadline);
      return;
    case live::LeadershipUpdate::Kind::stop:
      if (std::exchange(user.stops, true)) return;
      unseated_ = true;
      judge_hand_over(host);
      agenda_.add(now_ + up_to(setup_.stopping),
                  {.kind = What::Kind::stopped, .who = host, .life = lives_[host]});
      return;
    case live::LeadershipUpdate::Kind::lost:
      if (user.acts && !user.orphan) end_to_act(host);
      return;
    case live::LeadershipUpdate::Kind::follows:
    case live::LeadershipUpdate::Kind::no_majority:
    case live::LeadershipUpdate::Kind::job_done:
      return;
  }
}

void Cluster::begin_to_act(std::uint32_t host, const live::LeadershipUpdate& news) {
  User& user = users_[host];
  if (local(host, now_) >= news.deadline) return;  // told too late
  for (const User& other : users_) outcome_.together += other.acts ? 1U : 0U;
  if (news.term <= last_token_) ++outcome_.disorder;
  // Who was unseated had its time.
  if (std::exchange(unseated_, false) && last_leader_ != host && setup_.faults.resigns_per_s == 0)
    outcome_.hasty += reign_ended_ - reign_began_ < setup_.min_stay ? 1U : 0U;
  outcome_.longest_gap = std::max(outcome_.longest_gap, now_ - reign_ended_);
  last_token_ = news.term;
  last_leader_ = host;
  reign_began_ = now_;
  if (outcome_.reigns++ == 0) outcome_.first = host;
  outcome_.as_wanted += hosts_[host]->groups.known(kGroup)->held == setup_.algorithm ? 1U : 0U;
  ++user.life;
  user.acts = true;
  user.orphan = false;
  user.deadline = news.deadline;
  plan_clock_test(host);
}

void Cluster::end_to_act(std::uint32_t host) {
  users_[host].acts = users_[host].orphan = false;
  ++users_[host].life;
  reign_ended_ = now_;
}

void Cluster::plan_clock_test(std::uint32_t host) {
  const Nanos left = users_[host].deadline - local(host, now_);
  const double span =
      static_cast<double>(left.count()) * kBillion / static_cast<double>(kBillion + rates_[host]);
  agenda_.add(now_ + std::max(Nanos{static_cast<Nanos::rep>(span)}, Nanos{1}),
              {.kind = What::Kind::deadline, .who = host, .life = users_[host].life});
}

// Somebody better is known to who is told to stop.
void Cluster::judge_hand_over(std::uint32_t host) {
  if (setup_.faults.resigns_per_s > 0) return;
  const auto known = hosts_[host]->groups.known(kGroup);
  const live::Capacity enough = known->capacity + known->capacity / 10;
  const bool better = std::ranges::any_of(
      known->candidates, [&](const auto& candidate) { return candidate.capacity > enough; });
  outcome_.needless += better ? 0U : 1U;
}

void Cluster::judge_the_end() {
  live::Capacity leads = -1;
  live::Capacity best = 0;
  for (std::uint32_t i = 0; i < setup_.hosts; ++i) {
    const auto known = hosts_[i]->groups.known(kGroup);
    if (known && known->here && users_[i].acts) leads = known->capacity;
    if (known) best = std::max(best, known->capacity);
  }
  if (leads < 0) ++outcome_.leaderless;
  if (leads >= 0 && best > leads + leads / 10) ++outcome_.outdone;
}

Outcome run(const Setup& setup) { return Cluster(setup).run(); }

}  // namespace tempo::sim::groups
