// A few members of a lease lock on one clock. Messages are delivered at once and in order, for
// tests that count messages or go through a scenario step by step.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "machine/machine.h"
#include "protocol/lock/lease/lease_member.h"

namespace tempo::lock::lease {

inline constexpr Rules kRules{};  // 2 s

inline Token token(std::uint64_t count, std::uint32_t sub) { return Held{count, sub}.token(); }

class Cluster {
 public:
  struct Datagram {
    NodeId from{};
    NodeId to{};
    Message message;
  };
  struct Event {
    NodeId site{};
    Notice notice;
  };

  Cluster(std::uint32_t sites, const Rules& rules, std::optional<View> view = {})
      : rules_(rules),
        view_(view.value_or(one_vote_each(sites))),
        disks_(sites),
        up_(sites),
        processes_(sites) {
    for (std::uint32_t i = 0; i < sites; ++i) {
      disks_[i] = Record{.view = view_};
      members_.push_back(make_member(i, true));
    }
    for (std::uint32_t i = 0; i < sites; ++i) start(i);
    run();
  }

  // --- the scenario ---
  void acquire(std::uint32_t site, std::uint32_t client, Mode mode = Mode::exclusive,
               LockId lock = LockId{0}) {
    command(site, Command::acquire(lock, ClientId{client}, mode, ++tickets_));
  }
  // A client that can resume: its process has the client's number.
  void acquire_resumable(std::uint32_t site, std::uint32_t client, Mode mode = Mode::exclusive) {
    command(site, Command::acquire(LockId{0}, ClientId{client}, mode, ++tickets_, Nanos{0},
                                   session_of(client)));
  }
  static Session session_of(std::uint32_t client) {
    return {.number = client + 1'000, .process = client};
  }
  // The command of a client that was granted the lock and was inside until `deadline`.
  static Command resume_of(const Notice& granted, BootTime deadline) {
    return {.kind = Command::Kind::resume,
            .client = granted.client,
            .mode = granted.mode,
            .session = session_of(static_cast<std::uint32_t>(granted.client)),
            .ballot = {Held::of(granted.token).count, granted.origin},
            .sub = Held::of(granted.token).sub,
            .deadline = deadline};
  }
  // The site restarts and its client, inside by its last grant, comes back.
  void restart_and_resume(std::uint32_t site, std::uint32_t client) {
    const Notice notice = *granted(site, client);
    const BootTime deadline = lock(site).lease()->until;
    restart(site);
    command(site, resume_of(notice, deadline));
  }
  void release(std::uint32_t site, std::uint32_t client, LockId lock = LockId{0}) {
    command(site, Command::release(lock, ClientId{client}));
  }
  void command(std::uint32_t site, const Command& command) {
    step(site, [&](Member& member, Turn<Member>& turn) { member.command(turn, command); });
    run();
  }
  // Lets time pass; due timers fire.
  void pass(Nanos span) {
    const BootTime end = now_ + span;
    for (;;) {
      BootTime first = end;
      for (std::uint32_t i = 0; i < members_.size(); ++i)
        if (up_[i]) first = std::min(first, members_[i].timers().first());
      now_ = std::max(now_, first);
      bool woken = false;
      for (std::uint32_t i = 0; i < members_.size(); ++i)
        if (up_[i] && members_[i].timers().first() <= now_ && now_ < end) {
          step(i, [](Member& member, Turn<Member>& turn) { member.on_timer(turn, TimerId{0}); });
          woken = true;
        }
      run();
      if (!woken) break;
    }
    now_ = end;
  }
  void crash(std::uint32_t site) { up_[site] = false; }
  // Ends a crash as if the member had only paused and missed the messages of that time.
  void resume(std::uint32_t site) { up_[site] = true; }
  // Another machine with the number of this member starts, with a copy of its record that it does
  // not take for its own. Returns its site.
  std::uint32_t start_clone(std::uint32_t site) {
    const auto clone = static_cast<std::uint32_t>(members_.size());
    clones_[clone] = NodeId{site};
    damaged_.insert(clone);
    disks_.emplace_back();
    up_.push_back(true);
    processes_.push_back(0);
    members_.push_back(make_member(clone, false));
    start(clone);
    run();
    return clone;
  }
  // The two sides do not hear each other; a site on no side hears nobody.
  void part(const std::set<std::uint32_t>& one, const std::set<std::uint32_t>& other) {
    delivers_ = [=](const Datagram& datagram) {
      const auto both = [&](const std::set<std::uint32_t>& side) {
        return side.contains(index(datagram.from)) && side.contains(index(datagram.to));
      };
      return both(one) || both(other);
    };
  }
  void restart(std::uint32_t site) {
    members_[site] = make_member(site, false);
    start(site);
    run();
  }
  void lose_disk(std::uint32_t site) { disks_[site].reset(); }
  void restore_disk(std::uint32_t site, const Record& copy) { disks_[site] = copy; }
  // The record cannot be read, and the member knows it.
  void damage_disk(std::uint32_t site) {
    disks_[site].reset();
    damaged_.insert(site);
  }
  // From now on `delivers` decides for each datagram; false: it is lost.
  void set_delivery(std::function<bool(const Datagram&)> delivers) {
    delivers_ = std::move(delivers);
  }
  // Writes finish at once, unless they are held back. Outputs do not wait for them, so that tests
  // show what the member itself waits for.
  void hold_writes(bool hold) { hold_writes_ = hold; }
  void finish_writes() {
    const auto held = std::exchange(held_writes_, {});
    for (const auto& [site, record] : held) {
      disks_[site] = record;
      command(site, Command::persisted(record));
    }
  }
  void inject(NodeId from, std::uint32_t to, const Message& message) {
    datagrams_.push_back({from, NodeId{to}, message});
    run();
  }

  // --- the results ---
  std::uint32_t sent_count(Kind kind) const { return counts_[std::to_underlying(kind)]; }
  std::uint32_t total_sent() const {
    std::uint32_t all = 0;
    for (const std::uint32_t count : counts_) all += count;
    return all;
  }
  void clear_counts() {
    counts_.fill(0);
    events_.clear();
    sent_.clear();
  }
  const std::vector<Event>& events() const { return events_; }
  const std::vector<Message>& sent() const { return sent_; }
  // The last grant to this client; unset: none.
  std::optional<Notice> granted(std::uint32_t site, std::uint32_t client) const {
    return last(site, client, Notice::Kind::granted);
  }
  std::optional<Notice> lost(std::uint32_t site, std::uint32_t client) const {
    return last(site, client, Notice::Kind::lost);
  }
  // The views with this number that members have entered, one for each member that did.
  std::vector<View> views(std::uint32_t number) const {
    std::vector<View> entered;
    for (const Event& event : events_)
      if (event.notice.kind == Notice::Kind::view && event.notice.view.number == number)
        entered.push_back(event.notice.view);
    return entered;
  }
  const Member& member(std::uint32_t site) const { return members_[site]; }
  const Lock& lock(std::uint32_t site, LockId id = LockId{0}) const {
    return *members_[site].lock(id);
  }
  const std::optional<Record>& disk(std::uint32_t site) const { return disks_[site]; }
  std::uint32_t writes() const { return writes_; }
  BootTime now() const { return now_; }

 private:
  Member make_member(std::uint32_t site, bool rebooted) const {
    return Member({.self = identity(site),
                   .rules = rules_,
                   .view = view_,
                   .record = disks_[site],
                   .rebooted = rebooted,
                   .lost = damaged_.contains(site)});
  }
  NodeId identity(std::uint32_t site) const {
    const auto clone = clones_.find(site);
    return clone == clones_.end() ? NodeId{site} : clone->second;
  }
  void start(std::uint32_t site) {
    up_[site] = true;
    processes_[site] = ++started_;
    step(site, [](Member& member, Turn<Member>& turn) { member.start(turn); });
  }
  template <class Do>
  void step(std::uint32_t site, Do todo) {
    Outbox<Member> out;
    StreamDraw draw{chance_};
    Turn<Member> turn{now_, draw, out};
    todo(members_[site], turn);
    for (const Output<Member>& output : out) carry_out(site, output);
  }
  void carry_out(std::uint32_t site, const Output<Member>& output) {
    if (output.kind == OutputKind::notice) {
      events_.push_back({NodeId{site}, output.notice});
      return;
    }
    if (output.kind == OutputKind::persist) {
      ++writes_;
      held_writes_.emplace_back(site, output.record);
      return;
    }
    ++counts_[std::to_underlying(output.message.kind)];
    Message message = output.message;
    message.process = processes_[site];
    sent_.push_back(message);
    for (std::uint32_t to = 0; to < members_.size(); ++to)
      if (to != site && (output.kind == OutputKind::broadcast || output.to == identity(to)))
        datagrams_.push_back({NodeId{site}, NodeId{to}, message});
  }
  void run() {
    if (running_) return;
    running_ = true;
    while (!datagrams_.empty() || (!hold_writes_ && !held_writes_.empty())) {
      if (!hold_writes_) finish_writes();
      if (datagrams_.empty()) continue;
      const Datagram datagram = datagrams_.front();
      datagrams_.pop_front();
      if (!up_[index(datagram.to)] || (delivers_ && !delivers_(datagram))) continue;
      step(index(datagram.to), [&](Member& member, Turn<Member>& turn) {
        member.receive(turn, identity(index(datagram.from)), datagram.message);
      });
    }
    running_ = false;
  }
  std::optional<Notice> last(std::uint32_t site, std::uint32_t client, Notice::Kind kind) const {
    std::optional<Notice> found;
    for (const Event& event : events_)
      if (event.site == NodeId{site} && event.notice.kind == kind &&
          event.notice.client == ClientId{client})
        found = event.notice;
    return found;
  }

  Rules rules_;
  View view_;
  std::vector<std::optional<Record>> disks_;
  std::map<std::uint32_t, NodeId> clones_;  // sites that have the number of another one
  std::set<std::uint32_t> damaged_;         // sites whose record was damaged
  std::vector<Member> members_;
  std::vector<bool> up_;
  std::vector<std::uint64_t> processes_;  // by site
  std::uint64_t started_ = 0;
  std::deque<Datagram> datagrams_;
  std::function<bool(const Datagram&)> delivers_;
  std::vector<std::pair<std::uint32_t, Record>> held_writes_;
  bool hold_writes_ = false;
  bool running_ = false;
  std::array<std::uint32_t, kKinds> counts_{};
  std::vector<Message> sent_;
  std::vector<Event> events_;
  std::uint32_t writes_ = 0;
  std::uint64_t tickets_ = 0;
  BootTime now_{Nanos{1'000'000'000'000}};
  Stream chance_{1, 0, 0};
};

}  // namespace tempo::lock::lease
