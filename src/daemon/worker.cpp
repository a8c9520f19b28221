#include "daemon/worker.h"

#include <algorithm>
#include <csignal>
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

namespace tempo::daemon {
namespace {

using host::Host;
using node::Node;

constexpr Nanos kHousekeeping = 1s;  // interval of housekeeping

node::SyncRules sync_rules(const config::Settings& settings) {
  return {
      .interval = settings.timing.adjtime, .step_limit = settings.step_limit, .follow_ups = true};
}

// The rules must outlive the host.
Host make_host(const DaemonIdentity& identity, const election::Rules& rules,
               const node::SyncRules& sync_rules, Transport& transport, Instruments& instruments) {
  const config::Settings& settings = identity.settings;
  wire::Codec& codec = transport.codec();
  Node node({.self = codec.self(),
             .incarnation = identity.incarnation,
             // The setting may-lead follows as a command, because a reload can change it.
             .priority = election::Priority{settings.priority}},
            0, rules,
            {.now = instruments.oscillator->now(),
             .shows = instruments.clock->read(),
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
  return {std::move(node), std::move(locks), std::move(groups)};
}

void log_main_part(const membership::Notice& notice) {
  using Kind = membership::Notice::Kind;
  if (notice.kind == Kind::main) log_info("main part: this master has a majority of the members");
  if (notice.kind == Kind::not_main)
    log_warning("main part: this master no longer has a majority of the members");
  if (notice.kind == Kind::dissolved)
    log_info("main part: this machine is a newcomer and joins the members of its master");
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
      host_(make_host(identity_, rules_, sync_rules_, transport_, instruments_),
            HostClock{instruments_.oscillator.get()}, draw_, host_hooks()),
      main_part_({.identity = &identity_,
                  .transport = &transport_,
                  .draw = &draw_,
                  .parent = parent,
                  .on_notice = [](const membership::Notice& notice) { log_main_part(notice); }}),
      events_([this] { return reading().time; }, parent),
      clock_({.identity = &identity_,
              .instruments = &instruments_,
              .loop = &loop_,
              .host = &host_,
              .main_part = &main_part_,
              .events = &events_,
              .parent = parent}),
      elections_({.transport = &transport_, .events = &events_}),
      locks_(
          {.identity = &identity_, .transport = &transport_, .host = &host_, .events = &events_}),
      groups_({.transport = &transport_,
               .host = &host_,
               .events = &events_,
               .why_none = [this] { return locks_.status(); }}),
      reelect_({.transport = &transport_, .host = &host_, .events = &events_}),
      announcer_({.identity = &identity_,
                  .transport = &transport_,
                  .oscillator = instruments_.oscillator.get(),
                  .draw = &draw_}),
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
                          const locks::LockRecord& record) { write_record(number, record); },
          .stepped = [this] { elections_.report_states(now(), host_.machine().node()); }};
}

void Worker::on_notice(const Host::Notice& notice) {
  const auto of_node =
      Overloaded{[this](const Node::ClockNotice& one) { clock_.on_notice(one.notice); },
                 [this](const auto& one) { elections_.on_notice(one); }};
  const auto of_groups =
      Overloaded{[this](const Host::Groups::Acquire& acquire) { locks_.on_notice(acquire); },
                 [this](const Host::Groups::Release& release) { locks_.on_notice(release); },
                 [this](const auto& one) { groups_.on_notice(one); }};
  std::visit(Overloaded{[&](const Node::Notice& one) { std::visit(of_node, one); },
                        [&](const Host::Locks::Notice& one) { locks_.on_notice(one); },
                        [&](const Host::Groups::Notice& one) { std::visit(of_groups, one); }},
             notice);
}

void Worker::write_record(std::uint64_t number, const locks::LockRecord& record) {
  const std::string text = record.text();
  if (parent_ != nullptr) {
    parent_->send(fmt::format("{}\t{}\t{}", kWriteLocks, number, text));
    return;
  }
  const auto done = sys::write_record(lock_record_path(identity_.settings.state_dir), text);
  if (!done)
    return log_error(fmt::format("no locks: cannot save the lock record: {}", done.error()));
  host_.finish_write(number);
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
      .membership = [this](NodeId from,
                           const wire::MembershipBody& body) { main_part_.receive(from, body); },
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
  events_.emit(
      "id-taken",
      fmt::format("another machine has the same id {} (from {}): this machine will not lead; give "
                  "one of them another machine id and restart tempod",
                  id_text(codec, codec.self()), identity_.machine_id_from));
  for (std::uint8_t i = 0; i < transport_.links().count(); ++i) set_leadership(i);
}

// --- other members ---

void Worker::receive_diagnostic(std::uint8_t network, NodeId from,
                                const wire::DiagnosticBody& body) {
  remote_diagnosis_.receive(from, body);
  reelect_.receive(network, from, body);
  if (body.kind != wire::DiagnosticBody::Kind::ask) return;
  for (const wire::DiagnosticBody& answer :
       remote_diagnosis_.answer(now(), body, findings_in(snapshot())))
    transport_.send(network, from, answer);
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
  return ipc::Invited{.token = auth::token_text(*token),
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
  const auto number_after = [&](std::string_view word) {
    const bool starts = text.starts_with(word) && text.size() > word.size();
    return starts ? parse_number<std::uint64_t>(std::string_view(text).substr(word.size() + 1))
                  : std::nullopt;
  };
  if (text.starts_with(kLocksWritten)) {
    if (const auto written = number_after(kLocksWritten)) host_.finish_write(*written);
  } else if (text.starts_with(kMembershipWritten)) {
    if (const auto written = number_after(kMembershipWritten)) main_part_.finish_write(*written);
  } else if (!text.empty()) {
    reload(text);
  }
}

void Worker::reload(std::string_view text) {
  const auto message = parse_reload(text);
  if (!message) return log_error(fmt::format("reload: {}", message.error()));
  identity_.settings = changed(identity_.settings, message->settings);
  if (message->keys.lines() != identity_.keys.lines()) keys_since_ = now();
  identity_.keys = message->keys;
  transport_.codec().set_keys(identity_.keys);
  warn_of_keys();
  sync_rules_ = sync_rules(identity_.settings);
  set_log_level(identity_.settings.log_level);
  for (std::uint8_t i = 0; i < transport_.links().count(); ++i) set_leadership(i);
  update_networks(true);
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
  warn_of_keys();
  main_part_.start();
  describe_self();
  announcer_.start();
  notifier_.ready("looking for a master");

  while (!stopping_) {
    const sys::Loop::Round round =
        loop_.wait(std::min({host_.deadline(), next_housekeeping_, reelect_.next(),
                             announcer_.deadline(), now() + main_part_.next()}));
    if (round.suspended > Nanos{0}) {
      stop_after_suspension(round.suspended);
      return kSuspended;
    }
    if (round.stalled > Nanos{0}) ++stalls_;
    // Received datagrams come before timers, also after a stall.
    if (round.due || round.stalled > Nanos{0})
      for (std::uint8_t i = 0; i < links.count(); ++i) transport_.receive(i);
    host_.wake();
    main_part_.follow(host_.machine().node().sync());
    main_part_.wake();
    reelect_.send_due();
    announcer_.wake();
    if (now() >= next_housekeeping_) housekeeping();
    if (each_round_) each_round_();
  }
  stop_cleanly();
  return 0;
}

void Worker::housekeeping() {
  next_housekeeping_ = now() + kHousekeeping;
  // A timestamp that the kernel never delivers wakes no descriptor.
  for (std::uint8_t i = 0; i < transport_.links().count(); ++i)
    if (transport_.links().awaits(i)) transport_.read_departures(i);
  update_networks();
  check_id();
  clock_.each_second();
  host_.repeat_write();  // the message to the parent may have been lost
  main_part_.repeat_write();
  locks_.each_second();
  describe_self();
  notifier_.alive();
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
  announcer_.stop();
  main_part_.stop();
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

obs::Snapshot Worker::snapshot() {
  return make_snapshot({.identity = &identity_,
                        .codec = &transport_.codec(),
                        .node = &host_.machine().node(),
                        .links = &transport_.links(),
                        .main_part = &main_part_,
                        .announcements = &announcer_.machine(),
                        .now = now(),
                        .started = started_,
                        .keys_since = keys_since_,
                        .duplicate_id = duplicate_id_,
                        .clock_error = clock_.error(),
                        .incompatible_peer = incompatible_peers_.about(now()),
                        .unsent = transport_.unsent(),
                        .stalls = stalls_,
                        .reelect_honoured = reelect_.limiter().honoured(),
                        .reelect_refused = reelect_.limiter().refused(),
                        .joined = invitations_.joined(),
                        .joins_refused = invitations_.refused(),
                        .locks = locks_.configured() ? locks_.status() : "",
                        .groups = groups_.known()});
}

}  // namespace tempo::daemon
