// A simulated network of machines: deterministic and discrete-event, for any Machine.
//
// One seed determines the whole run. Every source of randomness (delay, loss, duplication and
// lateness of a link; the draws of a machine) has its own stream for each node, so adding one fault
// does not change the others. Events at one instant are ordered: messages before timers, then in
// the order of their creation. The machine and the watch are template parameters, so a World
// without a watch has no overhead.
//
// A machine with a record has a disk (disk.h), which survives its node. The World keeps the
// ordering rule of machine/machine.h. A machine with a command BootClock has a second clock, which
// the World shows it before every step. A machine whose messages get another form when they leave
// the host, as datagrams, has a function `write(now, to, message)`, which changes receiver and
// message; false: the message cannot leave.
//
// The driver applies faults between calls of `run_until`, or plans events whose type is
// Watch::Event; then the World calls `watch.happen(event)`. Both precede every other event of that
// instant. Apart from that the watch observes everything and changes nothing.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/huge_page_vector.h"
#include "lab/sim/agenda.h"
#include "lab/sim/delay.h"
#include "lab/sim/disk.h"
#include "lab/sim/flights.h"
#include "lab/sim/link.h"
#include "lab/sim/oscillator.h"
#include "lab/sim/radix_heap.h"
#include "lab/sim/watch.h"
#include "machine/machine.h"

namespace tempo::sim {

template <Machine M, class Watch = NoWatch>
class World {
 public:
  using Message = typename M::Message;
  using Command = typename M::Command;
  using Time = TimeOf<M>;  // of the clock that the machine reads
  using Make = std::function<M(NodeId, Incarnation)>;
  using Planned = typename PlannedEvent<Watch>::type;
  static constexpr bool kPlans = !std::same_as<Planned, Nothing>;
  static constexpr bool kHasBootClock = requires { typename M::BootClock; };
  static constexpr bool kHasDisk = !std::same_as<RecordOf<M>, Nothing>;

  struct Options {
    std::uint32_t nodes = 1;
    std::uint64_t seed = 1;
    Link link{};
    // Bounds a message storm: the World stops and reports `exhausted` after more events than
    // max_events in total and more than events_per_second on average.
    std::uint64_t max_events = 1'000'000'000;
    std::uint64_t events_per_second = 10'000'000;
    Delay write = Delay::constant(Nanos{1});  // duration of a disk write
    // Faults of the World itself, to test that the properties notice them.
    bool ignore_order = false;      // outputs overtake the records that they follow
    bool forget_persisted = false;  // the machine never hears that a record is durable
    bool notify_twice = false;      // every notice reaches the driver twice
  };

  World(const Options& options, Make make, Watch& watch)
      : options_(options), make_(std::move(make)), watch_(&watch) {
    CHECK(options.nodes > 0 && options.nodes <= kMaxNodes);
    nodes_.reserve(options.nodes);
    for (std::uint32_t i = 0; i < options.nodes; ++i) nodes_.emplace_back(options.seed, i);
    look_for_disturbances();
  }

  // --- for the driver ---

  // Starts a node that is down. A node that ran before loses its state.
  void start(NodeId id) {
    Node& node = at(id);
    CHECK(!node.up);
    node.machine.emplace(make_(id, next_incarnation(id)));
    node.up = true;
    node.paused = false;
    node.wake_at = kNever;
    watch_->disturbed(*this, id, "starts");
    step(node, id, [](M& machine, Turn<M>& turn) { machine.start(turn); });
  }

  // Of the disk writes in progress the first `kept` reach the disk; `torn`: the next one destroys
  // the file.
  void crash(NodeId id, std::size_t kept = 0, bool torn = false) {
    Node& node = at(id);
    if (!node.up) return;
    node.up = false;
    node.wake_at = kNever;
    drop_waiting(id);
    if constexpr (kHasDisk) {
      node.disk.crash(kept, torn);
      ++node.disk_number;
      node.late_writes = 0;
    }
    watch_->disturbed(*this, id, "crashes");
  }

  // A paused node does nothing. Datagrams wait for it, up to the size of its buffer.
  void pause(NodeId id) {
    Node& node = at(id);
    if (!node.up || node.paused) return;
    node.paused = true;
    watch_->disturbed(*this, id, "pauses");
  }

  // The node receives waiting datagrams before its overdue timers fire.
  void resume(NodeId id) {
    Node& node = at(id);
    if (!node.up || !node.paused) return;
    node.paused = false;
    watch_->disturbed(*this, id, "resumes");
    if (held_mode_) return;
    std::vector<std::uint32_t> slots;
    for (const auto& [to, slot] : waiting_)
      if (to == id) slots.push_back(slot);
    std::erase_if(waiting_, [&](const auto& entry) { return entry.first == id; });
    for (const std::uint32_t slot : slots) deliver(slot, id);
    if constexpr (kHasDisk) finish_late_writes(node, id);
    fire(node, id);
  }

  void command(NodeId id, const Command& command) {
    Node& node = at(id);
    if (!node.up || node.paused) return;
    step(node, id, [&](M& machine, Turn<M>& turn) { machine.command(turn, command); });
  }

  // The disk of a node. A disk that works again completes its writes.
  const Disk<M>& disk(NodeId id) const
    requires kHasDisk
  {
    return nodes_[index(id)].disk;
  }
  Disk<M>& disk(NodeId id)
    requires kHasDisk
  {
    return at(id).disk;
  }
  void set_disk_works(NodeId id, bool works)
    requires kHasDisk
  {
    Node& node = at(id);
    node.disk.set_works(works);
    if (works && node.up && !node.paused) finish_late_writes(node, id);
  }

  // Sends a message that no machine sent: a replay, a forgery, or a message from the supervisor of
  // a crashed node. `to` = kNobody broadcasts it.
  void inject(NodeId from, NodeId to, const Message& message) { transmit(from, to, message); }

  // Blocks messages from `from` to `to` where partition[from * size() + to]; empty: no partition.
  // Messages under way still arrive.
  void set_partition(std::vector<bool> partition) {
    CHECK(partition.empty() || partition.size() == std::size_t{options_.nodes} * options_.nodes);
    partition_ = std::move(partition);
    look_for_disturbances();
    watch_->disturbed(*this, kNobody, partition_.empty() ? "whole" : "cut");
  }

  // While disconnected the whole network carries nothing: a quick way to start many nodes
  // independently.
  void set_connected(bool connected) { connected_ = connected; }

  void set_link(const Link& link) {
    options_.link = link;
    look_for_disturbances();
    watch_->disturbed(*this, kNobody, "link changes");
  }
  // Frequency error of the node's clock, from time zero. Call it before the node starts. The clock
  // must run between a thousandth of and nine times the true rate.
  void set_rate(NodeId id, Ppb rate) {
    CHECK(!at(id).up && now_ == Instant{});
    CHECK(rate.value > -kBillion + kBillion / 1'000 && rate.value <= 8 * kBillion);
    at(id).rate = rate;
  }
  // Gives the node a clock with a varying rate. Call it before the node's first start. The clock
  // keeps running while its node is down.
  void set_clock(NodeId id, const Oscillator& clock) {
    CHECK(!at(id).up && now_ == Instant{});
    at(id).clock = std::make_unique<Oscillator>(clock);
  }
  // The clock set by set_clock, for injecting clock faults.
  Oscillator& clock(NodeId id) {
    CHECK(at(id).clock != nullptr);
    return *at(id).clock;
  }
  // The boot clock of a node: its reading now minus that of the raw clock, and its rate relative to
  // the raw clock.
  void set_boot_clock(NodeId id, Nanos minus_raw, Ppb rate)
    requires kHasBootClock
  {
    at(id).boot = {local(at(id), now_), minus_raw, rate};
  }
  Nanos boot_minus_raw(NodeId id) const
    requires kHasBootClock
  {
    return nodes_[index(id)].boot.minus_raw(local_now(id));
  }
  BootTime boot_now(NodeId id) const
    requires kHasBootClock
  {
    return nodes_[index(id)].boot.at(local_now(id));
  }
  // Replaces the link's delay by a function of sender and receiver; it draws from the sender's
  // stream.
  void set_route(std::function<Nanos(NodeId, NodeId, Stream&)> route) { route_ = std::move(route); }
  // Changes the messages that a node sends, without its knowledge: a Byzantine node.
  void set_corruption(std::function<void(NodeId, Message&)> corrupt) {
    corrupt_ = std::move(corrupt);
  }
  // Decides about every copy of every message; empty: no decisions.
  void set_delivery(std::function<DeliveryDecision(NodeId, NodeId, const Message&)> decide) {
    decide_ = std::move(decide);
    look_for_disturbances();
  }

  // Plans an event of the driver: clients, faults.
  void plan(Instant at, const Planned& event) { agenda_.add(std::max(at, now_), event); }

  // Handles all events before `limit` and advances the time to `limit`.
  void run_until(Instant limit) {
    CHECK(limit >= now_);
    Event event;
    if constexpr (kPlans) {
      // Handling an event may plan another one.
      while (agenda_.first() < limit && !exhausted_) {
        if (next_before(agenda_.first(), event)) {
          handle(event);
          continue;
        }
        now_ = agenda_.first();
        watch_->happen(agenda_.take());
      }
    }
    while (next_before(limit, event)) handle(event);
    now_ = limit;
  }

  // Like run_until, but stops after the first event after which `done()` is true; returns whether
  // it is.
  template <class Done>
  bool run_until(Instant limit, Done done) {
    CHECK(limit >= now_);
    if (done()) return true;
    Event event;
    while (next_before(limit, event)) {
      handle(event);
      if (done()) return true;
    }
    now_ = limit;
    return false;
  }

  // --- held mode ---
  //
  // A driver that decides everything itself, such as the replay of a counterexample, holds the
  // World. From then on nothing happens by itself: copies of messages wait in the order of their
  // creation, timers fire and time passes only on request.

  struct Held {
    NodeId from = kNobody;
    NodeId to = kNobody;
    std::uint32_t number = 0;
    Instant sent{};
  };

  void hold() {
    CHECK(events_ == 0 && now_ == Instant{});
    held_mode_ = true;
  }
  // All machines draw from `draw`; null: from their streams.
  void draw_from(Draw* draw) { draw_ = draw; }
  std::size_t held() const { return held_.size(); }
  Held held_at(std::size_t place) const {
    const auto& [slot, to] = held_[place];
    return {flights_[slot].from, to, flights_[slot].number, flights_[slot].sent};
  }
  const Message& held_message(std::size_t place) const {
    return flights_[held_[place].first].message;
  }
  void deliver_held(std::size_t place) {
    const auto [slot, to] = take_held(place);
    ++events_;
    deliver(slot, to);
  }
  void lose_held(std::size_t place) {
    const auto [slot, to] = take_held(place);
    watch_->lost(*this, flights_[slot].from, to, flights_[slot].message, flights_[slot].number);
    flights_.end(slot);
  }
  void copy_held(std::size_t place) {
    CHECK(place < held_.size());
    flights_.copy(held_[place].first);
    held_.push_back(held_[place]);
  }
  void on_timer(NodeId id, TimerId timer) {
    Node& node = at(id);
    CHECK(held_mode_ && node.up && !node.paused);
    ++events_;
    step(node, id, [timer](M& machine, Turn<M>& turn) { machine.on_timer(turn, timer); });
  }
  void pass(Nanos span) {
    CHECK(held_mode_ && span >= Nanos{0});
    now_ += span;
  }

  // --- for every observer ---

  Instant now() const { return now_; }                                  // true time
  Time local_now(NodeId id) const { return shown(nodes_[index(id)]); }  // on the node's clock
  std::uint32_t size() const { return options_.nodes; }
  bool up(NodeId id) const { return nodes_[index(id)].up; }
  bool paused(NodeId id) const { return nodes_[index(id)].paused; }
  bool reaches(NodeId from, NodeId to) const {
    return partition_.empty() || !partition_[std::size_t{index(from)} * options_.nodes + index(to)];
  }
  bool whole() const { return partition_.empty(); }  // no partition
  const M& machine(NodeId id) const { return *nodes_[index(id)].machine; }
  bool ever_started(NodeId id) const { return nodes_[index(id)].machine.has_value(); }
  const Link& link() const { return options_.link; }
  std::uint64_t events() const { return events_; }
  bool exhausted() const { return exhausted_; }  // stopped by a message storm; see Options
  std::uint64_t seed() const { return options_.seed; }
  std::uint32_t incarnation_count(NodeId id) const { return nodes_[index(id)].incarnations; }

 private:
  static constexpr std::size_t kMaxWaiting = 1 << 16;  // datagrams for all paused nodes together
  static constexpr int kMaxWakesAtOnce = 10'000;       // timers of one node at one instant
  static constexpr std::int64_t kBillion = 1'000'000'000;
  __extension__ using Wide = __int128;

  // The boot clock as a line over the raw clock.
  struct BootLine {
    Instant since{};  // raw time
    Nanos offset{0};  // boot time minus raw time then
    Ppb rate{};       // change of the offset

    Nanos minus_raw(Instant raw) const { return offset + drift(raw - since, rate.value); }
    BootTime at(Instant raw) const { return on_clock<BootTime>(raw, minus_raw(raw)); }
  };

  struct alignas(64) Node {
    Node(std::uint64_t seed, std::uint32_t i)
        : delays(seed, std::to_underlying(Cause::delay), i),
          draws(seed, std::to_underlying(Cause::machine), i) {}

    // In the order in which a step needs them.
    bool up = false;
    bool paused = false;
    std::uint32_t incarnations = 0;  // starts so far
    Ppb rate;
    Instant wake_at = kNever;           // true time of the valid timer event; others are stale
    Instant due = kNever;               // true time of the first timer, as of the last step
    std::unique_ptr<Oscillator> clock;  // null: constant `rate`
    Stream delays;
    Stream draws;
    std::optional<M> machine;
    [[no_unique_address]] std::conditional_t<kHasBootClock, BootLine, Nothing> boot;
    [[no_unique_address]] std::conditional_t<kHasDisk, Disk<M>, Nothing> disk;
    std::uint32_t disk_number = 0;  // incarnation of the disk events; others are stale
    std::uint32_t late_writes = 0;  // writes that are over, but the node is paused or the disk full
  };
  // Bytes at the start of a node that nearly every step reads; bounded for large machines.
  static constexpr std::size_t kHotBytes = std::min<std::size_t>(sizeof(Node), 512);

  // Streams that most Worlds never use.
  struct FaultStreams {
    FaultStreams(std::uint64_t seed, std::uint32_t i)
        : loss(seed, std::to_underlying(Cause::loss), i),
          duplicate(seed, std::to_underlying(Cause::duplicate), i),
          late(seed, std::to_underlying(Cause::late), i),
          late_delay(seed, std::to_underlying(Cause::late_delay), i),
          copy_delay(seed, std::to_underlying(Cause::copy_delay), i) {}
    Stream loss, duplicate, late, late_delay, copy_delay;
  };

  struct Event {
    std::uint64_t key = 0;   // time and class; see key_of
    std::uint32_t slot = 0;  // slot of the flight, kTimer or kDisk
    NodeId to{};
    [[no_unique_address]] std::conditional_t<kHasDisk, std::uint32_t, Nothing>
        number{};  // of kDisk
  };
  static constexpr std::uint32_t kTimer = Flights<Message>::kNone;
  static constexpr std::uint32_t kDisk = kTimer - 1;

  static std::uint64_t key_of(Instant when, bool timer) {
    return static_cast<std::uint64_t>(when.time_since_epoch().count()) * 2 + (timer ? 1 : 0);
  }
  static Instant time_of(std::uint64_t key) {
    return Instant{Nanos{static_cast<Nanos::rep>(key / 2)}};
  }

  Node& at(NodeId id) {
    CHECK(index(id) < options_.nodes);
    return nodes_[index(id)];
  }

  static Instant local(const Node& node, Instant when) {
    if (node.clock != nullptr) return node.clock->shows(when);
    if (node.rate.value == 0) return when;
    return when + drift(when.time_since_epoch(), node.rate.value);
  }
  // span * ppb / 1e9 without overflow: computes seconds and remainder separately.
  static Nanos drift(Nanos span, std::int64_t ppb) {
    const std::int64_t seconds = span.count() / kBillion;
    const std::int64_t rest = span.count() % kBillion;
    return Nanos{seconds * ppb + rest * ppb / kBillion};
  }
  // The conversion between the clock of a node and the time of its machine.
  Time shown(const Node& node) const { return on_clock<Time>(local(node, now_), 0ns); }
  static Instant to_show(Time deadline) { return on_clock<Instant>(deadline, 0ns); }
  // The first true time at which the node's clock shows at least `shown`.
  Instant true_time(const Node& node, Instant shown) const {
    if (shown == kNever) return shown;
    if (node.clock != nullptr) return node.clock->when(shown, now_);
    if (node.rate.value == 0) return shown;
    // The quotient differs by the rounding of `drift`; correct it nanosecond by nanosecond.
    const Wide quotient = static_cast<Wide>(shown.time_since_epoch().count()) * kBillion /
                          (kBillion + node.rate.value);
    Instant guess{Nanos{static_cast<Nanos::rep>(quotient)}};
    while (local(node, guess) < shown) guess += Nanos{1};
    while (guess > Instant{} && local(node, guess - Nanos{1}) >= shown) guess -= Nanos{1};
    return guess;
  }

  Incarnation next_incarnation(NodeId id) {
    Node& node = at(id);
    Stream stream(options_.seed, std::to_underlying(Cause::incarnation), index(id));
    std::uint64_t drawn = 0;
    ++node.incarnations;
    for (std::uint32_t i = 0; i < node.incarnations; ++i) drawn = stream.next();
    return Incarnation{static_cast<std::uint32_t>(drawn >> 32) | 1};
  }

  // Large worlds do not fit into a cache, so prefetch the data of the next events: first the node,
  // then the memory that its machine refers to.
  bool next_before(Instant limit, Event& event) {
    if (events_ >= next_count_ && storms()) return false;
    return queue_.pop_before(
        key_of(limit, false), event, [this](const Event& soon) { fetch_node(soon); },
        [this](const Event& next) { fetch_machine(next); });
  }
  void fetch_node(const Event& soon) const {
    const char* node = reinterpret_cast<const char*>(&nodes_[index(soon.to)]);
    __builtin_prefetch(node);
    if (soon.slot >= kDisk) return;  // most timer events are stale
    for (std::size_t offset = 64; offset < kHotBytes; offset += 64)
      __builtin_prefetch(node + offset);
    __builtin_prefetch(&flights_[soon.slot]);
  }
  void fetch_machine([[maybe_unused]] const Event& next) const {
    if constexpr (requires(const M& machine) { machine.fetch_ahead(kNobody); }) {
      const Node& node = nodes_[index(next.to)];
      if (node.up && next.slot < kDisk) node.machine->fetch_ahead(flights_[next.slot].from);
    }
  }

  // Checked every 10'000 events.
  bool storms() {
    next_count_ = events_ + 10'000;
    const auto seconds = static_cast<std::uint64_t>(now_.time_since_epoch() / 1s) + 1;
    if (events_ > options_.max_events && events_ / seconds > options_.events_per_second) {
      exhausted_ = true;
      next_count_ = events_;  // check at every event from now on
    }
    return exhausted_;
  }

  void handle(const Event& event) {
    ++events_;
    now_ = time_of(event.key);
    Node& node = nodes_[index(event.to)];
    if constexpr (kHasDisk) {
      if (event.slot == kDisk) {
        finish_write(node, event.to, event.number);
        return;
      }
    }
    if (event.slot != kTimer) {
      deliver(event.slot, event.to);
      return;
    }
    if (node.wake_at != now_) return;
    node.wake_at = kNever;
    if (!node.up || node.paused) return;
    // If the timer was postponed, do not load the machine just to find out. A node with its own
    // clock is always asked, since that clock may have been disturbed.
    if (node.due > now_ && node.clock == nullptr)
      wake_when_due(node, event.to);
    else
      fire(node, event.to);
  }

  void deliver(std::uint32_t slot, NodeId to) {
    Node& node = nodes_[index(to)];
    if (node.up && node.paused && waiting_.size() < kMaxWaiting) {
      waiting_.emplace_back(to, slot);
      return;
    }
    const Flight<Message>& flight = flights_[slot];
    if (node.up && !node.paused) {
      watch_->received(*this, flight.from, to, flight.message, flight.number, flight.sent);
      outbox_.clear();
      StreamDraw draw{node.draws};
      Turn<M> turn{shown(node), draw_ != nullptr ? *draw_ : draw, outbox_};
      show_boot_clock(node, turn);
      node.machine->receive(turn, flight.from, flight.message);
      flights_.end(slot);
      finish(node, to);
    } else {
      watch_->unheard(*this, flight.from, to, flight.message, flight.number);
      flights_.end(slot);
    }
  }

  // Fires every timer that is due.
  void fire(Node& node, NodeId id) {
    for (int i = 0; node.up && node.machine->timers().first() <= shown(node); ++i) {
      CHECK(i < kMaxWakesAtOnce);
      const TimerId timer = node.machine->timers().first_name();
      step(node, id, [timer](M& machine, Turn<M>& turn) { machine.on_timer(turn, timer); });
    }
    if (node.up) schedule(node, id);
  }

  template <class Do>
  void step(Node& node, NodeId id, Do todo) {
    outbox_.clear();
    StreamDraw draw{node.draws};
    Turn<M> turn{shown(node), draw_ != nullptr ? *draw_ : draw, outbox_};
    show_boot_clock(node, turn);
    todo(*node.machine, turn);
    finish(node, id);
  }
  static void show_boot_clock([[maybe_unused]] Node& node, [[maybe_unused]] Turn<M>& turn) {
    if constexpr (kHasBootClock)
      node.machine->command(turn, typename M::BootClock{node.boot.at(turn.now)});
  }

  void finish(Node& node, NodeId id) {
    for (const Output<M>& output : outbox_) {
      if constexpr (kHasDisk) {
        if (output.kind == OutputKind::persist)
          write(node, id, output.record);
        else if (node.disk.writing() > 0 && waits_for_record(output) && !options_.ignore_order)
          node.disk.hold(output);
        else
          carry_out(id, output);
      } else {
        carry_out(id, output);
      }
    }
    schedule(node, id);
    watch_->stepped(*this, id);
  }

  void carry_out(NodeId id, const Output<M>& output) {
    switch (output.kind) {
      case OutputKind::send:
        leave(id, output.to, output.message);
        break;
      case OutputKind::broadcast:
        leave(id, kNobody, output.message);
        break;
      case OutputKind::notice:
        watch_->noticed(*this, id, output.notice);
        if (options_.notify_twice) watch_->noticed(*this, id, output.notice);
        break;
      case OutputKind::persist:
        break;
    }
  }

  void leave(NodeId id, NodeId to, const Message& message) {
    if constexpr (requires(M& machine, Time now, NodeId& other, Message& written) {
                    machine.write(now, other, written);
                  }) {
      Message written = message;
      if (at(id).machine->write(shown(at(id)), to, written)) transmit(id, to, written);
    } else {
      transmit(id, to, message);
    }
  }

  // --- disk ---

  void write(Node& node, NodeId id, const RecordOf<M>& record)
    requires kHasDisk
  {
    node.disk.begin(record);
    watch_->writes(*this, id, record);
    Instant when = now_ + std::max(options_.write.sample(node.delays), Nanos{1});
    Instant& last = last_writes_[index(id)];
    when = last = std::max(last, when);
    queue_.push({key_of(when, false), kDisk, id, node.disk_number});
  }
  void finish_write(Node& node, NodeId id, std::uint32_t number)
    requires kHasDisk
  {
    if (number != node.disk_number) return;
    ++node.late_writes;
    if (node.up && !node.paused) finish_late_writes(node, id);
  }
  void finish_late_writes(Node& node, NodeId id)
    requires kHasDisk
  {
    while (node.late_writes > 0 && node.disk.works() && node.up) {
      --node.late_writes;
      const typename Disk<M>::Write done = node.disk.finish();
      for (const Output<M>& output : done.held) carry_out(id, output);
      if (!options_.forget_persisted)
        step(node, id,
             [&](M& machine, Turn<M>& turn) { machine.command(turn, M::persisted(done.record)); });
    }
  }

  void schedule(Node& node, NodeId id) {
    node.due = std::max(true_time(node, to_show(node.machine->timers().first())), now_);
    wake_when_due(node, id);
  }
  // A timer event that is too early reschedules itself; one that would be too late is replaced by
  // an earlier one.
  void wake_when_due(Node& node, NodeId id) {
    if (node.due >= node.wake_at || held_mode_) return;
    node.wake_at = node.due;
    queue_.push({key_of(node.due, true), kTimer, id});
  }

  void transmit(NodeId from, NodeId to, const Message& message) {
    const std::uint32_t number = ++transmissions_;
    watch_->sent(*this, from, to, message, number);
    if (!connected_) return;
    const std::uint32_t slot = flights_.begin(
        {.message = message, .from = from, .copies = 1, .number = number, .sent = now_});
    if (corrupt_) corrupt_(from, flights_[slot].message);
    if (to == kNobody) {
      const Nanos common = options_.link.same_order
                               ? options_.link.delay.sample(nodes_[index(from)].delays)
                               : Nanos{0};
      for (std::uint32_t i = 0; i < options_.nodes; ++i)
        if (i != index(from) || options_.link.echo) launch(slot, from, NodeId{i}, common);
    } else if (index(to) < options_.nodes) {
      launch(slot, from, to, Nanos{0});
    }
    flights_.end(slot);
  }

  // Sends one copy to one receiver. `common` is the delay of a broadcast in same order; zero: draw
  // one.
  void launch(std::uint32_t slot, NodeId from, NodeId to, Nanos common) {
    Stream& delays = nodes_[index(from)].delays;
    Nanos delay = common;
    if (delay == Nanos{0})
      delay = route_ ? route_(from, to, delays) : options_.link.delay.sample(delays);
    if (disturbed_)
      launch_disturbed(slot, from, to, delay);
    else
      post(slot, to, delay);
  }
  void launch_disturbed(std::uint32_t slot, NodeId from, NodeId to, Nanos delay) {
    const Link& link = options_.link;
    bool lost = false;
    Nanos copy{0};  // delay of the second copy; zero: no second copy
    if (!reaches(from, to)) lost = true;
    if (link.loss > 0 && faults_of(from).loss.chance(link.loss)) lost = true;
    if (link.reorder > 0 && faults_of(from).late.chance(link.reorder))
      delay += link.lateness.sample(faults_of(from).late_delay);
    if (link.duplicate > 0 && faults_of(from).duplicate.chance(link.duplicate))
      copy = link.delay.sample(faults_of(from).copy_delay);
    if (decide_) {
      const DeliveryDecision decision = decide_(from, to, flights_[slot].message);
      lost |= decision.lost;
      if (decision.twice) copy = delay;
      delay += decision.extra;
    }
    if (lost) {
      watch_->lost(*this, from, to, flights_[slot].message, flights_[slot].number);
      return;
    }
    post(slot, to, delay);
    if (copy > Nanos{0}) post(slot, to, delay + copy);
  }
  void look_for_disturbances() {
    const Link& link = options_.link;
    disturbed_ = !partition_.empty() || link.loss > 0 || link.reorder > 0 || link.duplicate > 0 ||
                 decide_ != nullptr;
  }

  void post(std::uint32_t slot, NodeId to, Nanos delay) {
    flights_.copy(slot);
    if (held_mode_) {
      held_.emplace_back(slot, to);
      return;
    }
    Instant when = now_ + std::max(delay, Nanos{1});
    if (options_.link.in_order) {
      // Messages that arrive at the same instant keep the order of their transmission.
      Instant& last = last_arrivals_[std::uint64_t{index(flights_[slot].from)} << 32 | index(to)];
      when = last = std::max(last, when);
    }
    queue_.push({key_of(when, false), slot, to});
  }

  FaultStreams& faults_of(NodeId id) {
    if (fault_streams_.empty()) {
      fault_streams_.reserve(options_.nodes);
      for (std::uint32_t i = 0; i < options_.nodes; ++i)
        fault_streams_.emplace_back(options_.seed, i);
    }
    return fault_streams_[index(id)];
  }

  std::pair<std::uint32_t, NodeId> take_held(std::size_t place) {
    CHECK(place < held_.size());
    const auto taken = held_[place];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(place));
    return taken;
  }

  void drop_waiting(NodeId id) {
    for (const auto& [to, slot] : waiting_)
      if (to == id) flights_.end(slot);
    std::erase_if(waiting_, [&](const auto& entry) { return entry.first == id; });
  }

  Options options_;
  Make make_;
  Watch* watch_;
  std::function<DeliveryDecision(NodeId, NodeId, const Message&)> decide_;
  std::function<Nanos(NodeId, NodeId, Stream&)> route_;
  std::function<void(NodeId, Message&)> corrupt_;
  Instant now_{};
  std::vector<Node, HugePageAllocator<Node>> nodes_;
  std::vector<FaultStreams> fault_streams_;  // created by the first fault that needs them
  std::vector<bool> partition_;              // [from * nodes + to]; empty: no partition
  std::unordered_map<std::uint64_t, Instant> last_arrivals_;  // by from and to; for in_order
  RadixHeap<Event> queue_;
  Agenda<Planned> agenda_;
  Flights<Message> flights_;
  std::unordered_map<std::uint32_t, Instant> last_writes_;  // end of the last write, by node
  std::vector<std::pair<NodeId, std::uint32_t>> waiting_;   // for paused nodes, as they arrived
  std::vector<std::pair<std::uint32_t, NodeId>> held_;      // copies in the order of their creation
  Outbox<M> outbox_;
  Draw* draw_ = nullptr;  // null: each node draws from its own stream
  bool held_mode_ = false;
  bool connected_ = true;
  bool disturbed_ = false;  // a partition, link fault or decision function is set
  bool exhausted_ = false;
  std::uint64_t events_ = 0;
  std::uint64_t next_count_ = 0;  // value of events_ at the next check for a storm
  std::uint32_t transmissions_ = 0;
};

}  // namespace tempo::sim
