#include "protocol/host/host.h"

#include <algorithm>
#include <utility>

namespace tempo::host {
namespace {

const auto wrap = [](const auto& message) { return Host::Message{message}; };

// The network time of a request that has waited this long, in microseconds.
std::uint64_t asked_us(std::uint64_t now_us, Nanos waited) {
  return now_us -
         std::min(now_us, static_cast<std::uint64_t>(std::max(waited / 1us, Nanos::rep{0})));
}

// The clock compares raw times, and boot time may be slewed against them for the length of a grant.
constexpr Nanos kSlewOfGrant = 5ms;

}  // namespace

Host::Host(node::Node node, Views views, std::optional<Locks> locks, std::optional<Groups> groups,
           Record saved)
    : node_(std::move(node)),
      views_(std::move(views)),
      locks_(std::move(locks)),
      groups_(std::move(groups)),
      record_(std::move(saved)) {
  record_.locks_number = record_.membership_number = 0;
}

bool Host::waits_for_record(const Notice& notice) {
  return !std::holds_alternative<node::Node::Notice>(notice) &&
         !std::holds_alternative<Views::Notice>(notice);
}

bool Host::waits_for_record(const Message& message) {
  if (const auto* of_views = std::get_if<ViewMessage>(&message)) return of_views->waits;
  return !std::holds_alternative<node::Node::Message>(message);
}

bool Host::may_be_lost(const Output<Host>& output) {
  if (output.kind == OutputKind::persist) return false;
  if (output.kind != OutputKind::notice) return true;
  const auto* of_locks = std::get_if<Locks::Notice>(&output.notice);
  const auto* update = of_locks != nullptr ? std::get_if<locks::LockUpdate>(of_locks) : nullptr;
  return update != nullptr && update->kind == locks::LockUpdate::Kind::extended;
}

void Host::start(Turn<Host>& turn) {
  const auto start = [](auto& part, auto& inner) { part.start(inner); };
  tell_clock(turn);
  step_node(turn, start);
  step_views(turn, start);
  if (locks_) step_locks(turn, start);
  if (groups_) step_groups(turn, start);
}

void Host::receive(Turn<Host>& turn, NodeId from, const Message& message) {
  const auto receive = [&](const auto& body) {
    return [&, from](auto& part, auto& inner) { part.receive(inner, from, body); };
  };
  if (const auto* of_node = std::get_if<node::Node::Message>(&message))
    step_node(turn, receive(*of_node));
  else if (const auto* of_locks = std::get_if<Locks::Message>(&message); of_locks && locks_)
    step_locks(turn, receive(*of_locks));
  else if (const auto* of_groups = std::get_if<Groups::Message>(&message); of_groups && groups_)
    step_groups(turn, receive(*of_groups));
  else if (const auto* of_views = std::get_if<ViewMessage>(&message))
    step_views(turn, receive(of_views->body));
}

void Host::on_timer(Turn<Host>& turn, TimerId timer) {
  timers().locate(timer, [&]<std::size_t kPart>(Part<kPart>, TimerId own) {
    const auto fire = [&](auto& part, auto& inner) { part.on_timer(inner, own); };
    if constexpr (kPart == 0)
      step_node(turn, fire);
    else if constexpr (kPart == 1)
      step_locks(turn, fire);
    else if constexpr (kPart == 2)
      step_groups(turn, fire);
    else
      step_views(turn, [](Views& views, Turn<Views>& inner) {
        views.on_timer(inner, views.timers().first_name());
      });
  });
}

void Host::command(Turn<Host>& turn, const Command& command) {
  const auto pass = [](const auto& own) {
    return [&](auto& part, auto& inner) { part.command(inner, own); };
  };
  if (const auto* clock = std::get_if<BootClock>(&command)) {
    boot_minus_raw_ = clock_offset(clock->now, turn.now);
    stepped_ = {};
  } else if (const auto* of_node = std::get_if<node::Node::Command>(&command))
    step_node(turn, pass(*of_node));
  else if (const auto* of_locks = std::get_if<Locks::Command>(&command); of_locks && locks_)
    command_locks(turn, *of_locks);
  else if (const auto* of_groups = std::get_if<Groups::Command>(&command); of_groups && groups_)
    step_groups(turn, pass(*of_groups));
  else if (const auto* of_views = std::get_if<Views::Command>(&command))
    step_views(turn, pass(*of_views));
  else if (const auto* persisted = std::get_if<Persisted>(&command))
    on_persisted(turn, persisted->record);
}

// Requests for leases are ordered by network time.
void Host::command_locks(Turn<Host>& turn, Locks::Command command) {
  if (auto* acquire = std::get_if<locks::Acquire>(&command))
    acquire->network_us = asked_us(network_us(turn.now), acquire->waited);
  step_locks(turn, [&](Locks& locks, Turn<Locks>& inner) { locks.command(inner, command); });
}

// --- the parts ---

template <class Step>
void Host::step_node(Turn<Host>& turn, Step step) {
  stepped_.node = true;
  step_part(turn, node_, step, [&](const Output<node::Node>& output) {
    if (pass_on(turn, output, wrap)) return;
    turn.out.notify(output.notice);
    if (std::holds_alternative<node::Node::UpstreamChanged>(output.notice)) follow_upstream(turn);
  });
}

template <class Step>
void Host::step_locks(Turn<Host>& turn, Step step) {
  stepped_.locks = true;
  step_part_at(boot(turn.now), turn, *locks_, step, [&](const Output<Locks>& output) {
    if (pass_on(turn, output, wrap)) return;
    if (output.kind == OutputKind::persist)
      persist_locks(turn, output.record);
    else
      on_lock_notice(turn, output.notice);
  });
  locks_due_ = locks_->timers().first();
}

// The network clock reaches the groups before every other input.
template <class Step>
void Host::step_groups(Turn<Host>& turn, Step step) {
  stepped_.groups = true;
  const auto with_clock = [&](Groups& groups, Turn<Groups>& inner) {
    groups.command(inner, network_clock(turn.now));
    step(groups, inner);
  };
  step_part_at(boot(turn.now), turn, *groups_, with_clock, [&](const Output<Groups>& output) {
    if (!pass_on(turn, output, wrap)) on_group_notice(turn, output.notice);
  });
  groups_due_ = groups_->timers().first();
}

template <class Step>
void Host::step_views(Turn<Host>& turn, Step step) {
  stepped_.views = true;
  step_part_at(boot(turn.now), turn, views_, step, [&](const Output<Views>& output) {
    const auto wrap_view = [&](const Views::Message& message) {
      return ViewMessage{message, Views::waits_for_record(output) && views_.writes()};
    };
    if (pass_on(turn, output, wrap_view)) return;
    if (output.kind == OutputKind::persist) return persist_views(turn, output.record);
    turn.out.notify(output.notice);
    if (output.notice.kind == Views::Notice::Kind::outdated) resign(turn);
  });
  views_due_ = views_.timers().first();
  tell_clock(turn);
}

// --- records ---

void Host::persist_locks(Turn<Host>& turn, const Locks::Record& record) {
  record_.locks = record;
  ++record_.locks_number;
  turn.out.persist(record_);
}

void Host::persist_views(Turn<Host>& turn, const Views::Record& record) {
  record_.membership = record;
  ++record_.membership_number;
  turn.out.persist(record_);
}

// Each part hears of its own records only.
void Host::on_persisted(Turn<Host>& turn, const Record& record) {
  const auto pass = [](const auto& command) {
    return [&](auto& part, auto& inner) { part.command(inner, command); };
  };
  if (record.locks_number > locks_durable_ && record.locks && locks_) {
    locks_durable_ = record.locks_number;
    command_locks(turn, Locks::persisted(*record.locks));
  }
  if (record.membership_number > views_durable_ && record.membership) {
    views_durable_ = record.membership_number;
    step_views(turn, pass(Views::persisted(*record.membership)));
  }
}

// --- the main part ---

// The membership asks the master that the clock follows.
void Host::follow_upstream(Turn<Host>& turn) {
  const Views::Command command = node_.upstream() == node::kNoNetwork
                                     ? Views::Command{membership::Lead{}}
                                     : membership::Follow{node_.upstream_master()};
  step_views(turn, [&](Views& views, Turn<Views>& inner) { views.command(inner, command); });
}

void Host::tell_clock(Turn<Host>& turn) {
  const BootTime now = boot(turn.now);
  const bool ever = views_.main_until() != BootTime::min();
  const node::MainPart part{
      .until = ever ? raw(views_.main_until()) - kSlewOfGrant : node::kNeverMain,
      .here = views_.main(now) || views_.follows_main(now),
      .others = views_.has_others()};
  if (part == told_) return;
  told_ = part;
  step_node(turn, [&](node::Node& node, Turn<node::Node>& inner) {
    node.command(inner, node::Node::ClockCommand{part});
  });
}

// A member knows network time from later than this master.
void Host::resign(Turn<Host>& turn) {
  for (std::uint8_t i = 0; i < node::kMaxNetworks; ++i)
    step_node(turn, [&](node::Node& node, Turn<node::Node>& inner) {
      node.command(inner, node::Node::ElectionCommand{i, election::Command::resign});
    });
}

// --- notices of locks and groups ---

// A group's client is not a program: its updates stay in this host.
void Host::on_lock_notice(Turn<Host>& turn, const Locks::Notice& notice) {
  const auto* update = std::get_if<locks::LockUpdate>(&notice);
  if (update == nullptr || !locks::is_group(update->client) || !groups_) {
    turn.out.notify(notice);
    return;
  }
  // A refusal at once: this host has no locks now.
  const bool at_once = update->kind == locks::LockUpdate::Kind::refused &&
                       update->refusal != locks::Refusal::queue_full;
  step_groups(turn, [&](Groups& groups, Turn<Groups>& inner) {
    if (at_once)
      groups.command(inner, Groups::LeaseRefused{update->client});
    else
      groups.command(inner, Groups::LeaseUpdate{update->client, *update});
  });
}

void Host::on_group_notice(Turn<Host>& turn, const Groups::Notice& notice) {
  if (!locks_)
    turn.out.notify(notice);
  else if (const auto* acquire = std::get_if<Groups::Acquire>(&notice))
    command_locks(
        turn, locks::Acquire{
                  .client = acquire->client, .name = acquire->lock, .session = acquire->session});
  else if (const auto* resume = std::get_if<Groups::Resume>(&notice))
    command_locks(turn, locks::Resume{.client = resume->client,
                                      .name = resume->lock,
                                      .session = resume->session,
                                      .token = resume->lead.term,
                                      .origin = resume->lead.origin,
                                      .deadline = resume->lead.deadline});
  else if (const auto* release = std::get_if<Groups::Release>(&notice))
    command_locks(turn, locks::Release{release->client});
  else
    turn.out.notify(notice);
}

// --- network time ---

groups::NetworkClock Host::network_clock(Instant raw_now) const {
  using Status = node::Reading::Status;
  const node::Reading reading = node_.sync().reading(raw_now);
  // A machine that is alone shares its clock with nobody: it is the time of its groups.
  const bool known = node::in_main_part(reading.status) || reading.status == Status::alone;
  return {.offset = clock_offset(reading.time, boot(raw_now)),
          .trusted = known && reading.latest - reading.time <= groups_->bounds().largest_error()};
}

std::uint64_t Host::network_us(Instant raw_now) const {
  const Nanos time = node_.sync().reading(raw_now).time.time_since_epoch();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time / 1us, 0));
}

const char* Host::check() const {
  return check({.node = true, .locks = true, .groups = true, .views = true});
}
const char* Host::check_stepped() const { return check(stepped_); }

const char* Host::check(const Stepped& parts) const {
  const char* broken = parts.node ? node_.check() : nullptr;
  if (broken == nullptr && locks_ && parts.locks) broken = locks_->check();
  if (broken == nullptr && groups_ && parts.groups) broken = groups_->check();
  if (broken == nullptr && parts.views) broken = views_.check();
  return broken;
}

}  // namespace tempo::host
