#include "daemon/control/findings.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "api/finding_codes.h"
#include "api/key_report.h"

namespace tempo::daemon {
namespace {

using ipc::Finding;
using ipc::FindingCode;
using obs::MemberView;

constexpr double kLongKeyChange_s = 3600;  // a key change that takes longer is forgotten
constexpr double kStarting_s = 15;         // a daemon that started just now may still find others
constexpr double kMeeting_s = 5;           // two daemons that run for this long know each other
constexpr std::size_t kMaxNames = 5;       // in one sentence

struct Text {
  std::string what{};
  std::string evidence{};
  std::string cure{};
};
Finding finding(std::string_view level, FindingCode code, Text text) {
  return {.level = std::string(level),
          .what = std::move(text.what),
          .cure = std::move(text.cure),
          .code = std::string(name_of(code)),
          .evidence = std::move(text.evidence)};
}
Finding problem(FindingCode code, Text text) { return finding("problem", code, std::move(text)); }
Finding note(FindingCode code, Text text) { return finding("note", code, std::move(text)); }

// "bow, stern and 3 more".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  const std::size_t shown = std::min(names.size(), kMaxNames);
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == names.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + names[i];
  }
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}
std::string plural(std::size_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

bool up(const MemberView& member) { return member.state.empty() || member.state == "up"; }

class Finder {
 public:
  explicit Finder(const Observations& seen) : seen_(seen) {
    for (const MemberView& member : shot().members) {
      if (member.self)
        self_ = &member;
      else if (up(member))
        up_.push_back(&member);
      else if (member.state == "silent")
        silent_.push_back(&member);
    }
  }

  std::vector<Finding> all() {
    identity();
    networks();
    members();
    settings();
    refused_peers();
    keys();
    locks();
    clock();
    host();
    other_warnings();
    return std::move(findings_);
  }

 private:
  const obs::Snapshot& shot() const { return seen_.shot; }
  bool starting() const { return shot().uptime_s < kStarting_s; }
  void add(Finding found) { findings_.push_back(std::move(found)); }

  std::vector<std::string> names(const std::vector<const MemberView*>& members,
                                 const std::function<std::string(const MemberView&)>& more) const {
    std::vector<std::string> all;
    for (const MemberView* member : members) all.push_back(member->name + more(*member));
    return all;
  }
  // Up members that announce a value other than that of this machine.
  template <class Value>
  std::vector<std::string> differing(Value value) const {
    std::vector<std::string> all;
    for (const MemberView* member : up_)
      if (!member->profile.empty() && value(*member) != value(*self_))
        all.push_back(fmt::format("{} has {}", member->name, value(*member)));
    return all;
  }

  void identity() {
    if (seen_.duplicate_id)
      add(problem(FindingCode::twin,
                  {.what = "another machine has the same host id; neither leads",
                   .evidence = fmt::format("another process with id {} answered", shot().id),
                   .cure = "give one of them another /etc/machine-id, remove its state directory, "
                           "and restart tempod there"}));
    std::map<std::string_view, std::string_view> ids;
    for (const MemberView& member : shot().members) {
      const auto [at, added] = ids.emplace(member.name, member.id);
      if (!added && (up(member) || member.self))
        add(problem(FindingCode::same_name,
                    {.what = fmt::format("two machines are named {}", member.name),
                     .evidence = fmt::format("ids {} and {}", at->second, member.id),
                     .cure = "set another 'name' in tempo.toml on one of them"}));
    }
    if (!seen_.crowding.empty())
      add(problem(FindingCode::too_many_hosts,
                  {.what = seen_.crowding, .cure = "find the machine and change the key"}));
  }

  void networks() {
    if (shot().networks.empty())
      add(problem(FindingCode::no_network,
                  {.what = "tempod uses no network",
                   .cure = "bring an interface up, or set peers in tempo.toml"}));
    if (!seen_.network_error.empty())
      add(problem(FindingCode::network_unusable,
                  {.what = "cannot use a network",
                   .evidence = seen_.network_error,
                   .cure = "free the port or correct 'bind' and 'interfaces' in tempo.toml"}));
    if (!seen_.send_error.empty())
      add(problem(FindingCode::not_sent,
                  {.what = "datagrams cannot be sent",
                   .evidence = seen_.send_error,
                   .cure = "EPERM: a firewall drops output, accept the UDP port; ENETUNREACH, "
                           "ENETDOWN: bring the interface and its address up"}));
    if (!seen_.incompatible_peer.empty())
      add(problem(FindingCode::other_revision,
                  {.what = seen_.incompatible_peer, .cure = "upgrade tempo on the older machine"}));
    for (const obs::NetworkView& network : shot().networks)
      if (!network.kernel_stamps && !network.hardware_stamps)
        add(note(FindingCode::no_timestamps,
                 {.what = fmt::format("{}: no kernel timestamps received", network.name),
                  .cure = "accuracy is reduced; no action is required"}));
  }

  void members() {
    const auto silence = [](const MemberView& member) {
      return fmt::format(" for {}", obs::uptime_text(member.heard_ago_s));
    };
    if (up_.empty() && !silent_.empty()) {
      add(problem(FindingCode::cut_off,
                  {.what = "this machine hears no other member any more",
                   .evidence = "silent: " + listed(names(silent_, silence)),
                   .cure = "check the cable, the switch and the firewall of this machine"}));
    } else if (up_.empty()) {
      add(note(FindingCode::alone,
               {.what = "no other member is heard",
                .evidence = fmt::format("{} up", obs::uptime_text(shot().uptime_s)),
                .cure = "start tempod on other machines with the same cluster name and key; check "
                        "cables and firewalls if it runs there"}));
    } else if (!silent_.empty()) {
      add(problem(
          FindingCode::member_silent,
          {.what = fmt::format("{} silent", silent_.size() == 1
                                                ? silent_.front()->name + " is"
                                                : plural(silent_.size(), "member") + " are"),
           .evidence = "silent: " + listed(names(silent_, silence)),
           .cure = "check that the machine runs and that its network works; 'systemctl stop "
                   "tempod' announces a planned stop"}));
    }
    const std::size_t known = 1 + up_.size() + silent_.size();
    const bool outside = shot().status == "minority";
    if (outside || (!up_.empty() && 2 * (1 + up_.size()) < known))
      add(problem(FindingCode::minority,
                  {.what = outside ? "this machine is cut off from the main part of the network"
                                   : "this machine is in the smaller part of the network",
                   .evidence = fmt::format("{} of {} members are heard", 1 + up_.size(), known),
                   .cure = "repair the connection to the silent members; if more than half of the "
                           "members are gone for good, see 'A lost majority of the members' in the "
                           "guide for operations"}));
    one_way();
    for (const MemberView* member : up_)
      if (member->faulty)
        add(problem(FindingCode::faulty_clock,
                    {.what = fmt::format("the clock of {} is faulty", member->name),
                     .evidence = "its intervals contradict those of the other members",
                     .cure = "look for a second time daemon there, or replace the machine"}));
  }

  void one_way() {
    std::vector<std::string> missed;
    std::vector<std::string> deaf;
    for (const MemberView* member : up_) {
      if (member->misses_this_host_s && *member->misses_this_host_s < shot().uptime_s + 1)
        missed.push_back(fmt::format("{} (for {})", member->name,
                                     obs::uptime_text(*member->misses_this_host_s)));
      if (member->hears == 0U && member->uptime_s.value_or(0) >= kMeeting_s &&
          shot().uptime_s >= kMeeting_s)
        deaf.push_back(member->name);
    }
    const std::string cure =
        "a firewall drops UDP in one direction: accept the port in and out on both machines";
    if (!missed.empty())
      add(problem(FindingCode::one_way,
                  {.what = fmt::format("{} heard here, but does not hear this machine",
                                       missed.size() == 1 ? "a member is" : "members are"),
                   .evidence = "by their own account: " + listed(missed),
                   .cure = cure}));
    if (!deaf.empty())
      add(problem(FindingCode::one_way, {.what = listed(deaf) + " sends but hears no other member",
                                         .evidence = "by its own account",
                                         .cure = cure}));
  }

  // Settings that must be equal on all members.
  void settings() {
    if (self_ == nullptr) return;
    auto differ = differing([](const MemberView& member) { return "profile " + member.profile; });
    if (differ.empty())
      differ = differing([](const MemberView& member) { return "timers " + member.timers; });
    if (!differ.empty())
      add(problem(FindingCode::other_timers,
                  {.what = "members have different timers",
                   .evidence = fmt::format("{}, this machine profile {}, timers {}", listed(differ),
                                           self_->profile, self_->timers),
                   .cure = "set the same 'profile' and [timers] in tempo.toml on every machine"}));
    differ = differing([](const MemberView& member) { return member.expect; });
    if (!differ.empty())
      add(problem(
          FindingCode::other_expect,
          {.what = "members expect different numbers of voters",
           .evidence = fmt::format("{}, this machine has {}", listed(differ), self_->expect),
           .cure = "set the same 'expect' under [locks] in tempo.toml on every machine and "
                   "restart tempod"}));
    if (self_->expect > 0) {
      differ.clear();
      for (const MemberView* member : up_)
        if (member->expect > 0 &&
            (member->lease_ms != self_->lease_ms || member->lease_max_ms != self_->lease_max_ms))
          differ.push_back(fmt::format("{} has {} and {} ms", member->name, member->lease_ms,
                                       member->lease_max_ms));
      if (!differ.empty())
        add(problem(
            FindingCode::other_lease,
            {.what = "members have different lease lengths",
             .evidence = fmt::format("{}, this machine {} and {} ms", listed(differ),
                                     self_->lease_ms, self_->lease_max_ms),
             .cure = "set the same 'lease-ms' and 'lease-max-ms' under [locks] in tempo.toml "
                     "on every machine and restart tempod"}));
    }
    differ = differing([](const MemberView& member) {
      return fmt::format("{}, revision {}", member.version, member.revision);
    });
    if (!differ.empty())
      add(note(FindingCode::other_revision,
               {.what = "members run different versions",
                .evidence = fmt::format("{}, this machine {}, revision {}", listed(differ),
                                        self_->version, self_->revision),
                .cure = "finish the upgrade; neighbouring revisions work together"}));
  }

  // Another cluster or key beside a working one may be intended; a machine without others is the
  // one that is wrong, and so is one that was a member.
  void refused_peers() {
    const auto known = [&](const std::string& address) {
      return std::ranges::any_of(
          silent_, [&](const MemberView* member) { return member->address == address; });
    };
    const auto about = [&](std::string_view reason, FindingCode code, const std::string& what,
                           const std::string& cure) {
      std::vector<std::string> who;
      bool serious = up_.empty();
      for (const RefusedPeer& peer : seen_.refused) {
        if (peer.reason != reason) continue;
        who.push_back(fmt::format("{} ({})", peer.address, peer.count));
        serious = serious || known(peer.address);
      }
      if (!who.empty())
        add(finding(serious ? "problem" : "note", code,
                    {.what = what, .evidence = "refused datagrams: " + listed(who), .cure = cure}));
    };
    about("other_cluster", FindingCode::other_cluster, "another cluster uses this network",
          fmt::format("if it is meant to be one cluster, set 'cluster' in tempo.toml to the same "
                      "name on every machine; here it is '{}'",
                      shot().cluster));
    about("not_sealed", FindingCode::unsealed, "a machine sends datagrams without a key",
          "copy the key file to it, or use 'tempo invite' here and 'tempo join' there");
    about(
        "unknown_key", FindingCode::other_key,
        shot().keys == 0 ? "a machine uses a key, and this one has none"
                         : "a machine uses another key",
        "copy the key file of the cluster to the machine with the wrong one, or use 'tempo invite' "
        "and 'tempo join'");
    about("forged", FindingCode::forged, "a machine sends datagrams with a wrong authenticator",
          "compare the key files; if they are equal, look for an attacker at that address");
    std::vector<std::string> mute;
    for (const RefusedPeer& peer : seen_.refused)
      if (peer.reason == "not_live")
        mute.push_back(fmt::format("{} (for {})", peer.address, obs::uptime_text(peer.for_s)));
    if (!mute.empty())
      add(problem(FindingCode::one_way,
                  {.what = "a machine is heard, but answers no question of this one",
                   .evidence = "no answer from " + listed(mute),
                   .cure = "a firewall drops UDP in one direction: accept the port in and out on "
                           "both machines"}));
  }

  void keys() {
    if (!seen_.key_warning.empty() && shot().key_change.empty())
      add(note(FindingCode::no_key,
               {.what = "no key: any machine on this network can become master",
                .cure = "run 'tempo keygen' and copy the file to every machine"}));
    else if (!seen_.key_warning.empty())
      add(note(FindingCode::no_key,
               {.what = seen_.key_warning, .cure = "finish the introduction of the key"}));
    const obs::KeyReport report = obs::key_report(shot(), std::nullopt);
    if (report.next == obs::KeyStep::none) return;
    const bool stuck = !shot().key_change.empty() && shot().keys_since_s > kLongKeyChange_s;
    add(finding(stuck ? "problem" : "note", FindingCode::key_change,
                {.what = stuck ? fmt::format("a key change is stuck half way for {}: {}",
                                             obs::uptime_text(shot().keys_since_s), report.text)
                               : "a key change is in progress: " + report.text,
                 .cure = "take the next step on every machine; 'tempo keys' shows which have "
                         "taken it"}));
  }

  void locks() {
    const LockHealth& locks = seen_.locks;
    if (!locks.configured) return;
    if (!locks.two_sets.empty())
      add(problem(
          FindingCode::split_voters,
          {.what = "another part of this network has different voters; locks are not safe",
           .evidence = locks.two_sets,
           .cure = "set the same 'expect', more than half of all machines, or the same 'voters' "
                   "everywhere, and remove 'locks' and 'locks.old' from the state directories of "
                   "one part"}));
    for (const std::string& twin : {locks.clone, locks.retired})
      if (!twin.empty() && !seen_.duplicate_id)
        add(problem(FindingCode::twin,
                    {.what = "two machines have one host id, or one uses an old record",
                     .evidence = twin,
                     .cure = "give one of them another /etc/machine-id, remove its state "
                             "directory, and restart tempod on both"}));
    if (!locks.crowded.empty())
      add(problem(FindingCode::too_many_machines,
                  {.what = "no locks: there are too many machines for the number of voters",
                   .evidence = locks.crowded,
                   .cure = "name the voters on every machine: voters = [...] under [locks]"}));
    if (locks.record_lost)
      add(problem(FindingCode::record_lost,
                  {.what = "the lock record of this machine is lost",
                   .evidence = shot().locks,
                   .cure = "start the other voters: a majority of them confirms a new one; if most "
                           "have lost theirs, run 'sudo tempo locks --bootstrap-again' on every "
                           "voter"}));
    if (!locks.agreed) {
      if (!locks.record_lost && locks.found < locks.expected)
        add(finding(starting() ? "note" : "problem", FindingCode::no_majority,
                    {.what = "no locks: waiting for voters",
                     .evidence = fmt::format("{} of {} found", locks.found, locks.expected),
                     .cure = "start tempod on the missing machines with the same 'expect'"}));
      return;
    }
    unsigned all = 0;
    unsigned heard = 0;
    std::vector<std::string> missing;
    for (const LockHealth::Voter& voter : locks.voters) {
      all += voter.votes;
      const auto member = std::ranges::find(shot().members, voter.id, &MemberView::id);
      const bool found = member != shot().members.end() && (member->self || up(*member));
      if (found) heard += voter.votes;
      if (!found) missing.push_back(member != shot().members.end() ? member->name : voter.id);
    }
    if (!locks.available && 2 * heard <= all && !starting())
      add(problem(FindingCode::no_majority,
                  {.what = "no locks: no majority of the voters is heard",
                   .evidence = fmt::format("{} of {} votes heard; missing: {}", heard, all,
                                           listed(missing)),
                   .cure = "start the missing voters, or, if one is gone for good, restore a "
                           "majority and take its vote away with 'tempo forget'"}));
  }

  void clock() {
    if (!seen_.clock_error.empty())
      add(problem(FindingCode::clock_not_steerable,
                  {.what = "the system clock cannot be steered",
                   .evidence = seen_.clock_error,
                   .cure = "grant CAP_SYS_TIME, or set clock = \"none\" to measure only"}));
    if (shot().status == "unsynchronized")
      add(finding(starting() ? "note" : "problem", FindingCode::no_network_time,
                  {.what = "tempod has no network time yet",
                   .evidence = fmt::format("{} exchanges in {}", shot().exchanges,
                                           obs::uptime_text(shot().uptime_s)),
                   .cure = "wait, or watch its progress with 'tempo watch'"}));
    if (shot().status == "holdover")
      add(note(FindingCode::no_network_time,
               {.what = "holdover: there is no master, and the error bound grows",
                .cure = "wait for the election; 'tempo members' shows which machines are heard"}));
  }

  void host() {
    if (!seen_.disk_error.empty())
      add(problem(FindingCode::disk, {.what = "the state directory cannot be written",
                                      .evidence = seen_.disk_error,
                                      .cure = "free space or make the file system writable"}));
    const bool root = shot().user == "root";
    if (root || (!shot().user.empty() && !shot().system_call_filter))
      add(note(FindingCode::unconfined,
               {.what = "tempod runs without its own user or without its system call filter",
                .evidence = fmt::format("user {}; {} system call filter", shot().user,
                                        shot().system_call_filter ? "with" : "no"),
                .cure = "remove 'user' and 'system-call-filter' from tempo.toml"}));
  }

  // Warnings that have no code of their own.
  void other_warnings() {
    const std::vector<std::string> known{
        seen_.key_warning,    seen_.clock_error, seen_.incompatible_peer, seen_.crowding,
        seen_.locks.two_sets, seen_.locks.clone, seen_.locks.retired,     seen_.locks.crowded};
    for (const std::string& warning : shot().warnings) {
      const bool covered = std::ranges::count(known, warning) > 0 ||
                           warning.starts_with("another machine has the same id") ||
                           warning.starts_with("cannot use a network: ") ||
                           warning.starts_with("lease times differ") ||
                           warning.starts_with("cannot save the state: ");
      if (!covered)
        add(problem(FindingCode::warning, {.what = warning, .cure = "see 'journalctl -u tempod'"}));
    }
  }

  const Observations& seen_;
  const MemberView* self_ = nullptr;  // null: the snapshot has no members
  std::vector<const MemberView*> up_;
  std::vector<const MemberView*> silent_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<ipc::Finding> findings_in(const Observations& seen) { return Finder(seen).all(); }

}  // namespace tempo::daemon
