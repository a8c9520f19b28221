#include "daemon/worker.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include <fmt/core.h>
#include <sys/poll.h>
#include <unistd.h>

#include "base/span_text.h"
#include "daemon/control/daemon_view.h"
#include "daemon/control/findings.h"
#include "daemon/log.h"
#include "daemon/reload.h"
#include "machine/overloaded.h"
#include "platform/confinement.h"

namespace tempo::daemon {
namespace {

constexpr int kMaxWakes = 1000;          // most timer steps in one round
constexpr Nanos kHousekeeping = 1s;      // interval of housekeeping
constexpr Nanos kRateInterval = 1min;    // the rate is saved at this interval...
constexpr double kMinRateChange = 1e-6;  // ...and when it has changed by more than this

node::SyncRules sync_rules(const config::Settings& settings) {
  return {
      .interval = settings.timing.adjtime, .step_limit = settings.step_limit, .follow_ups = true};
}

// Signed duration, e.g. "-200.1ms".
std::string signed_text(Nanos by) {
  return (by < Nanos{0} ? "-" : "+") + span_text(std::chrono::abs(by));
}

// The exchange of a message that needs a transmit timestamp; nullopt: it needs none.
std::optional<std::uint32_t> exchange_to_stamp(const node::Node::Message& message) {
  const node::SyncMessage* sync = message.sync();
  if (sync == nullptr) return std::nullopt;
  const auto* probe = std::get_if<node::Probe>(sync);
  if (probe != nullptr && probe->wants_follow_up) return probe->exchange;
  const auto* echo = std::get_if<node::Echo>(sync);
  if (echo != nullptr && echo->follow_up_comes) return echo->exchange;
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::create(const DaemonIdentity& identity,
                                               const ParentLine* parent) {
  TRY(instruments, instruments_of(identity.settings));
  return create(identity, std::move(instruments), parent);
}

Result<std::unique_ptr<Worker>> Worker::create(const DaemonIdentity& identity,
                                               Instruments instruments, const ParentLine* parent) {
  std::unique_ptr<Worker> worker(new Worker(identity, std::move(instruments), parent));
  if (auto opened = worker->links_.open(identity.settings); !opened)
    return std::unexpected(opened.error());
  return worker;
}

Worker::Worker(const DaemonIdentity& identity, Instruments instruments, const ParentLine* parent)
    : identity_(identity),
      rules_{.timing = identity.settings.timing},
      sync_rules_(sync_rules(identity.settings)),
      oscillator_(std::move(instruments.oscillator)),
      clock_(std::move(instruments.clock)),
      parent_(parent),
      loop_(*oscillator_),
      codec_(make_codec(identity)),
      node_({.self = codec_.self(),
             .incarnation = identity.incarnation,
             // The setting may-lead follows as a command, because a reload can change it.
             .priority = election::Priority{identity.settings.priority}},
            0, rules_,
            {.now = oscillator_->now(), .shows = clock_->read(), .rate = identity.state.rate},
            sync_rules_),
      links_(loop_, *oscillator_),
      started_(oscillator_->now()),
      trace_(started_, {.node = codec_.self(), .name = identity.name}),
      locks_({.identity = &identity_,
              .codec = &codec_,
              .links = &links_,
              .draw = &draw_,
              .parent = parent,
              .loop = &loop_}),
      groups_({.identity = &identity_,
               .codec = &codec_,
               .links = &links_,
               .draw = &draw_,
               .locks = &locks_,
               .reading = [this] { return reading(); }}),
      next_housekeeping_(started_ + kHousekeeping),
      next_rate_save_(started_ + kRateInterval) {
  if (identity.settings.trusted) utc_source_ = sys::real_kernel_clock();
}

// --- networks ---

void Worker::update_networks(bool other_settings) {
  const Links::Changes changes = links_.rescan(identity_.settings, other_settings);
  for (const std::uint8_t number : changes.gone)
    emit_event("network-down", fmt::format("{} is down", links_.label(number)));
  for (const std::uint8_t number : changes.come) {
    emit_event("network-up", fmt::format("{} is up", links_.label(number)));
    join(number);
  }
}

void Worker::join(std::uint8_t number) {
  links_.watch(number, [this](std::uint8_t there, bool departed) {
    if (departed) read_departures(there);
    ready(there);
  });
  step([&](auto& turn) { node_.command(turn, node::Node::Join{number}); });
  set_leadership(number);
}

void Worker::set_leadership(std::uint8_t number) {
  const bool may = identity_.settings.may_lead && !duplicate_id_;
  step([&](auto& turn) {
    node_.command(turn, node::Node::ElectionCommand{number, may ? election::Command::come_back
                                                                : election::Command::stay_out});
  });
}

void Worker::ready(std::uint8_t number) {
  for (int i = 0; i < sys::Network::kMaxAtOnce; ++i) {
    const std::optional<sys::Arrival> arrival = links_.receive(number);
    if (!arrival) break;
    const Instant now = oscillator_->now();
    const auto received =
        codec_.decode(now, number, std::min(arrival->at, now), arrival->bytes,
                      links_.elsewhere(number, arrival->from) ? wire::Codec::Source::elsewhere
                                                              : wire::Codec::Source::anywhere);
    if (!received) {
      receive_incompatible(arrival->from);
      continue;
    }
    if (!received->sent_by_parent) links_.learn(number, received->from, arrival->from);
    const NodeId from = received->from;
    std::visit(
        Overloaded{
            [&](const node::Node::Message& message) { receive(now, number, from, message); },
            [&](const wire::DiagnosticBody& body) { receive_diagnostic(number, from, body); },
            [&](const wire::GroupBody& body) { groups_.receive(from, body); },
            [&](const auto& body) { locks_.receive(from, body); }},
        received->content);
  }
}

void Worker::receive(Instant now, std::uint8_t number, NodeId from,
                     const node::Node::Message& message) {
  if (trace_.on())
    trace_.received(now, {.node = from, .name = name_of(from)}, node::name_of(message));
  // The departure time must be known before the answer, which may have overtaken it.
  if (message.sync() != nullptr && links_.awaits(number)) read_departures(number);
  step([&](auto& turn) { node_.receive(turn, from, message); });
}

void Worker::receive_incompatible(const sys::Address& from) {
  const std::optional<std::uint8_t> revision = codec_.incompatible_revision();
  if (!revision) return;
  if (auto warning = incompatible_peers_.receive(oscillator_->now(), from.text(), *revision))
    emit_event("other-revision", *std::move(warning));
}

void Worker::receive_diagnostic(std::uint8_t number, NodeId from,
                                const wire::DiagnosticBody& body) {
  remote_diagnosis_.receive(from, body);
  reelect_request_.receive(from, body);
  if (body.kind == wire::DiagnosticBody::Kind::reelect) receive_reelect(number, from, body);
  if (body.kind != wire::DiagnosticBody::Kind::ask) return;
  std::array<std::byte, wire::kMaxBytes> buffer;
  for (const wire::DiagnosticBody& answer :
       remote_diagnosis_.answer(oscillator_->now(), body, findings_in(snapshot())))
    links_.send(number, from, {buffer.data(), codec_.encode(answer, buffer)}, std::nullopt);
}

void Worker::read_departures(std::uint8_t number) {
  for (std::size_t i = 0; i < Links::kMaxAwaited; ++i) {
    const std::optional<Links::Departed> departed = links_.departed(number);
    if (!departed) return;
    step([&](auto& turn) {
      node_.command(turn, node::Node::ClockCommand{
                              .command = node::Departed{.peer = departed->host,
                                                        .exchange = departed->exchange,
                                                        .at = std::min(departed->at, turn.now)},
                              .network = number});
    });
  }
}

// --- the node ---

void Worker::carry_out() {
  for (const auto& output : outbox_) {
    if (output.kind == OutputKind::notice)
      on_notice(output.notice);
    else
      transmit(output);
  }
  report_states();
}

void Worker::transmit(const Output<node::Node>& output) {
  const std::uint8_t number = output.message.network;
  if (!links_.here(number)) return;
  const bool all = output.kind == OutputKind::broadcast;
  if (trace_.on())
    trace_.sent(oscillator_->now(),
                all ? LiveTrace::Peer{} : LiveTrace::Peer{output.to, name_of(output.to)},
                node::name_of(output.message));
  std::array<std::byte, wire::kMaxBytes> buffer;
  const std::size_t size = codec_.encode(output.message, buffer);
  const std::span<const std::byte> bytes{buffer.data(), size};
  if (all) {
    links_.broadcast(number, bytes);
    return;
  }
  if (!links_.send(number, output.to, bytes, exchange_to_stamp(output.message))) ++unsent_;
}

void Worker::on_notice(const node::Node::Notice& notice) {
  using node::Node;
  std::visit(
      Overloaded{
          [this](const Node::ElectionNotice& one) { on_election_notice(one.network, one.notice); },
          [this](const Node::ClockNotice& one) { on_clock_notice(one.notice); },
          [this](const Node::UpstreamChanged& now) {
            if (now.network != node::kNoNetwork && links_.count() > 1)
              emit_event("time-source",
                         fmt::format("clock follows network {}", links_.label(now.network)));
          },
          [this](const Node::TimeLoop& loop) {
            emit_event("time-circle",
                       fmt::format("{}: time loop detected; not following this network",
                                   links_.label(loop.network)));
          }},
      notice);
}

void Worker::on_election_notice(std::uint8_t number, const election::Notice& notice) {
  const std::string& network = links_.label(number);
  const std::string peer = name_of(notice.peer);
  if (notice.news == election::Change::leads)
    emit_event("became-master",
               fmt::format("{}: this machine is master, epoch {}", network, notice.epoch.round));
  else if (notice.news == election::Change::follows) {
    if (states_[number] == "master")
      emit_event("two-masters",
                 fmt::format("{}: this machine and {} were both masters", network, peer));
    emit_event("master-changed",
               fmt::format("{}: {} is master, epoch {}", network, peer, notice.epoch.round));
  } else if (notice.news == election::Change::peer_down)
    emit_event("host-down", fmt::format("{}: {} does not answer", network, peer));
}

void Worker::on_clock_notice(const node::SyncNotice& notice) {
  std::visit(Overloaded{[this](const node::Stepped& stepped) {
                          emit_event("clock-stepped",
                                     fmt::format("clock stepped by {}", signed_text(stepped.by)));
                          follow_clock(true);
                          publish();
                        },
                        [this](const node::Steered&) {
                          follow_clock(false);
                          publish();
                        },
                        [this](const node::NetworkTimeSet& set) {
                          emit_event("time-set",
                                     fmt::format("an operator changed network time by {}",
                                                 signed_text(set.by)));
                        },
                        [](const node::Outvoted&) {}, [](const node::Reinstated&) {}},
             notice);
}

// Call it after the system clock has moved, so that no client sees the new time before that.
void Worker::publish() {
  if (publisher_) publisher_->publish(*oscillator_, node_.sync());
}

void Worker::follow_clock(bool stepped) {
  if (identity_.settings.clock != config::ClockKind::system) return;
  // The steered clock stood still during a suspension: following it would set the system clock
  // back.
  if (loop_.slept() > Nanos{0}) return;
  const Instant now = oscillator_->now();
  const clock::SteeredClock& dial = node_.sync().steered_clock();
  const auto done = clock_->follow(now, dial.at(now), dial.rate(), stepped);
  const std::string error = done ? "" : done.error();
  if (error != clock_error_ && !error.empty()) log_error(error);
  clock_error_ = error;
}

// Reports each change of an election state once: network, from, to, and the mastership that the
// host knows.
void Worker::report_states() {
  for (std::uint8_t i = 0; i < links_.count(); ++i) {
    const election::MasterElection* election = node_.network(i);
    if (election == nullptr) continue;
    const std::string_view state = state_name(election->state());
    if (states_[i] == state) continue;
    if (states_[i] == "master" && state != "conflict")
      emit_event("lost-master",
                 fmt::format("{}: this machine is no longer master", links_.label(i)));
    if (state == "conflict")
      emit_event("two-masters",
                 fmt::format("{}: another master is active on this network", links_.label(i)));
    const std::string master = name_of(election->master());
    log_info(fmt::format("{}: {} -> {} (epoch {}, master {})", links_.label(i),
                         states_[i].empty() ? "-" : states_[i], state, election->followed().round,
                         master.empty() ? "none" : master));
    states_[i] = state;
    trace_.becomes(oscillator_->now(), election::name_of(election->state()));
  }
}

void Worker::emit_event(std::string what, std::string details) {
  log_event(what, details);
  events_.push_back(
      {std::move(what), std::move(details), reading().time.time_since_epoch().count()});
  if (events_.size() > kMaxEvents) events_.pop_front();
  ++event_count_;
  if (parent_ != nullptr) parent_->send(events_.back().what + '\t' + events_.back().details);
}

// --- the loop ---

int Worker::run() {
  for (const int signal : {SIGTERM, SIGINT}) loop_.on_signal(signal, [this] { stop(); });
  loop_.on_signal(SIGHUP, [] {});  // for the parent, which sends new settings
  if (parent_ != nullptr)
    loop_.watch(parent_->descriptor(), POLLIN, [this](short ready) {
      // Without a parent nothing would restart this worker.
      if ((ready & POLLHUP) != 0) return stop();
      receive_from_parent();
    });
  links_.watch_interfaces([this] { update_networks(); });
  for (std::uint8_t i = 0; i < links_.count(); ++i) join(i);
  if (!codec_.sealed()) log_warning(kNoKey);
  locks_.start([this](std::string what, std::string details) {
    emit_event(std::move(what), std::move(details));
  });
  groups_.start([this](std::string what, std::string details) {
    emit_event(std::move(what), std::move(details));
  });
  notifier_.ready("looking for a master");

  while (!stopping_) {
    Instant deadline =
        std::min({node_.timers().first(), next_housekeeping_, reelect_request_.next()});
    for (const auto& due : {locks_.due_in(), groups_.due_in()})
      if (due) deadline = std::min(deadline, oscillator_->now() + *due);
    const sys::Loop::Round round = loop_.wait(deadline);
    if (round.suspended > Nanos{0}) {
      stop_after_suspension(round.suspended);
      return kSuspended;
    }
    if (round.stalled > Nanos{0}) ++stalls_;
    // Received datagrams come before timers, also after a stall.
    if (round.due || round.stalled > Nanos{0})
      for (std::uint8_t i = 0; i < links_.count(); ++i) ready(i);
    wake_timers();
    locks_.on_timer();
    groups_.on_timer();
    send_reelect();
    if (oscillator_->now() >= next_housekeeping_) housekeeping();
    if (each_round_) each_round_();
  }
  stop_cleanly();
  return 0;
}

void Worker::stop_cleanly() {
  notifier_.stopping();
  publisher_.reset();
  for (std::uint8_t i = 0; i < links_.count(); ++i)
    step([&](auto& turn) {
      node_.command(turn, node::Node::ElectionCommand{i, election::Command::stop});
    });
  save_rate();
  log_info("stopped");
}

// No resignation is sent: it would carry the time of a wrong clock. The rate is still valid.
void Worker::stop_after_suspension(Nanos span) {
  publisher_.reset();
  emit_event("slept", fmt::format("suspended for {}; rejoining as a new member",
                                  span_text(std::chrono::round<std::chrono::milliseconds>(span))));
  save_rate();
}

// UTC from the system clock that another program synchronizes, without the steps of leap seconds.
void Worker::carry_utc() {
  if (utc_source_ == nullptr) return;
  const auto state = sys::read_discipline(*utc_source_);
  const bool synchronized = state && state->synchronized;
  if (synchronized != utc_synchronized_)
    emit_event(
        synchronized ? "utc-found" : "utc-lost",
        synchronized
            ? "the system clock is synchronized again; this machine is a source of UTC"
            : "this machine is configured as trusted, but no program synchronizes its clock; "
              "check chronyd or ptp4l");
  utc_synchronized_ = synchronized;
  if (!synchronized) return;
  const Nanos utc = leaps_.utc(state->raw, state->real, state->tai);
  step([&](auto& turn) {
    node_.command(turn, node::Node::ClockCommand{
                            node::CarryUtc{.at = oscillator_->at(state->raw),
                                           .utc = utc,
                                           .bound = std::max(state->most_error, Nanos{1})}});
  });
}

void Worker::housekeeping() {
  next_housekeeping_ = oscillator_->now() + kHousekeeping;
  // A timestamp that the kernel never delivers wakes no descriptor.
  for (std::uint8_t i = 0; i < links_.count(); ++i)
    if (links_.awaits(i)) read_departures(i);
  update_networks();
  check_id();
  carry_utc();
  follow_clock(false);
  publish();
  watch_bound();
  save_rate_if_due();
  locks_.each_second();
  notifier_.alive();
}

void Worker::watch_bound() {
  const node::Reading now = reading();
  const Nanos bound = now.latest - now.time;
  const bool exceeded = identity_.settings.bound_alarm && bound > *identity_.settings.bound_alarm &&
                        now.status != node::Reading::Status::unsynchronized;
  if (exceeded && !alarmed_)
    emit_event(
        "bound-exceeded",
        fmt::format("clock may be off by up to {}; bound-alarm-us is {:.3f}", span_text(bound),
                    static_cast<double>(identity_.settings.bound_alarm->count()) * 1e-3));
  alarmed_ = exceeded;
}

void Worker::wake_timers() {
  for (int i = 0; i < kMaxWakes; ++i) {
    const Instant now = oscillator_->now();
    if (node_.timers().first() > now) return;
    step([&](auto& turn) { node_.on_timer(turn, node_.timers().first_name()); });
  }
}

// Two machines with the same id: neither leads.
void Worker::check_id() {
  std::array<std::byte, wire::kMaxBytes> buffer;
  for (std::uint8_t i = 0; i < links_.count(); ++i)
    if (const std::size_t size = codec_.notify_duplicate(buffer); size > 0 && links_.here(i))
      links_.broadcast(i, {buffer.data(), size});
  if (!codec_.id_taken() || duplicate_id_) return;
  duplicate_id_ = true;
  emit_event(
      "id-taken",
      fmt::format("another machine has the same id {} (from {}): this machine will not lead; give "
                  "one of them another machine id and restart tempod",
                  id_text(codec_, codec_.self()), identity_.machine_id_from));
  for (std::uint8_t i = 0; i < links_.count(); ++i) set_leadership(i);
}

// A message from the parent: new settings, or the confirmation of a write.
void Worker::receive_from_parent() {
  const std::string text = parent_->receive();
  if (text.empty()) return;
  if (text.starts_with(LockDriver::kWritten))
    return locks_.receive_written(std::string_view(text).substr(LockDriver::kWritten.size() + 1));
  const auto message = parse_reload(text);
  if (!message) {
    log_error(fmt::format("reload: {}", message.error()));
    return;
  }
  identity_.settings = changed(identity_.settings, message->settings);
  identity_.keys = message->keys;
  codec_.set_keys(identity_.keys);
  sync_rules_ = sync_rules(identity_.settings);
  set_log_level(identity_.settings.log_level);
  for (std::uint8_t i = 0; i < links_.count(); ++i) set_leadership(i);
  update_networks(true);
}

// The worker may not write to the state directory after it has changed its user.
void Worker::save_rate() {
  next_rate_save_ = oscillator_->now() + kRateInterval;
  identity_.state.rate = node_.sync().base_rate();
  if (parent_ != nullptr) {
    parent_->send(fmt::format("{}\t{}", kSaveRate, rate_text(identity_.state.rate)));
    return;
  }
  if (const auto saved = write_state(identity_.settings.state_dir, identity_.state); !saved)
    log_warning(saved.error());
}

// A killed worker cannot save the rate at its end. Without a parent this process would have to wait
// for the disk.
void Worker::save_rate_if_due() {
  if (parent_ == nullptr) return;
  const double change = std::abs(node_.sync().base_rate() - identity_.state.rate);
  if (change > kMinRateChange || (change > 0 && oscillator_->now() >= next_rate_save_)) save_rate();
}

std::vector<std::string> Worker::confine() {
  std::vector<std::string> errors;
  const auto attempt = [&](const Result<void>& done) {
    if (!done) errors.push_back(done.error());
  };
  if (identity_.settings.realtime && ::geteuid() == 0) {
    attempt(sys::run_real_time(kPriority));
    attempt(sys::lock_memory());
  }
  if (::geteuid() == 0)
    attempt(
        sys::drop_privileges({.user = identity_.settings.user,
                              .set_clock = identity_.settings.clock == config::ClockKind::system}));
  attempt(sys::filter_system_calls({.writes_files = true}));
  return errors;
}

}  // namespace tempo::daemon
