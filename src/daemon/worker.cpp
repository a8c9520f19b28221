#include "daemon/worker.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>
#include <variant>

#include <fmt/core.h>
#include <sys/poll.h>

#include "base/number_text.h"
#include "base/span_text.h"
#include "daemon/control/daemon_view.h"
#include "daemon/control/findings.h"
#include "daemon/drivers/lock_record_file.h"
#include "daemon/log.h"
#include "daemon/reload.h"
#include "machine/overloaded.h"
#include "platform/clocks/boot_clock.h"
#include "platform/whole_file.h"
#include "tempo_version.h"

namespace tempo::daemon {
namespace {

using host::Host;
using node::Node;

constexpr Nanos kHousekeeping = 1s;  // interval of housekeeping

node::SyncRules sync_rules(const config::Settings& settings) {
  return {.interval = settings.timing.adjtime,
          .step_limit = settings.step_limit,
          .max_delay = settings.max_delay,
          .drift = settings.drift_allowance,
          .rate_jump = settings.rate_jump_max,
          .follow_ups = true};
}

WallTime start_of_clock(const DaemonIdentity& identity, sys::Clock& clock) {
  const WallTime shown = clock.read();
  const WallTime first = first_time(identity, shown);
  if (first > shown)
    log_warning(fmt::format(
        "the system clock is {} behind the last write of {}/state (no battery-backed clock?): "
        "starting at that time; if that was wrong, correct it with 'tempo set-time'",
        span_text(first - shown), identity.settings.state_dir));
  return first;
}

Host::Views make_views(const DaemonIdentity& identity, const membership::Rules& rules, Draw& draw) {
  const SavedMembership saved = read_membership(identity.settings.state_dir, identity.host);
  if (!saved.lost.empty())
    log_warning(fmt::format(
        "the membership record is lost: {}; this machine joins the network as a new member",
        saved.lost));
  constexpr std::uint64_t kNumbers = std::uint64_t{1} << 62;
  return Host::Views(
      {.record = saved.record,
       .fresh = membership::MemberId{draw.below(kNumbers) + 1},
       .first = Sequence{static_cast<std::uint32_t>(draw.below(std::uint64_t{1} << 32))}},
      rules);
}

// The rules must outlive the host.
Host make_host(const DaemonIdentity& identity, const election::Rules& rules,
               const node::SyncRules& sync_rules, Host::Views views, Transport& transport,
               Instruments& instruments) {
  const config::Settings& settings = identity.settings;
  wire::Codec& codec = transport.codec();
  Node node({.self = codec.self(),
             .incarnation = identity.incarnation,
             // The setting may-lead follows as a command, because a reload can change it.
             .priority = election::Priority{settings.priority}},
            0, rules,
            {.now = instruments.oscillator->now(),
             .shows = start_of_clock(identity, *instruments.clock),
             .rate = identity.state.rate},
            sync_rules);
  auto locks = make_lock_service(identity, codec.directory());
  std::optional<Host::Groups> groups;
  if (locks || settings.lock_back_end == config::LockBackEnd::etcd)
    groups.emplace(Host::Groups::Start{.self = codec.self(),
                                       .life = identity.incarnation,
                                       .hosts = &codec.directory(),
                                       .rules = {.lease = settings.lock_lease},
                                       .node_keys = identity.node_keys.get()});
  return {std::move(node), std::move(views), std::move(locks), std::move(groups)};
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
  if (auto opened = worker->transport_.links().open(identity.settings); !opened)
    return std::unexpected(opened.error());
  return worker;
}

Worker::Worker(const DaemonIdentity& identity, Instruments instruments, const ParentLine* parent)
    : identity_(identity),
      instruments_(std::move(instruments)),
      parent_(parent),
      loop_(*instruments_.oscillator),
      rules_{.timing = identity_.settings.timing},
      sync_rules_(sync_rules(identity_.settings)),
      transport_(identity_, loop_, *instruments_.oscillator),
      host_(make_host(identity_, rules_, sync_rules_, make_views(identity_, view_rules_, draw_),
                      transport_, instruments_),
            HostClock{instruments_.oscillator.get()}, draw_, host_hooks()),
      events_([this] { return reading().time; }, parent),
      clock_({.identity = &identity_,
              .instruments = &instruments_,
              .loop = &loop_,
              .host = &host_,
              .events = &events_,
              .parent = parent}),
      elections_({.transport = &transport_, .events = &events_}),
      locks_({.identity = &identity_,
              .transport = &transport_,
              .host = &host_,
              .events = &events_,
              .announcer = &announcer_}),
      groups_({.transport = &transport_,
               .host = &host_,
               .events = &events_,
               .why_none = [this] { return locks_.status(); }}),
      reelect_({.transport = &transport_, .host = &host_, .events = &events_}),
      announcer_({.identity = &identity_,
                  .transport = &transport_,
                  .oscillator = instruments_.oscillator.get(),
                  .draw = &draw_}),
      remote_queries_(static_cast<std::uint32_t>(std::to_underlying(identity_.nonce))),
      started_(now()),
      keys_since_(started_),
      next_housekeeping_(started_ + kHousekeeping) {
  transport_.on_input(transport_handlers());
}

// --- the host ---

HostRuntime::Hooks Worker::host_hooks() {
  return {.carry_out =
              [this](const Output<Host>& output) {
                if (output.kind == OutputKind::notice)
                  on_notice(output.notice);
                else
                  transport_.carry_out(output);
              },
          .write = [this](std::uint64_t number,
                          const host::Records& records) { write_records(number, records); },
          .stepped = [this] { elections_.report_states(now(), host_.machine().node()); }};
}

void Worker::on_notice(const Host::Notice& notice) {
  const auto of_node =
      Overloaded{[this](const Node::ClockNotice& one) { clock_.on_notice(one.notice); },
                 [this](const auto& one) { elections_.on_notice(one); }};
  const auto of_groups =
      Overloaded{[this](const Host::Groups::Acquire& acquire) { locks_.on_notice(acquire); },
                 [this](const Host::Groups::Resume& resume) { locks_.on_notice(resume); },
                 [this](const Host::Groups::Release& release) { locks_.on_notice(release); },
                 [this](const auto& one) { groups_.on_notice(one); }};
  std::visit(Overloaded{[&](const Node::Notice& one) { std::visit(of_node, one); },
                        [&](const Host::Locks::Notice& one) { locks_.on_notice(one); },
                        [&](const Host::Groups::Notice& one) { std::visit(of_groups, one); },
                        [&](const Host::Views::Notice& one) { elections_.on_notice(one); }},
             notice);
}

// Each part has a file of its own; only those that have changed are written.
void Worker::write_records(std::uint64_t number, const host::Records& records) {
  writes_.begin(number, records);
  if (records.locks && records.locks_number > locks_written_)
    write_locks(records.locks_number, *records.locks);
  if (records.membership && records.membership_number > membership_written_)
    write_membership(records.membership_number, *records.membership);
  finish_writes();  // without a parent they are done; `records` is not valid after that
}

void Worker::write_locks(std::uint32_t number, const locks::LockRecord& record) {
  const std::string text = record.text();
  if (parent_ != nullptr) {
    parent_->send(fmt::format("{}\t{}\t{}", kWriteLocks, number, text));
    return;
  }
  const auto done = sys::write_record(lock_record_path(identity_.settings.state_dir), text);
  set_record_error(done ? "" : done.error());
  if (done) locks_written_ = number;
}

void Worker::write_membership(std::uint32_t number, const membership::Record& record) {
  const std::string& directory = identity_.settings.state_dir;
  const std::string text = membership_text(directory, identity_.host, record);
  if (parent_ != nullptr) {
    parent_->send(fmt::format("{}\t{}\t{}", kWriteMembership, number, text));
    return;
  }
  const auto done = daemon::write_membership(directory, identity_.host, std::nullopt, text);
  set_membership_error(done ? "" : done.error());
  if (done) membership_written_ = number;
}

void Worker::finish_writes() {
  if (const std::uint64_t done = writes_.finish(locks_written_, membership_written_); done != 0)
    host_.finish_write(done);
}

// --- networks ---

Transport::Handlers Worker::transport_handlers() {
  return {
      .message = [this](NodeId from,
                        const Host::Message& message) { host_.receive(from, message); },
      .diagnostic =
          [this](std::uint8_t network, NodeId from, const wire::DiagnosticBody& body) {
            receive_diagnostic(network, from, body);
          },
      .announcement = [this](
                          NodeId from,
                          const wire::AnnouncementBody& body) { announcer_.receive(from, body); },
      .incompatible =
          [this](const std::string& address, std::uint8_t revision) {
            if (auto warning = incompatible_peers_.receive(now(), address, revision))
              events_.emit("other-revision", *std::move(warning));
          },
      .refused = [this](const sys::Address& from,
                        wire::DropReason reason) { refused_peers_.refuse(now(), from, reason); },
      .accepted = [this](const sys::Address& from) { refused_peers_.accept(from); },
      .join = [this](std::uint8_t network, const sys::Address& from,
                     std::span<const std::byte> request) { receive_join(network, from, request); },
      .departed =
          [this](std::uint8_t network, const Links::Departed& departed) {
            command_node(
                Node::ClockCommand{.command = node::Departed{.peer = departed.host,
                                                             .exchange = departed.exchange,
                                                             .at = std::min(departed.at, now())},
                                   .network = network});
          }};
}

void Worker::update_networks(bool other_settings) {
  Links& links = transport_.links();
  const Links::Changes changes = links.rescan(identity_.settings, other_settings);
  for (const std::uint8_t network : changes.gone)
    events_.emit("network-down", fmt::format("{} is down", links.label(network)));
  for (const std::uint8_t network : changes.come) {
    events_.emit("network-up", fmt::format("{} is up", links.label(network)));
    join(network);
  }
}

void Worker::join(std::uint8_t network) {
  transport_.links().watch(network, [this](std::uint8_t there, bool departed) {
    if (departed) transport_.read_departures(there);
    transport_.receive(there);
  });
  command_node(Node::Join{network});
  set_leadership(network);
}

void Worker::set_leadership(std::uint8_t network) {
  const bool may = identity_.settings.may_lead && !duplicate_id_;
  command_node(Node::ElectionCommand{
      network, may ? election::Command::come_back : election::Command::stay_out});
}

// Two machines with the same id: neither leads.
void Worker::check_id() {
  const wire::Codec& codec = transport_.codec();
  if (!codec.id_taken() || duplicate_id_) return;
  duplicate_id_ = true;
  locks_.retire();
  events_.emit(
      "id-taken",
      fmt::format("another machine has the same id {} (from {}): this machine leads and votes no "
                  "more; give one of them another machine id and restart tempod",
                  id_text(codec, codec.self()), identity_.machine_id_from));
  for (std::uint8_t i = 0; i < transport_.links().count(); ++i) set_leadership(i);
}

// --- other members ---

void Worker::receive_diagnostic(std::uint8_t network, NodeId from,
                                const wire::DiagnosticBody& body) {
  remote_diagnosis_.receive(from, body);
  remote_queries_.receive(from, body);
  if (body.kind == wire::DiagnosticBody::Kind::query) return answer_query(from, body);
  reelect_.receive(network, from, body);
  if (body.kind != wire::DiagnosticBody::Kind::ask) return;
  for (const wire::DiagnosticBody& answer : remote_diagnosis_.answer(now(), body, findings()))
    transport_.send(network, from, answer);
}

void Worker::answer_query(NodeId from, const wire::DiagnosticBody& body) {
  const auto line = [this](ipc::Verb verb) -> Result<std::string> {
    const config::Settings& settings = identity_.settings;
    if (settings.remote_read == config::RemoteRead::off)
      return std::unexpected("it answers no questions of other machines: remote-read is \"off\"");
    if (settings.remote_read == config::RemoteRead::key && identity_.keys.accepts_unsealed())
      return std::unexpected(
          "it accepts datagrams without a key, so it answers no questions of other machines; use a "
          "key, or set remote-read = \"open\" there");
    if (!line_for_members_) return std::unexpected("it has no control server");
    return line_for_members_(verb);
  };
  for (const wire::DiagnosticBody& answer : remote_queries_.answer(now(), from, body, line))
    transport_.send(from, answer);
}

Result<std::uint32_t> Worker::ask_member(std::string_view host, ipc::Verb verb) {
  const wire::Codec& codec = transport_.codec();
  std::vector<NodeId> found;
  codec.directory().for_each([&](const wire::Directory::Host& known) {
    if (known.heard && (known.name.text() == host || id_text(codec, known.node) == host ||
                        transport_.links().address_of(known.node) == host))
      found.push_back(known.node);
  });
  if (host == identity_.name || host == id_text(codec, codec.self()))
    return std::unexpected(fmt::format("{} is this machine; ask without -H", host));
  if (found.empty())
    return std::unexpected(
        fmt::format("no member is named '{}'; 'tempo members' lists them", host));
  if (found.size() > 1)
    return std::unexpected(fmt::format(
        "more than one member is named '{}'; use its id (see 'tempo members --json')", host));
  const auto question = remote_queries_.ask(now(), found.front(), verb);
  if (!question)
    return std::unexpected(fmt::format("{} questions to other members are open; try again later",
                                       RemoteQueries::kMaxOpen));
  return *question;
}

Result<ipc::Invited> Worker::invite() {
  if (identity_.keys.empty())
    return std::unexpected(
        "this cluster has no key, so every machine on the network is a member already; introduce a "
        "key with 'tempo keygen --add'");
  const auto token = invitations_.invite(sys::boot_clock());
  if (!token)
    return std::unexpected(
        fmt::format("{} invitations are valid already; wait until one is used or expires",
                    auth::Invitations::kMax));
  const auth::AddressedToken invitation{
      .token = *token,
      .addresses = transport_.links().own_addresses(auth::AddressedToken::kMaxAddresses,
                                                    config::Settings{}.port)};
  return ipc::Invited{.token = auth::addressed_token_text(invitation),
                      .valid_s = static_cast<std::uint32_t>(auth::Invitations::kValidFor / 1s),
                      .cluster = identity_.settings.cluster,
                      .port = identity_.settings.port};
}

// Requests without a valid token have no answer; a counter shows them.
void Worker::receive_join(std::uint8_t network, const sys::Address& from,
                          std::span<const std::byte> request) {
  const auto joined = invitations_.receive(sys::boot_clock(), request,
                                           {.cluster = identity_.settings.cluster,
                                            .port = identity_.settings.port,
                                            .member = identity_.name,
                                            .keys = identity_.keys.lines()});
  if (!joined) return;
  transport_.links().send(network, from, joined->answer);
  if (joined->first)
    events_.emit("joined",
                 fmt::format("{} ({}) has used an invitation and has the keys of the cluster",
                             joined->name, from.text()));
}

void Worker::ask_members() {
  if (const auto question = remote_diagnosis_.ask(now())) transport_.broadcast(*question);
}

void Worker::ask_keys() {
  ask_members();
  transport_.ask_all();
}

bool Worker::members_answered() {
  const wire::Codec& codec = transport_.codec();
  std::size_t others = 0;
  codec.directory().for_each([&](const wire::Directory::Host& host) {
    others += host.heard && host.node != codec.self() ? 1U : 0U;
  });
  return remote_diagnosis_.over(now(), others);
}

std::vector<ipc::MemberFindings> Worker::member_findings() const {
  const wire::Codec& codec = transport_.codec();
  std::vector<ipc::MemberFindings> all;
  codec.directory().for_each([&](const wire::Directory::Host& host) {
    if (!host.heard || host.node == codec.self()) return;
    ipc::MemberFindings& member = all.emplace_back();
    member.name = transport_.name_of(host.node);
    member.id = id_text(codec, host.node);
    const std::optional<RemoteDiagnosis::Answer> answer = remote_diagnosis_.of(host.node);
    if (!answer) return;
    member.answered = true;
    member.missing = answer->missing;
    member.findings = answer->findings;
  });
  return all;
}

// --- the parent ---

// A message from the parent: new settings, or the confirmation of a write.
void Worker::receive_from_parent() {
  const std::string text = parent_->receive();
  const auto after = [&](std::string_view word) -> std::optional<std::string_view> {
    if (!text.starts_with(word)) return std::nullopt;
    return std::string_view(text).substr(word.size() + 1);
  };
  if (const auto error = after(kLocksNotWritten)) return set_record_error(std::string(*error));
  if (const auto error = after(kMembershipNotWritten))
    return set_membership_error(std::string(*error));
  if (const auto error = after(kDiskError)) {
    disk_error_ = *error;
    return;
  }
  if (const auto number = after(kLocksWritten)) {
    set_record_error("");
    locks_written_ = std::max(locks_written_, parse_number<std::uint32_t>(*number).value_or(0));
    return finish_writes();
  }
  if (const auto number = after(kMembershipWritten)) {
    set_membership_error("");
    membership_written_ =
        std::max(membership_written_, parse_number<std::uint32_t>(*number).value_or(0));
    return finish_writes();
  }
  if (!text.empty()) reload(text);
}

// Without a record this machine has no vote.
void Worker::set_membership_error(const std::string& error) {
  if (error != membership_error_ && !error.empty())
    log_error(
        fmt::format("no vote on the main part: cannot save the membership record: {}", error));
  if (error.empty() && !membership_error_.empty()) log_info("the membership record is saved again");
  membership_error_ = error;
}

// The write is repeated each second; the log has each error once.
void Worker::set_record_error(const std::string& error) {
  if (error != record_error_ && !error.empty())
    log_error(fmt::format("no locks: cannot save the lock record: {}", error));
  if (error.empty() && !record_error_.empty()) log_info("the lock record is saved again");
  record_error_ = error;
  locks_.set_record_error(error);
}

void Worker::reload(std::string_view text) {
  const auto message = parse_reload(text);
  if (!message) return log_error(fmt::format("reload: {}", message.error()));
  const std::uint8_t expected = identity_.settings.lock_expect;
  identity_.settings = changed(identity_.settings, message->settings);
  // Voters that are agreed stay; before that the number is part of the agreement.
  if (expected != identity_.settings.lock_expect && !locks_.health().agreed) {
    identity_.settings.lock_expect = expected;
    log_warning(fmt::format(
        "reload: locks.expect stays {}: the voters are not agreed yet; restart tempod", expected));
  }
  if (message->keys.lines() != identity_.keys.lines()) keys_since_ = now();
  identity_.keys = message->keys;
  transport_.codec().set_keys(identity_.keys);
  warn_of_keys();
  rules_.timing = identity_.settings.timing;
  sync_rules_ = sync_rules(identity_.settings);
  set_log_level(identity_.settings.log_level);
  for (std::uint8_t i = 0; i < transport_.links().count(); ++i) set_leadership(i);
  update_networks(true);
}

// One line with everything that decides what this daemon does.
void Worker::log_start() const {
  const config::Settings& settings = identity_.settings;
  std::string networks;
  for (std::uint8_t i = 0; i < transport_.links().count(); ++i)
    networks += (networks.empty() ? "" : ", ") + transport_.links().label(i);
  const std::string key =
      identity_.keys.empty() ? "no key" : "key " + auth::key_name_of(identity_.keys.sealing_id());
  log_info(fmt::format(
      "tempod {} starts: {}; name {}, cluster {}, profile {}, {}, networks {}, clock {}{}",
      kTempoVersion,
      identity_.configuration.empty() ? "no configuration file" : identity_.configuration,
      identity_.name, settings.cluster, settings.profile, key, networks.empty() ? "none" : networks,
      clock_name(settings.clock),
      settings.lock_expect == 0 ? "" : fmt::format(", {} voters", settings.lock_expect)));
}

void Worker::warn_of_keys() const {
  if (const std::string warning = key_warning(identity_.keys); !warning.empty())
    log_warning(warning);
}

// --- the loop ---

int Worker::run() {
  Links& links = transport_.links();
  for (const int signal : {SIGTERM, SIGINT}) loop_.on_signal(signal, [this] { stop(); });
  loop_.on_signal(SIGHUP, [] {});  // for the parent, which sends new settings
  if (parent_ != nullptr)
    loop_.watch(parent_->descriptor(), POLLIN, [this](short ready) {
      // Without a parent nothing would restart this worker.
      if ((ready & POLLHUP) != 0) return stop();
      receive_from_parent();
    });
  links.watch_interfaces([this] { update_networks(); });
  if (identity_.settings.lock_back_end == config::LockBackEnd::etcd)
    locks_.use_etcd(loop_, identity_.settings.etcd_socket, identity_.host);
  host_.start();
  for (std::uint8_t i = 0; i < links.count(); ++i) join(i);
  log_start();
  warn_of_keys();
  describe_self();
  announcer_.start();
  notifier_.ready("looking for a master");

  while (!stopping_) {
    const sys::Loop::Round round =
        loop_.wait(std::min({host_.deadline(), next_housekeeping_, reelect_.next(),
                             announcer_.deadline(), remote_queries_.next()}));
    if (round.suspended > Nanos{0}) {
      stop_after_suspension(round.suspended);
      return kSuspended;
    }
    if (round.stalled > Nanos{0}) ++stalls_;
    // Received datagrams come before timers, also after a stall.
    if (round.due || round.stalled > Nanos{0})
      for (std::uint8_t i = 0; i < links.count(); ++i) transport_.receive(i);
    host_.wake();
    reelect_.send_due();
    announcer_.wake();
    for (const RemoteQueries::Question& question : remote_queries_.due(now()))
      transport_.send(question.to, question.body);
    check_id();
    if (now() >= next_housekeeping_) housekeeping();
    if (each_round_) each_round_();
  }
  stop_cleanly();
  return begins_again_ ? kBeginsAgain : 0;
}

void Worker::housekeeping() {
  next_housekeeping_ = now() + kHousekeeping;
  // A timestamp that the kernel never delivers wakes no descriptor.
  for (std::uint8_t i = 0; i < transport_.links().count(); ++i)
    if (transport_.links().awaits(i)) transport_.read_departures(i);
  update_networks();
  if (begins_again_) stop();
  clock_.each_second();
  host_.repeat_write();  // the message to the parent may have been lost
  locks_.each_second();
  describe_self();
  note_losses();
  notifier_.alive();
}

// Datagrams that the kernel did not send since the last call.
void Worker::note_losses() {
  const sys::Losses losses = transport_.links().losses();
  for (const auto& [error, count] : losses.unsent) {
    const auto before = losses_.unsent.find(error);
    const std::uint64_t more = count - (before == losses_.unsent.end() ? 0 : before->second);
    if (more == 0) continue;
    const char* const name = strerrorname_np(error);
    send_error_ = fmt::format("{} ({}): {} datagrams in the last second",
                              name == nullptr ? "unknown" : name, std::strerror(error), more);
    send_failed_ = now();
  }
  losses_ = losses;
}

// For the next announcement.
void Worker::describe_self() {
  const node::Reading reading = this->reading();
  const bool known = reading.status != node::Reading::Status::unsynchronized;
  const Node& node = host_.machine().node();
  bool leads = false;
  for (std::uint8_t i = 0; i < transport_.links().count(); ++i) {
    const election::MasterElection* election = node.network(i);
    leads = leads || (election != nullptr && election->state() == election::State::master);
  }
  announcer_.describe(started_, {.status = node::name_of(reading.status),
                                 .offset = node.sync().error(now()).value_or(Nanos{0}),
                                 .bound = known ? reading.bound() : Nanos{0},
                                 .leads = leads});
}

void Worker::stop_cleanly() {
  notifier_.stopping();
  clock_.stop_publishing();
  for (std::uint8_t i = 0; i < transport_.links().count(); ++i)
    command_node(Node::ElectionCommand{i, election::Command::stop});
  host_.command(Host::Views::Command{membership::Stop{}});
  announcer_.stop();
  clock_.save_rate();
  log_info("stopped");
}

// No resignation is sent: it would carry the time of a wrong clock. The rate is still valid.
void Worker::stop_after_suspension(Nanos span) {
  clock_.stop_publishing();
  events_.emit("slept",
               fmt::format("suspended for {}; rejoining as a new member",
                           span_text(std::chrono::round<std::chrono::milliseconds>(span))));
  clock_.save_rate();
}

// --- for the control server ---

Result<void> Worker::set_time(Nanos by) {
  const node::Reading::Status status = reading().status;
  if (!node::in_main_part(status) && status != node::Reading::Status::alone)
    return std::unexpected("this machine has no network time yet; wait with 'tempo wait-sync'");
  command_node(Node::ClockCommand{node::SetNetworkTime{by}});
  return {};
}

Result<void> Worker::begin_locks_again(std::uint64_t above) {
  if (auto possible = locks_.may_begin_again(); !possible) return possible;
  if (parent_ != nullptr && !parent_->send(fmt::format("{}\t{}", kBeginLocksAgain, above)))
    return std::unexpected("the parent process of tempod takes no orders now; try again");
  if (parent_ != nullptr) {
    // It writes the record before it starts the next worker.
  } else if (auto fresh =
                 begin_lock_record_again(identity_.settings.state_dir, identity_.host, above);
             !fresh)
    return std::unexpected(fresh.error());
  begins_again_ = true;
  events_.emit("locks-begin-again",
               "an operator begins the lock record again: this machine forgets the voters and "
               "agrees on new ones");
  return {};
}

obs::Snapshot Worker::snapshot() {
  return make_snapshot({.identity = &identity_,
                        .codec = &transport_.codec(),
                        .node = &host_.machine().node(),
                        .agreed = &host_.machine().views().view(),
                        .links = &transport_.links(),
                        .announcements = &announcer_.machine(),
                        .now = now(),
                        .started = started_,
                        .keys_since = keys_since_,
                        .duplicate_id = duplicate_id_,
                        .clock_error = clock_.error(),
                        .utc_warnings = clock_.warnings(),
                        .disk_error = disk_error_,
                        .incompatible_peer = incompatible_peers_.about(now()),
                        .unsent = transport_.unsent(),
                        .stalls = stalls_,
                        .reelect_honoured = reelect_.limiter().honoured(),
                        .reelect_refused = reelect_.limiter().refused(),
                        .joined = invitations_.joined(),
                        .joins_refused = invitations_.refused(),
                        .lock_counts = locks_.counts(),
                        .events = events_.counts(),
                        .locks = locks_.configured() ? locks_.status() : "",
                        .lock_warnings = locks_.warnings(),
                        .groups = groups_.known()});
}

std::vector<ipc::Finding> Worker::findings() {
  constexpr Nanos kRecent = 10s;
  Observations seen{.shot = snapshot(),
                    .locks = locks_.health(),
                    .key_warning = key_warning(identity_.keys),
                    .clock_error = clock_.error(),
                    .incompatible_peer = incompatible_peers_.about(now()),
                    .crowding = crowding_warning(transport_.codec().directory(), now()),
                    .network_error = transport_.links().errors(),
                    .disk_error = disk_error_,
                    .duplicate_id = duplicate_id_};
  if (!send_error_.empty() && now() - send_failed_ <= kRecent) seen.send_error = send_error_;
  for (const RefusedPeers::Entry& entry : refused_peers_.entries(now()))
    seen.refused.push_back(
        {.address = entry.address.text(),
         .reason = std::string(wire::name_of(entry.reason)),
         .for_s = std::chrono::duration<double>(entry.last - entry.first).count(),
         .count = entry.count});
  return findings_in(seen);
}

}  // namespace tempo::daemon
