#include "services/vip/service.h"

#include <algorithm>
#include <cerrno>
#include <list>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "platform/clocks/boot_clock.h"
#include "platform/notify.h"
#include "platform/unix_address.h"
#include "platform/unix_socket.h"
#include "services/vip/gate.h"
#include "services/vip/holder.h"
#include "services/vip/interface_addresses.h"
#include "services/vip/neighbour_socket.h"
#include "services/vip/status.h"
#include "tempo/election.h"

namespace tempo::vip {
namespace {

constexpr Nanos kLongestWait{250ms};  // limits the delay of a signal that arrives before the wait
constexpr Nanos kStandAgain{50ms};
constexpr Nanos kStandTimeout{300ms};
constexpr Nanos kNoticeableSleep{5ms};
constexpr int kMaxSteps = 64;  // of one machine without a wait
constexpr std::size_t kMaxClients = 32;

class NoDraw final : public Draw {
  std::uint64_t below(std::uint64_t) override { return 0; }
};

// Time that the machine was suspended since it started; unset: this process was interrupted between
// the readings.
std::optional<Nanos> suspended_so_far() {
  const BootTime before = sys::boot_clock();
  timespec monotonic{};
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  if (sys::boot_clock() - before > kNoticeableSleep / 2) return std::nullopt;
  return before.time_since_epoch() - sys::nanos_of(monotonic);
}

class Group {
 public:
  Group(const GroupOptions& options, const Service::Options& all, NetlinkSocket& netfilter,
        InterfaceAddresses& interfaces, const NeighbourSocket& neighbours)
      : options_(options),
        tempod_(all.tempod),
        gate_(netfilter, options.group, options.interface, options.addresses),
        interfaces_(&interfaces),
        neighbours_(&neighbours),
        holder_({.announcements = options.announcements}) {}

  const GroupOptions& options() const { return options_; }

  void start() {
    if (!options_.check.empty()) avoid(Reason::unfit, true);
    look_at_interface();
    step([](Holder& holder, Turn<Holder>& turn) { holder.start(turn); });
  }

  // What tempod has sent, and the time.
  void work() {
    if (election_) {
      const auto alive = election_->dispatch();
      if (election_ && election_->term() != 0 && election_->deadline() != deadline_)
        lead(election_->deadline());
      if (!alive) lose_tempod(alive.error().message);
    }
    while (!arrived_.empty()) {
      const Holder::Command next = arrived_.front();
      arrived_.erase(arrived_.begin());
      command(next);
    }
    for (int i = 0; i < kMaxSteps && holder_.timers().first() <= sys::boot_clock(); ++i)
      step([](Holder& holder, Turn<Holder>& turn) {
        holder.on_timer(turn, holder.timers().first_name());
      });
    if (wants_to_stand_ && sys::boot_clock() >= stand_at_) stand();
  }

  BootTime next() const {
    const BootTime first = holder_.timers().first();
    return wants_to_stand_ ? std::min(first, stand_at_) : first;
  }
  std::optional<int> descriptor() const {
    return election_ ? std::optional(election_->descriptor()) : std::nullopt;
  }

  void avoid(Reason reason, bool on) {
    command({.kind = Holder::Command::Kind::avoid, .reason = reason, .on = on});
  }

  void look_at_interface() {
    const auto found = interfaces_->find(options_.interface);
    if (found && interface_ && found->index != interface_->index)
      avoid(Reason::link_down, true);  // another interface of the same name
    interface_ = found;
    avoid(Reason::link_down, !found || !found->up);
  }

  void on_claim(int interface, const Claim& claim) {
    if (!interface_ || interface != interface_->index) return;
    for (const AddressPrefix& one : options_.addresses) {
      if (one.family != claim.address.family || one.bytes != claim.address.bytes) continue;
      if (holder_.state() == State::follow || holder_.state() == State::away) return;
      const auto own = interfaces_->own_macs();
      if (std::ranges::find(own, claim.mac) != own.end()) return;
      used_by_ = fmt::format("{} is used by {}", one.text(), mac_text(claim.mac));
      command({.kind = Holder::Command::Kind::claimed});
    }
  }

  GroupStatus status() const {
    const BootTime now = sys::boot_clock();
    GroupStatus status{.group = options_.group,
                       .interface = options_.interface,
                       .addresses = {},
                       .state = std::string(name_of(holder_.state())),
                       .leader = leader_,
                       .term = election_ ? election_->term() : 0,
                       .since = now - since_,
                       .reason = reason(),
                       .tempod = election_.has_value(),
                       .closes_in = std::max(holder_.open_until() - now, Nanos{0}),
                       .gate = gate_.text()};
    for (const AddressPrefix& one : options_.addresses)
      status.addresses.push_back(one.text_with_prefix());
    return status;
  }

 private:
  std::string reason() const {
    const Reason first = holder_.reason();
    if (holder_.state() != State::away || first == Reason::none) return election_ ? "" : error_;
    if (first == Reason::in_use && !used_by_.empty()) return used_by_;
    if (first == Reason::failed && !error_.empty()) return error_;
    return std::string(sentence_of(first));
  }

  // --- the machine ---

  template <class Do>
  void step(Do todo) {
    Outbox<Holder> out;
    NoDraw draw;
    const State before = holder_.state();
    // The driver of this machine.
    drive(todo, draw, out);
    CHECK(holder_.check() == nullptr);
    for (const Output<Holder>& output : out) notices_.push_back(output.notice);
    if (holder_.state() != before) report(before);
    if (std::exchange(carrying_out_, true)) return;
    for (int i = 0; i < kMaxSteps && !notices_.empty(); ++i) {
      const Holder::Notice notice = notices_.front();
      notices_.erase(notices_.begin());
      carry_out(notice);
    }
    carrying_out_ = false;
  }
  template <class Do>
  void drive(Do todo, Draw& draw, Outbox<Holder>& out) {
    Turn<Holder> turn{sys::boot_clock(), draw, out};
    todo(holder_, turn);
  }

  void command(const Holder::Command& command) {
    step([&](Holder& holder, Turn<Holder>& turn) { holder.command(turn, command); });
  }

  void fail(const std::string& error) {
    error_ = error;
    log(error);
    avoid(Reason::failed, true);
  }

  void carry_out(const Holder::Notice& notice) {
    using Kind = Holder::Notice::Kind;
    using Answer = Holder::Command::Kind;
    switch (notice.kind) {
      case Kind::set_up:
        if (const auto done = set_up(); done)
          command({.kind = Answer::prepared});
        else
          fail(done.error());
        break;
      case Kind::probe:
        for (const AddressPrefix& one : options_.addresses)
          if (interface_) neighbours_->send(interface_->index, one, probe(one, interface_->mac));
        break;
      case Kind::arm:
        if (const auto done = gate_.arm(notice.slot, notice.span); done)
          command({.kind = Answer::armed,
                   .until = sys::boot_clock() + notice.span,
                   .slot = notice.slot});
        else
          lose_rules(done.error());
        break;
      case Kind::grant:
        if (const auto done = gate_.grant(notice.slot); done)
          command({.kind = Answer::granted, .slot = notice.slot});
        else
          lose_rules(done.error());
        break;
      case Kind::announce:
        for (const AddressPrefix& one : options_.addresses)
          if (interface_)
            neighbours_->send(interface_->index, one, announcement(one, interface_->mac));
        break;
      case Kind::renew:
        for (const AddressPrefix& one : options_.addresses)
          if (const auto done = put(one); !done) return fail(done.error());
        break;
      case Kind::verify:
        if (!gate_.intact()) lose_rules("rules are missing");
        break;
      case Kind::remove:
        remove();
        break;
      case Kind::confirm:
        if (election_) election_->confirm_stopped();
        break;
      case Kind::withdraw:
        if (election_) election_->withdraw();
        election_.reset();
        wants_to_stand_ = false;
        break;
      case Kind::stand:
        wants_to_stand_ = true;
        stand_at_ = sys::boot_clock();
        break;
    }
  }

  void lose_rules(const std::string& error) {
    log(fmt::format("{}: {}", sentence_of(Reason::rules_gone), error));
    avoid(Reason::rules_gone, true);
  }

  Result<void> put(const AddressPrefix& address) {
    if (!interface_) return std::unexpected("there is no interface " + options_.interface);
    return interfaces_->put(interface_->index, address);
  }

  Result<void> set_up() {
    for (const AddressPrefix& one : options_.addresses)
      if (interfaces_->foreign(one))
        return std::unexpected(fmt::format(
            "this machine already has {} by another way; remove it, for example with 'ip address "
            "del {} dev {}'",
            one.text(), one.text_with_prefix(), options_.interface));
    if (auto made = gate_.create(); !made) return made;
    gate_exists_ = true;
    for (const AddressPrefix& one : options_.addresses)
      if (auto done = put(one); !done) return done;
    return {};
  }

  // The gate lives as long as the addresses.
  void remove() {
    if (!gate_exists_) return;
    (void)gate_.close();
    bool gone = true;
    for (const AddressPrefix& one : options_.addresses) {
      if (!interface_) continue;
      const auto removed = interfaces_->remove(interface_->index, one);
      if (!removed) log(removed.error());
      gone = gone && removed;
    }
    if (!gone) return;
    gate_.remove();
    gate_exists_ = false;
  }

  // --- tempod ---

  void stand() {
    wants_to_stand_ = false;
    CandidateOptions candidate{
        .capacity = options_.weight, .criterion = "weight", .min_stay = options_.min_stay};
    candidate.keeps_lease = true;
    auto stood = Election::stand(options_.group, candidate, tempod_, kStandTimeout);
    if (!stood) return lose_tempod(stood.error().message);
    error_.clear();
    election_.emplace(*std::move(stood));
    deadline_ = {};
    election_->require_stop_confirmation();
    election_->on_lead([this](std::uint64_t) { lead(election_->deadline()); });
    election_->on_stop([this] { arrived_.push_back({.kind = Holder::Command::Kind::must_stop}); });
    election_->on_follow([this](const std::string& leader) { leader_ = leader; });
  }

  void lead(Nanos deadline) {
    deadline_ = deadline;
    arrived_.push_back({.kind = Holder::Command::Kind::lead, .until = BootTime{deadline}});
  }

  // What is open stays open until its time is over.
  void lose_tempod(const std::string& error) {
    if (error != error_) log(error);
    error_ = error;
    leader_.clear();
    election_.reset();
    wants_to_stand_ = true;
    stand_at_ = sys::boot_clock() + kStandAgain;
  }

  // --- reports ---

  void log(const std::string& sentence) const {
    fmt::print(stderr, "tempo-vip: {}: {}\n", options_.group, sentence);
  }

  void report(State before) {
    since_ = sys::boot_clock();
    const State state = holder_.state();
    const bool held = before == State::hold;
    if (state == State::hold)
      log(fmt::format("this machine has {} (term {})", addresses_text(),
                      election_ ? election_->term() : 0));
    else if (state == State::away)
      log(fmt::format("{}; {}", holder_.reason() == Reason::none ? "stopped" : reason(),
                      held ? "gave the addresses up" : "not a candidate"));
    else if (state == State::lapsed)
      log("the lease was not extended in time; the kernel closed the addresses");
    else if (held)
      log("gave the addresses up for another machine");
  }

  std::string addresses_text() const {
    std::string text;
    for (const AddressPrefix& one : options_.addresses)
      text += (text.empty() ? "" : ", ") + one.text_with_prefix();
    return text;
  }

  GroupOptions options_;
  std::string tempod_;
  Gate gate_;
  InterfaceAddresses* interfaces_;
  const NeighbourSocket* neighbours_;
  Holder holder_;
  std::vector<Holder::Notice> notices_;   // not carried out yet
  std::vector<Holder::Command> arrived_;  // from tempod, not given to the machine yet
  bool carrying_out_ = false;
  bool gate_exists_ = false;
  std::optional<InterfaceAddresses::Interface> interface_;
  std::optional<Election> election_;
  Nanos deadline_{0};  // of the lease, as last given to the machine
  bool wants_to_stand_ = false;
  BootTime stand_at_{};
  BootTime since_ = sys::boot_clock();  // of the state
  std::string leader_;
  std::string used_by_;
  std::string error_;  // of the last attempt
};

class ServiceImpl final : public Service {
 public:
  ServiceImpl(NetlinkSocket netfilter, InterfaceAddresses interfaces, NeighbourSocket neighbours,
              sys::Descriptor listener)
      : netfilter_(std::move(netfilter)),
        interfaces_(std::move(interfaces)),
        neighbours_(std::move(neighbours)),
        listener_(std::move(listener)) {}

  // Addresses before gates: a gate without its address hurts nobody.
  Result<void> clean_up(const Options& options) {
    for (const GroupOptions& group : options.groups) {
      const auto interface = interfaces_.find(group.interface);
      for (const AddressPrefix& one : group.addresses)
        if (interface && !interfaces_.foreign(one))
          if (auto removed = interfaces_.remove(interface->index, one); !removed) return removed;
    }
    if (auto removed = interfaces_.remove_marked(); !removed)
      return std::unexpected(removed.error());
    return remove_gates(netfilter_);
  }

  Result<void> add_groups(const Options& options) {
    std::vector<CheckRunner::Check> checks;
    for (const GroupOptions& group : options.groups) {
      groups_.push_back(
          std::make_unique<Group>(group, options, netfilter_, interfaces_, neighbours_));
      if (group.check.empty()) continue;
      checked_.push_back(groups_.back().get());
      checks.push_back({.command = group.check, .interval = group.check_interval});
    }
    TRY(runner, CheckRunner::start(std::move(checks), options.user));
    checks_ = std::move(runner);
    return {};
  }

  void run(const volatile int& stop) override {
    for (const auto& group : groups_) group->start();
    sys::Notifier notifier = sys::Notifier::from_environment();
    notifier.ready(fmt::format("{} groups", groups_.size()));
    slept_ = suspended_so_far().value_or(Nanos::max());
    while (stop == 0) {
      notifier.alive();
      for (const auto& group : groups_) group->work();
      wait();
      look_for_suspension();
      serve();
    }
    notifier.stopping();
    for (const auto& group : groups_) group->avoid(Reason::suspended, true);
  }

 private:
  void wait() {
    std::vector<pollfd> ends;
    const auto watch = [&ends](int descriptor) {
      if (descriptor >= 0) ends.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    };
    const BootTime now = sys::boot_clock();
    BootTime next = now + kLongestWait;
    for (const auto& group : groups_) {
      next = std::min(next, group->next());
      if (const auto descriptor = group->descriptor()) watch(*descriptor);
    }
    watch(interfaces_.watch());
    for (const int descriptor : neighbours_.descriptors()) watch(descriptor);
    watch(listener_.number());
    watch(checks_.descriptor());
    for (sys::LineConnection& client : clients_)
      ends.push_back({.fd = client.descriptor(), .events = client.events(), .revents = 0});
    const Nanos span = std::max(next - now, Nanos{0});
    const timespec limit{.tv_sec = span / 1s, .tv_nsec = (span % 1s).count()};
    ::ppoll(ends.data(), ends.size(), &limit, nullptr);
  }

  // The kernel's timeouts do not count the time of a suspension: what is open now may be another
  // machine's.
  void look_for_suspension() {
    const auto slept = suspended_so_far();
    if (!slept || *slept - std::exchange(slept_, *slept) < kNoticeableSleep) return;
    for (const auto& group : groups_) {
      group->avoid(Reason::suspended, true);
      if (!suspended_) group->avoid(Reason::suspended, false);
    }
  }

  void serve() {
    pollfd changed{.fd = interfaces_.watch(), .events = POLLIN, .revents = 0};
    if (poll(&changed, 1, 0) > 0) {
      interfaces_.drain();
      for (const auto& group : groups_) group->look_at_interface();
    }
    neighbours_.receive([this](int interface, const Claim& claim) {
      for (const auto& group : groups_) group->on_claim(interface, claim);
    });
    if (checks_.descriptor() >= 0 && !checks_.take([this](std::size_t number, bool passed) {
          if (number < checked_.size()) checked_[number]->avoid(Reason::unfit, !passed);
        })) {
      fmt::print(stderr, "tempo-vip: the process that runs the checks has died\n");
      checks_ = {};
      for (Group* const group : checked_) group->avoid(Reason::unfit, true);
    }
    accept_clients();
    for (auto client = clients_.begin(); client != clients_.end();) {
      const auto current = client++;
      current->flush();
      while (const auto line = current->line()) current->write(answer(*current, *line));
      if (current->broken() || (current->finished() && current->queued() == 0))
        clients_.erase(current);
    }
  }

  void accept_clients() {
    for (;;) {
      sys::Descriptor accepted{
          ::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
      if (accepted.none()) return;
      if (clients_.size() < kMaxClients) clients_.emplace_back(std::move(accepted));
    }
  }

  std::string answer(const sys::LineConnection& client, const std::string& line) {
    const auto request = request_in(line);
    if (!request) return error_line(request.error());
    const auto peer = client.peer();
    const bool may = peer && (peer->user == 0 || peer->user == ::geteuid());
    if (*request == Request::status) {
      std::vector<GroupStatus> all;
      for (const auto& group : groups_) all.push_back(group->status());
      return status_line(all);
    }
    if (!may) return error_line("permission denied: this requires root; use sudo");
    suspended_ = *request == Request::suspend;
    for (const auto& group : groups_) group->avoid(Reason::suspended, suspended_);
    return done_line();
  }

  NetlinkSocket netfilter_;
  InterfaceAddresses interfaces_;
  NeighbourSocket neighbours_;
  sys::Descriptor listener_;
  std::list<sys::LineConnection> clients_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<Group*> checked_;  // by number of the check
  CheckRunner checks_;
  bool suspended_ = false;
  Nanos slept_{0};
};

Result<sys::Descriptor> listen_on_abstract(const char* path) {
  TRY(address, sys::unix_address(path));
  TRY(socket, sys::plain_socket(AF_UNIX, SOCK_STREAM, 0));
  if (bind(socket.number(), address.generic(), address.size) != 0)
    return errno == EADDRINUSE
               ? std::unexpected<std::string>(
                     "another tempo-vip runs in this network namespace; stop it, or add the "
                     "address to its configuration as another [[vip]]")
               : sys::failure("open the socket for 'tempo vip status'");
  if (listen(socket.number(), static_cast<int>(kMaxClients)) != 0)
    return sys::failure("listen for 'tempo vip status'");
  return socket;
}

}  // namespace

Result<std::unique_ptr<Service>> Service::open(const Options& options) {
  TRY(listener, listen_on_abstract(kSocket));
  TRY(netfilter, NetlinkSocket::open(NETLINK_NETFILTER));
  TRY(interfaces, InterfaceAddresses::open());
  TRY(neighbours, NeighbourSocket::open());
  auto service = std::make_unique<ServiceImpl>(std::move(netfilter), std::move(interfaces),
                                               std::move(neighbours), std::move(listener));
  if (auto clean = service->clean_up(options); !clean) return std::unexpected(clean.error());
  if (auto added = service->add_groups(options); !added) return std::unexpected(added.error());
  return service;
}

}  // namespace tempo::vip
