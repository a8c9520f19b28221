// Hosts with a lock machine each, on a simulated network, for tests. The driver of each machine has
// a disk and keeps the ordering rule.
//
// Datagrams take `delay`; zero: they arrive before the command that caused them returns. Writes
// finish at once. A test derives from it and makes the machines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "machine/write_queue.h"
#include "protocol/wire/directory.h"

namespace tempo::locks {

// Host i has the number i.
inline HostId host(std::uint32_t number) { return HostId{std::uint64_t{number} << 44 | 1}; }

template <class M>
class LockNetwork {
 public:
  using Message = typename M::Message;
  using Record = RecordOf<M>;
  // False: the datagram is lost.
  using Delivers =
      std::function<bool(std::uint32_t from, std::uint32_t to, const Message& message)>;

  explicit LockNetwork(std::uint32_t hosts) : sites_(hosts) {
    for (std::uint32_t i = 0; i < hosts; ++i) EXPECT_EQ(hosts_.number_of(host(i)), NodeId{i});
  }
  virtual ~LockNetwork() = default;
  LockNetwork(const LockNetwork&) = delete;
  LockNetwork& operator=(const LockNetwork&) = delete;

  // Starts a host, or restarts it with its disk.
  void start(std::uint32_t at) {
    Site& site = sites_[at];
    site.up = true;
    ++site.life;
    site.writes = {};
    site.machine.emplace(make(at, Incarnation{site.life}, site.disk));
    step(at, [](M& machine, Turn<M>& turn) { machine.start(turn); });
    if (delay_ == Nanos{0}) settle();
  }
  void start_all() {
    for (std::uint32_t i = 0; i < sites_.size(); ++i) start(i);
  }
  void kill(std::uint32_t at) { sites_[at].up = false; }

  void command(std::uint32_t at, const typename M::Command& command) {
    step(at, [&](M& machine, Turn<M>& turn) { machine.command(turn, command); });
    if (delay_ == Nanos{0}) settle();
  }
  void receive(std::uint32_t at, std::uint32_t from, const Message& message) {
    step(at, [&](M& machine, Turn<M>& turn) { machine.receive(turn, NodeId{from}, message); });
    if (delay_ == Nanos{0}) settle();
  }
  void pass(Nanos span) {
    const BootTime end = now_ + span;
    for (;;) {
      BootTime next = end;
      if (!datagrams_.empty()) next = std::min(next, datagrams_.begin()->first);
      for (const Site& site : sites_)
        if (site.up) next = std::min(next, std::max(site.machine->timers().first(), now_));
      now_ = next;
      if (now_ >= end) break;
      settle();
      for (std::uint32_t i = 0; i < sites_.size(); ++i)
        if (sites_[i].up && sites_[i].machine->timers().first() <= now_)
          step(i, [](M& machine, Turn<M>& turn) {
            machine.on_timer(turn, machine.timers().first_name());
          });
      if (delay_ == Nanos{0}) settle();
      observe();
    }
    observe();
  }
  // Waits until `done()`, at most this long.
  bool comes(Nanos limit, const std::function<bool()>& done) {
    for (Nanos gone{0}; gone < limit && !done(); gone += 10ms) pass(10ms);
    return done();
  }

  void set_delay(Nanos delay) { delay_ = delay; }
  void set_delivery(Delivers delivers) { delivers_ = std::move(delivers); }

  const M& machine(std::uint32_t at) const { return *sites_[at].machine; }
  bool up(std::uint32_t at) const { return sites_[at].up; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(sites_.size()); }
  const std::optional<Record>& disk(std::uint32_t at) const { return sites_[at].disk; }
  BootTime now() const { return now_; }

 protected:
  virtual M make(std::uint32_t at, Incarnation life, const std::optional<Record>& disk) = 0;
  virtual void noticed(std::uint32_t at, const typename M::Notice& notice) = 0;
  virtual void observe() {}  // after every step of time

  wire::Directory hosts_;

 private:
  static constexpr std::uint64_t kCheckEvery = 64;  // steps; a check looks at every lock

  struct Datagram {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Message message{};
  };
  struct Site {
    std::optional<M> machine{};
    WriteQueue<M> writes{};
    std::optional<Record> disk{};
    std::uint32_t life = 0;
    bool up = false;
  };

  template <class Do>
  void step(std::uint32_t at, Do todo) {
    Outbox<M> out;
    StreamDraw draw{chance_};
    Turn<M> turn{now_, draw, out};
    todo(*sites_[at].machine, turn);
    if (++steps_ % kCheckEvery == 0) {
      EXPECT_EQ(sites_[at].machine->check(), nullptr);
    }
    for (const Output<M>& output : out)
      if (sites_[at].writes.pass(output)) carry_out(at, output);
  }
  void carry_out(std::uint32_t at, const Output<M>& output) {
    if (output.kind == OutputKind::notice) return noticed(at, output.notice);
    for (std::uint32_t to = 0; to < sites_.size(); ++to) {
      if (to == at || (output.kind == OutputKind::send && output.to != NodeId{to})) continue;
      if (delivers_ && !delivers_(at, to, output.message)) continue;
      datagrams_.emplace(now_ + delay_, Datagram{at, to, output.message});
    }
  }
  // Finishes writes and delivers what has arrived.
  void settle() {
    for (int i = 0; i < 100'000; ++i) {
      for (std::uint32_t at = 0; at < sites_.size(); ++at) finish_writes(at);
      if (datagrams_.empty() || datagrams_.begin()->first > now_) return;
      const Datagram datagram = std::move(datagrams_.begin()->second);
      datagrams_.erase(datagrams_.begin());
      if (sites_[datagram.to].up)
        step(datagram.to, [&](M& machine, Turn<M>& turn) {
          machine.receive(turn, NodeId{datagram.from}, datagram.message);
        });
    }
    FAIL() << "the hosts do not stop sending";
  }
  void finish_writes(std::uint32_t at) {
    Site& site = sites_[at];
    while (site.up && !site.writes.empty()) {
      const auto done = site.writes.finish(site.writes.oldest().number);
      site.disk = done->record;
      for (const Output<M>& output : done->held) carry_out(at, output);
      if constexpr (requires { M::persisted(done->record); })
        step(at,
             [&](M& machine, Turn<M>& turn) { machine.command(turn, M::persisted(done->record)); });
    }
  }

  std::vector<Site> sites_;
  std::multimap<BootTime, Datagram> datagrams_;
  Delivers delivers_;
  Nanos delay_{0};
  std::uint64_t steps_ = 0;
  Stream chance_{1, 0, 0};
  BootTime now_{Nanos{1'000'000'000'000}};
};

}  // namespace tempo::locks
