#include "live/daemon/worker.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include <fmt/core.h>
#include <sys/poll.h>
#include <unistd.h>

#include "base/span_text.h"
#include "live/daemon/log.h"
#include "live/sys/confinement.h"
#include "tempo_version.h"

namespace tempo::daemon {
namespace {

constexpr int kMostWakes = 1000;  // timers in one round
constexpr Nanos kChores = 1s;     // what is done now and then
constexpr const char* kNoKey =
    "no key: whoever is on the network can lead it; 'tempo keygen' makes one";

node::SyncRules sync_rules(const config::Settings& settings) {
  return {
      .interval = settings.timing.adjtime, .step_limit = settings.step_limit, .follow_ups = true};
}

Result<std::unique_ptr<sys::Clock>> make_clock(const config::Settings& settings) {
  switch (settings.clock) {
    case config::ClockKind::system:
      return sys::system_clock();
    case config::ClockKind::software:
      return sys::no_clock(settings.software.offset);
    case config::ClockKind::none:
      return sys::no_clock(Nanos{0});
  }
  std::unreachable();
}

std::unique_ptr<sys::Oscillator> make_oscillator(const config::Settings& settings) {
  const config::SoftwareClock& software = settings.software;
  if (settings.clock != config::ClockKind::software) return sys::real_oscillator();
  return sys::drifting_oscillator(
      {.rate = software.drift, .wander = software.wander, .seed = software.seed});
}

std::string_view clock_name(config::ClockKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"system", "software", "none"};
  return kNames.at(static_cast<std::size_t>(kind));
}

election::Reluctance reluctance_of(const config::Settings& settings) {
  return settings.may_lead
             ? election::Reluctance{static_cast<std::uint8_t>(9 - settings.lead_priority)}
             : election::kNeverLeads;
}

// "-200.1ms": which way and how far.
std::string moved(Nanos by) {
  return (by < Nanos{0} ? "-" : "+") + span_text(std::chrono::abs(by));
}

double microseconds(Nanos span) { return static_cast<double>(span.count()) * 1e-3; }

}  // namespace

Result<std::unique_ptr<Worker>> Worker::create(const Life& life, OnEvent on_event) {
  TRY(clock, make_clock(life.settings));
  std::unique_ptr<Worker> worker(
      new Worker(life, make_oscillator(life.settings), std::move(clock), std::move(on_event)));
  if (auto opened = worker->open_networks(); !opened) return std::unexpected(opened.error());
  return worker;
}

Worker::Worker(const Life& life, std::unique_ptr<sys::Oscillator> oscillator,
               std::unique_ptr<sys::Clock> clock, OnEvent on_event)
    : life_(life),
      rules_{.timing = life.settings.timing},
      sync_rules_(sync_rules(life.settings)),
      oscillator_(std::move(oscillator)),
      clock_(std::move(clock)),
      on_event_(std::move(on_event)),
      loop_(*oscillator_),
      mailroom_(make_mailroom(life)),
      node_({.self = mailroom_.self(),
             .incarnation = life.incarnation,
             .reluctance = reluctance_of(life.settings)},
            0, rules_,
            {.now = oscillator_->now(), .shows = clock_->read(), .rate = life.state.rate},
            sync_rules_),
      started_(oscillator_->now()),
      trace_(started_),
      next_chore_(started_ + kChores) {}

// --- networks ---

Result<void> Worker::open_networks() {
  const bool fixed = !life_.settings.bind.empty() || !life_.settings.peers.empty();
  TRY(networks, networks_of(life_.settings));
  for (const sys::NetworkOptions& options : networks) {
    auto network = sys::Network::open(options, *oscillator_);
    if (!network) {
      if (fixed) return std::unexpected(network.error());
      log_warning(fmt::format("{}: {}", options.label, network.error()));
      continue;
    }
    links_[link_count_].network = std::move(*network);
    links_[link_count_].options = options;
    ++link_count_;
  }
  if (fixed) return {};
  interfaces_ = std::make_unique<sys::InterfaceWatch>();
  if (const auto descriptor = interfaces_->descriptor())
    loop_.watch(*descriptor, POLLIN, [this](short) { look_for_networks(); });
  if (link_count_ == 0)
    log_warning("no network with broadcast is up; waiting for one (or give peers in the settings)");
  return {};
}

// Interfaces come and go; a network keeps its number, and its election, while it is away.
void Worker::look_for_networks() {
  if (interfaces_ == nullptr || !interfaces_->changed()) return;
  const auto networks = networks_of(life_.settings);
  if (!networks) return;
  for (std::uint8_t i = 0; i < link_count_; ++i) {
    Link& link = links_[i];
    const bool there = std::ranges::any_of(*networks, [&](const sys::NetworkOptions& options) {
      return options.label == link.options.label && options.bind == link.options.bind;
    });
    if (there || link.network == nullptr) continue;
    for (const int descriptor : link.network->descriptors()) loop_.forget(descriptor);
    link.network.reset();
    tell("network-down", fmt::format("{} has gone", link.options.label));
  }
  for (const sys::NetworkOptions& options : *networks) {
    std::uint8_t number = 0;
    while (number < link_count_ && links_[number].options.label != options.label) ++number;
    if (number == node::kMostNetworks || links_[number].network != nullptr) continue;
    auto network = sys::Network::open(options, *oscillator_);
    if (!network) {
      log_warning(fmt::format("{}: {}", options.label, network.error()));
      continue;
    }
    links_[number].network = std::move(*network);
    links_[number].options = options;
    link_count_ = std::max<std::uint8_t>(link_count_, number + 1);
    watch(number);
    tell("network-up", fmt::format("{} is here", options.label));
    step([&](auto& turn) {
      node_.command(turn, {.what = node::Node::Command::What::join, .network = number});
    });
  }
}

void Worker::watch(std::uint8_t number) {
  // A socket on every address cannot tell which are ours.
  links_[number].own = links_[number].network->bound();
  std::erase_if(links_[number].own, [](const sys::Address& address) {
    return address.text() == "0.0.0.0" || address.text() == "::";
  });
  for (const int descriptor : links_[number].network->descriptors())
    loop_.watch(descriptor, POLLIN | POLLPRI, [this, number](short events) {
      if ((events & (POLLERR | POLLPRI)) != 0) read_departures(number);
      ready(number);
    });
}

void Worker::ready(std::uint8_t number) {
  Link& link = links_[number];
  for (int i = 0; i < sys::Network::kMostAtOnce && link.network != nullptr; ++i) {
    const std::optional<sys::Arrival> arrival = link.network->receive();
    if (!arrival) break;
    const Instant now = oscillator_->now();
    const bool ours =
        link.own.empty() || std::ranges::find(link.own, arrival->from) != link.own.end();
    const auto letter =
        mailroom_.open(now, number, std::min(arrival->at, now), arrival->bytes,
                       ours ? node::Mailroom::Source::anywhere : node::Mailroom::Source::elsewhere);
    if (!letter) continue;
    if (!letter->sent_by_parent) link.peers[letter->from].address = arrival->from;
    if (trace_.on()) {
      trace_.name(mailroom_.self(), life_.name);
      trace_.name(letter->from, name_of_node(letter->from));
      trace_.received(now, letter->from, mailroom_.self(), node::name_of(letter->message));
    }
    // A departure that the answer has overtaken must be known first.
    if (letter->message.sync() != nullptr && !link.awaited.empty()) read_departures(number);
    step([&](auto& turn) { node_.receive(turn, letter->from, letter->message); });
  }
}

void Worker::read_departures(std::uint8_t number) {
  Link& link = links_[number];
  if (link.network == nullptr) return;
  for (std::size_t i = 0; i < kMostAwaited; ++i) {
    const std::optional<sys::Departure> departure = link.network->departure();
    if (!departure) return;
    const auto found =
        std::ranges::find(link.awaited, departure->transmission, &Awaited::transmission);
    if (found == link.awaited.end()) continue;
    const Awaited awaited = *found;
    link.awaited.erase(found);
    step([&](auto& turn) {
      node_.command(turn, {.what = node::Node::Command::What::sync,
                           .network = number,
                           .sync = {.what = node::SyncCommand::What::departed,
                                    .peer = awaited.peer,
                                    .exchange = awaited.exchange,
                                    .at = std::min(departure->at, turn.now)}});
    });
  }
}

// --- the node ---

template <class Do>
void Worker::step(Do todo) {
  outbox_.clear();
  Turn<node::Node> turn{oscillator_->now(), draw_, outbox_};
  todo(turn);
  carry_out();
}

void Worker::carry_out() {
  for (const auto& output : outbox_) {
    if (output.kind == OutputKind::notice)
      heed(output.notice);
    else
      transmit(output);
  }
  note_states();
}

void Worker::transmit(const Output<node::Node>& output) {
  const std::uint8_t number = output.message.network;
  if (number >= link_count_ || links_[number].network == nullptr) return;
  Link& link = links_[number];
  if (trace_.on()) {
    const bool all = output.kind == OutputKind::broadcast;
    trace_.name(mailroom_.self(), life_.name);
    if (!all) trace_.name(output.to, name_of_node(output.to));
    trace_.sent(oscillator_->now(), mailroom_.self(), all ? kNobody : output.to,
                node::name_of(output.message));
  }
  std::array<std::byte, wire::kMostBytes> buffer;
  const std::size_t size = mailroom_.close(output.message, buffer);
  const std::span<const std::byte> bytes{buffer.data(), size};
  if (output.kind == OutputKind::broadcast) {
    link.network->broadcast(bytes);
    return;
  }
  const auto peer = link.peers.find(output.to);
  if (peer == link.peers.end()) {
    ++unsent_;
    return;
  }
  const node::SyncMessage* sync = output.message.sync();
  const bool stamp = sync != nullptr && sync->will_follow;
  const auto transmission = link.network->send(peer->second.address, bytes, stamp);
  if (!stamp || !transmission) return;
  if (link.awaited.size() >= kMostAwaited) link.awaited.pop_front();
  link.awaited.push_back(
      {.transmission = *transmission, .peer = output.to, .exchange = sync->exchange});
}

void Worker::heed(const node::Node::Notice& notice) {
  using What = node::Node::Notice::What;
  switch (notice.what) {
    case What::election: {
      const std::string& network = links_[notice.network].options.label;
      const std::string peer = name_of_node(notice.election.peer);
      if (notice.election.news == election::News::leads)
        tell("became-master", fmt::format("{}: this host is master, round {}", network,
                                          notice.election.epoch.round));
      else if (notice.election.news == election::News::follows)
        tell("master-changed",
             fmt::format("{}: {} is master, round {}", network, peer, notice.election.epoch.round));
      else if (notice.election.news == election::News::peer_down)
        tell("host-down", fmt::format("{}: {} does not answer", network, peer));
      break;
    }
    case What::sync:
      if (notice.sync.what == node::SyncNotice::What::stepped) {
        tell("clock-stepped", fmt::format("the clock was stepped by {}", moved(notice.sync.by)));
        follow_clock(true);
      } else if (notice.sync.what == node::SyncNotice::What::steered) {
        follow_clock(false);
      } else if (notice.sync.what == node::SyncNotice::What::shifted) {
        tell("time-set", fmt::format("network time was set by hand, by {}", moved(notice.sync.by)));
      }
      break;
    case What::upstream:
      if (notice.network != node::kNoNetwork && link_count_ > 1)
        tell("time-source",
             fmt::format("the clock follows {}", links_[notice.network].options.label));
      break;
    case What::circle:
      tell("time-circle", fmt::format("{}: its time comes in a circle and is not followed",
                                      links_[notice.network].options.label));
      break;
  }
}

void Worker::follow_clock(bool stepped) {
  if (life_.settings.clock != config::ClockKind::system) return;
  const Instant now = oscillator_->now();
  const clock::Dial& dial = node_.sync().dial();
  const auto done = clock_->follow(now, dial.at(now), dial.rate(), stepped);
  const std::string trouble = done ? "" : done.error();
  if (trouble != clock_trouble_ && !trouble.empty()) log_error(trouble);
  clock_trouble_ = trouble;
}

// States are told once, when they change.
void Worker::note_states() {
  for (std::uint8_t i = 0; i < link_count_; ++i) {
    const election::MasterElection* election = node_.network(i);
    if (election == nullptr) continue;
    const std::string_view state = election::name_of(election->state());
    Link& link = links_[i];
    if (link.state == state) continue;
    if (link.state == "master" && state != "conflict")
      tell("lost-master", fmt::format("{}: this host is master no more", link.options.label));
    if (state == "conflict")
      tell("two-masters", fmt::format("{}: another master is about", link.options.label));
    log_info(fmt::format("{}: {} -> {}", link.options.label, link.state.empty() ? "-" : link.state,
                         state));
    link.state = state;
    trace_.becomes(oscillator_->now(), mailroom_.self(), state);
  }
}

void Worker::tell(std::string what, std::string details) {
  log_info(fmt::format("{}: {}", what, details));
  events_.push_back(
      {std::move(what), std::move(details), reading().time.time_since_epoch().count()});
  if (events_.size() > kMostEvents) events_.pop_front();
  ++event_count_;
  if (on_event_) on_event_(events_.back());
}

// --- the loop ---

int Worker::run() {
  for (const int signal : {SIGTERM, SIGINT}) loop_.on_signal(signal, [this] { stop(); });
  loop_.on_signal(SIGHUP, [this] { reload(); });
  for (std::uint8_t i = 0; i < link_count_; ++i) {
    watch(i);
    step([&](auto& turn) {
      node_.command(turn, {.what = node::Node::Command::What::join, .network = i});
    });
  }
  if (!mailroom_.sealed()) log_warning(kNoKey);
  notifier_.ready("looking for a master");

  while (!stopping_) {
    const Instant deadline = std::min(node_.timers().first(), next_chore_);
    const sys::Loop::Round round = loop_.wait(deadline);
    if (round.stalled > Nanos{0}) ++stalls_;
    // What has arrived comes before timers, also after a pause.
    if (round.due || round.stalled > Nanos{0})
      for (std::uint8_t i = 0; i < link_count_; ++i) ready(i);
    wake_timers();
    if (oscillator_->now() >= next_chore_) {
      next_chore_ = oscillator_->now() + kChores;
      // Stamps that the kernel does not give wake no descriptor.
      for (std::uint8_t i = 0; i < link_count_; ++i)
        if (!links_[i].awaited.empty()) read_departures(i);
      look_for_networks();
      check_id();
      follow_clock(false);
      const node::Reading now = reading();
      notifier_.alive();
      const bool exceeded = life_.settings.bound_alarm &&
                            now.latest - now.time > *life_.settings.bound_alarm &&
                            now.status != node::Reading::Status::unsynchronized;
      if (exceeded && !alarmed_)
        tell("bound-exceeded",
             fmt::format("the clock may be wrong by {}", span_text(now.latest - now.time)));
      alarmed_ = exceeded;
    }
    if (each_round_) each_round_();
  }
  notifier_.stopping();
  for (std::uint8_t i = 0; i < link_count_; ++i)
    step([&](auto& turn) {
      node_.command(turn, {.network = i, .election = election::Command::stop});
    });
  save_state();
  log_info("stopped");
  return 0;
}

void Worker::wake_timers() {
  for (int i = 0; i < kMostWakes; ++i) {
    const Instant now = oscillator_->now();
    if (node_.timers().first() > now) return;
    step([&](auto& turn) { node_.wake(turn, node_.timers().first_name()); });
  }
}

// Two machines with one id: neither leads.
void Worker::check_id() {
  if (!mailroom_.id_taken() || stays_out_) return;
  stays_out_ = true;
  tell("id-taken",
       fmt::format("another machine has the id {} too (from {}); this host leads nothing "
                   "until one of them has a new one and tempod is restarted",
                   id_text(mailroom_.self()), life_.machine_id_from));
  for (std::uint8_t i = 0; i < link_count_; ++i)
    step([&](auto& turn) {
      node_.command(turn, {.network = i, .election = election::Command::stay_out});
    });
}

// The keys and what can change while running.
void Worker::reload() {
  const auto keys = read_keys(life_.settings);
  if (!keys) {
    log_error(fmt::format("reload: {}; the old keys stay", keys.error()));
    return;
  }
  life_.keys = *keys;
  mailroom_.set_keys(life_.keys);
  log_info(fmt::format("reloaded: {} key{}", keys->size(), keys->size() == 1 ? "" : "s"));
}

void Worker::save_state() {
  life_.state.rate = node_.sync().base_rate();
  if (const auto saved = write_state(life_.settings.state_dir, life_.state); !saved)
    log_warning(saved.error());
}

std::vector<std::string> Worker::confine() {
  std::vector<std::string> troubles;
  const auto attempt = [&](const Result<void>& done) {
    if (!done) troubles.push_back(done.error());
  };
  if (life_.settings.realtime && ::geteuid() == 0) attempt(sys::run_real_time(20));
  if (::geteuid() == 0)
    attempt(sys::drop_privileges({.user = life_.settings.user,
                                  .set_clock = life_.settings.clock == config::ClockKind::system}));
  attempt(sys::filter_system_calls({.writes_files = true}));
  return troubles;
}

// --- what programs ask ---

node::Reading Worker::reading() { return node_.sync().reading(oscillator_->now()); }

// A living master ends every election with Quit: it must make room itself.
Result<void> Worker::reelect() {
  const NodeId master = node_.network(0) == nullptr ? kNobody : node_.network(0)->master();
  if (master == kNobody || master == mailroom_.self()) return resign();
  return std::unexpected(fmt::format("this host is not the master; 'tempo reelect' on {} is heard",
                                     name_of_node(master)));
}

Result<void> Worker::resign() {
  bool asked = false;
  for (std::uint8_t i = 0; i < link_count_; ++i) {
    const election::MasterElection* election = node_.network(i);
    if (election == nullptr || (election->state() != election::State::master &&
                                election->state() != election::State::conflict))
      continue;
    asked = true;
    step([&](auto& turn) {
      node_.command(turn, {.network = i, .election = election::Command::resign});
    });
  }
  if (!asked) return std::unexpected("this host is not the master; 'tempo master' says who is");
  return {};
}

Result<void> Worker::set_time(Nanos by) {
  const node::Reading::Status status = reading().status;
  if (status != node::Reading::Status::synchronized && status != node::Reading::Status::leads)
    return std::unexpected("network time is not known here yet; 'tempo wait-sync' waits for it");
  step([&](auto& turn) {
    node_.command(turn, {.what = node::Node::Command::What::sync,
                         .network = node::kNoNetwork,
                         .sync = {.what = node::SyncCommand::What::shift, .by = by}});
  });
  return {};
}

std::string Worker::name_of_node(NodeId node) const {
  const node::Directory::Host* host = mailroom_.directory().find(node);
  if (host == nullptr) return "";
  return host->name.text().empty() ? id_text(node) : std::string(host->name.text());
}

std::string Worker::id_text(NodeId node) const {
  const HostId host = mailroom_.directory().host_of(node);
  return host == kNoHost ? "" : fmt::format("{:016x}", std::to_underlying(host));
}

obs::Snapshot Worker::snapshot() {
  const Instant now = oscillator_->now();
  const node::Sync& sync = node_.sync();
  const node::Reading reading = sync.reading(now);
  obs::Snapshot shot;
  shot.version = kTempoVersion;
  shot.name = life_.name;
  shot.id = id_text(mailroom_.self());
  shot.cluster = life_.settings.cluster;
  shot.pid = static_cast<std::uint32_t>(::getpid());
  shot.uptime_s = std::chrono::duration<double>(now - started_).count();
  shot.profile = life_.settings.profile;
  shot.authenticated = mailroom_.sealed();
  shot.keys = static_cast<std::uint32_t>(life_.keys.size());
  shot.clock = clock_name(life_.settings.clock);
  shot.status = node::name_of(reading.status);
  shot.time_ns = reading.time.time_since_epoch().count();
  shot.earliest_ns = reading.earliest.time_since_epoch().count();
  shot.latest_ns = reading.latest.time_since_epoch().count();
  shot.offset_us = microseconds(sync.error(now).value_or(Nanos{0}));
  shot.rate_ppm = sync.dial().rate() * 1e6;
  shot.scale = sync.scale();
  shot.exchanges = sync.exchanges();
  shot.reference = name_of_node(sync.reference());
  shot.may_lead = life_.settings.may_lead && !stays_out_;
  if (!mailroom_.sealed()) shot.warnings.emplace_back(kNoKey);
  if (stays_out_)
    shot.warnings.push_back(
        fmt::format("another machine has this host's id, {}; neither leads", shot.id));
  if (!clock_trouble_.empty()) shot.warnings.push_back(clock_trouble_);

  NodeId master = kNobody;
  for (std::uint8_t i = 0; i < link_count_; ++i) {
    const election::MasterElection* election = node_.network(i);
    if (election == nullptr) continue;
    if (i == 0 || i == node_.upstream()) master = election->master();
    obs::NetworkView view;
    view.name = links_[i].options.label;
    view.state = election::name_of(election->state());
    view.master = name_of_node(election->master());
    view.master_id = id_text(election->master());
    view.epoch_round = election->followed().round;
    view.listed = static_cast<std::uint32_t>(election->list().size());
    view.heir = name_of_node(election->heir());
    view.root = name_of_node(node_.path().root);
    view.hops = node_.path().hops;
    view.kernel_stamps = links_[i].network != nullptr && links_[i].network->kernel_stamps();
    shot.networks.push_back(std::move(view));
  }
  mailroom_.directory().for_each([&](const node::Directory::Host& host) {
    const bool self = host.node == mailroom_.self();
    if (!self && !host.heard) return;
    obs::MemberView view;
    view.name = name_of_node(host.node);
    view.id = id_text(host.node);
    view.self = self;
    view.role = host.node == master ? "master" : "slave";
    if (self && !shot.networks.empty()) view.role = shot.networks.front().state;
    for (const Link& link : links_)
      if (const auto peer = link.peers.find(host.node); peer != link.peers.end())
        view.address = peer->second.address.text();
    if (!self) view.heard_ago_s = std::chrono::duration<double>(now - host.last_heard).count();
    if (const node::Sync::Member* member = sync.members().find(host.node)) {
      view.faulty = member->faulty;
      view.rate_ppm = static_cast<double>(member->rate_ppt) * 1e-6;
      view.sigma_us = microseconds(member->sigma);
      view.bound_us = microseconds(member->bound);
      view.offset_us = microseconds(member->error);
    }
    shot.members.push_back(std::move(view));
  });

  shot.counters["datagrams_accepted"] = mailroom_.accepted();
  shot.counters["datagrams_sent"] = mailroom_.sent();
  shot.counters["messages_without_address"] = unsent_;
  shot.counters["stalls"] = stalls_;
  for (std::size_t i = 0; i < static_cast<std::size_t>(node::Refusal::count); ++i) {
    const auto refusal = static_cast<node::Refusal>(i);
    shot.counters[fmt::format("refused_{}", node::name_of(refusal))] = mailroom_.refused(refusal);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(wire::Error::count); ++i) {
    const auto error = static_cast<wire::Error>(i);
    shot.counters[fmt::format("malformed_{}", wire::name_of(error))] = mailroom_.malformed(error);
  }
  return shot;
}

}  // namespace tempo::daemon
