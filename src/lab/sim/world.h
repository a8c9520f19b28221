// A virtual network of machines: deterministic, discrete-event, any machine or mixture of machines.
//
// One seed decides everything. Every cause of chance (a link's delay, loss, duplication, lateness;
// a machine's own draws) has its own stream for each node, so that adding one fault does not
// reshuffle the others. At one instant messages come before timers, then in the order they were
// made. Calls are static: the machine and whoever watches are template parameters, and a World that
// nobody watches pays nothing for it.
//
// Whoever drives the World applies faults between `run_until`s; a fault at an instant comes before
// everything that happens at it. `Watch` sees everything and changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/huge_page_vector.h"
#include "lab/sim/delay.h"
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
  using Make = std::function<M(NodeId, Incarnation)>;

  struct Options {
    std::uint32_t nodes = 1;
    std::uint64_t seed = 1;
    Link link{};
    // A storm of messages must end some time: when more events than this have happened, and more
    // than `events_per_second` for each simulated second, the World stands still and says so.
    std::uint64_t most_events = 1'000'000'000;
    std::uint64_t events_per_second = 10'000'000;
  };

  World(const Options& options, Make make, Watch& watch)
      : options_(options), make_(std::move(make)), watch_(&watch) {
    CHECK(options.nodes > 0 && options.nodes <= kMaxNodes);
    nodes_.reserve(options.nodes);
    for (std::uint32_t i = 0; i < options.nodes; ++i) nodes_.emplace_back(options.seed, i);
    look_for_disturbances();
  }

  // --- what the driver does ---

  // Starts a node, again with lost state if it ran before. It must be down.
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

  void crash(NodeId id) {
    Node& node = at(id);
    if (!node.up) return;
    node.up = false;
    node.wake_at = kNever;
    drop_waiting(id);
    watch_->disturbed(*this, id, "crashes");
  }

  // While paused a node does nothing; datagrams wait for it, up to the size of its buffer.
  void pause(NodeId id) {
    Node& node = at(id);
    if (!node.up || node.paused) return;
    node.paused = true;
    watch_->disturbed(*this, id, "pauses");
  }

  // What waits is read before overdue timers fire.
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
    fire(node, id);
  }

  void command(NodeId id, const Command& command) {
    Node& node = at(id);
    if (!node.up || node.paused) return;
    step(node, id, [&](M& machine, Turn<M>& turn) { machine.command(turn, command); });
  }

  // A message from outside the machines: replayed, forged, or sent by a crashed node's parent.
  // To kNobody it goes to all.
  void inject(NodeId from, NodeId to, const Message& message) { transmit(from, to, message); }

  // From now on nothing goes from `from` to `to` where cuts[from * size() + to]; empty: all reach
  // all. What is under way still arrives.
  void set_partition(std::vector<bool> partition) {
    CHECK(partition.empty() || partition.size() == std::size_t{options_.nodes} * options_.nodes);
    partition_ = std::move(partition);
    look_for_disturbances();
    watch_->disturbed(*this, kNobody, partition_.empty() ? "whole" : "cut");
  }

  // Unplugged, the whole network carries nothing: a quick way to start many nodes side by side.
  void set_connected(bool in) { plugged_ = in; }

  void set_link(const Link& link) {
    options_.link = link;
    look_for_disturbances();
    watch_->disturbed(*this, kNobody, "link changes");
  }
  // The node's clock gains this much on true time, from time zero. Only before it starts. It must
  // run: from a thousandth to nine times as fast.
  void set_rate(NodeId id, Ppb rate) {
    CHECK(!at(id).up && now_ == Instant{});
    CHECK(rate.value > -kBillion + kBillion / 1'000 && rate.value <= 8 * kBillion);
    at(id).rate = rate;
  }
  // The node's clock, instead of a constant rate. Only before it starts for the first time; a clock
  // goes on while its node is down.
  void set_clock(NodeId id, const Oscillator& clock) {
    CHECK(!at(id).up && now_ == Instant{});
    at(id).clock = std::make_unique<Oscillator>(clock);
  }
  // The clock given by set_clock, to be disturbed.
  Oscillator& clock(NodeId id) {
    CHECK(at(id).clock != nullptr);
    return *at(id).clock;
  }
  // How long a copy takes from one node to the other, instead of the link's delay; drawn from the
  // sender's stream.
  void set_route(std::function<Nanos(NodeId, NodeId, Stream&)> route) { route_ = std::move(route); }
  // Changes what a node says on its way into the network: a liar does not know that it lies.
  void set_forgery(std::function<void(NodeId, Message&)> forge) { forge_ = std::move(forge); }
  // Asked for every copy of every message.
  void set_fate(std::function<DeliveryDecision(NodeId, NodeId, const Message&)> fate) {
    fate_ = std::move(fate);
    look_for_disturbances();
  }

  // Everything before this instant happens; then it is this instant.
  void run_until(Instant limit) {
    CHECK(limit >= now_);
    Event event;
    while (next_before(limit, event)) handle(event);
    now_ = limit;
  }

  // As run_until, but stops after the step in which `done()` becomes true; says whether it did.
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

  // --- by hand ---
  //
  // Whoever wants to decide everything himself (a replay of what a checker found) holds the World:
  // from then on nothing happens by itself. Copies of messages wait in the order in which they were
  // made, timers wait to be woken, time passes on request.

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
  // Draws of all machines come from here; null: from their streams again.
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

  // --- what everybody may see ---

  Instant now() const { return now_; }  // true time
  Instant local_now(NodeId id) const { return local(nodes_[index(id)], now_); }
  std::uint32_t size() const { return options_.nodes; }
  bool up(NodeId id) const { return nodes_[index(id)].up; }
  bool paused(NodeId id) const { return nodes_[index(id)].paused; }
  bool reaches(NodeId from, NodeId to) const {
    return partition_.empty() || !partition_[std::size_t{index(from)} * options_.nodes + index(to)];
  }
  bool whole() const { return partition_.empty(); }  // all reach all
  const M& machine(NodeId id) const { return *nodes_[index(id)].machine; }
  bool ever_started(NodeId id) const { return nodes_[index(id)].machine.has_value(); }
  const Link& link() const { return options_.link; }
  std::uint64_t events() const { return events_; }
  bool exhausted() const { return exhausted_; }  // a storm; nothing happens any more
  std::uint64_t seed() const { return options_.seed; }
  std::uint32_t incarnation_count(NodeId id) const { return nodes_[index(id)].lives; }

 private:
  static constexpr std::size_t kMaxWaiting = 1 << 16;  // datagrams for all paused nodes together
  static constexpr int kMaxWakesAtOnce = 10'000;       // at one instant of one node
  static constexpr std::int64_t kBillion = 1'000'000'000;
  __extension__ using Wide = __int128;

  struct alignas(64) Node {
    Node(std::uint64_t seed, std::uint32_t i)
        : delays(seed, std::to_underlying(Cause::delay), i),
          draws(seed, std::to_underlying(Cause::machine), i) {}

    // In the order in which a step needs them.
    bool up = false;
    bool paused = false;
    std::uint32_t lives = 0;
    Ppb rate;
    Instant wake_at = kNever;  // true time of the timer event that counts; others are left-overs
    Instant due = kNever;      // true time of the first timer, as of the last step
    std::unique_ptr<Oscillator> clock;  // null: `rate` is all
    Stream delays;
    Stream draws;
    std::optional<M> machine;
  };
  // Of a node: what nearly every step reads. A machine that is larger than this has its own
  // reasons.
  static constexpr std::size_t kHotBytes = std::min<std::size_t>(sizeof(Node), 512);

  // The streams most Worlds never use.
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
    std::uint64_t key = 0;   // time and class, see key_of
    std::uint32_t slot = 0;  // of the flight, or kTimer
    NodeId to{};
  };
  static constexpr std::uint32_t kTimer = Flights<Message>::kNone;

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
  // span * ppb / 1e9 without overflow: seconds and the rest apart.
  static Nanos drift(Nanos span, std::int64_t ppb) {
    const std::int64_t seconds = span.count() / kBillion;
    const std::int64_t rest = span.count() % kBillion;
    return Nanos{seconds * ppb + rest * ppb / kBillion};
  }
  // The first true time at which the node's clock shows at least this.
  Instant true_time(const Node& node, Instant shown) const {
    if (shown == kNever) return shown;
    if (node.clock != nullptr) return node.clock->when(shown, now_);
    if (node.rate.value == 0) return shown;
    // The quotient is off by what `drift` rounds; the last steps are single.
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
    ++node.lives;
    for (std::uint32_t i = 0; i < node.lives; ++i) drawn = stream.next();
    return Incarnation{static_cast<std::uint32_t>(drawn >> 32) | 1};
  }

  // Large worlds do not fit into a cache: what the next events touch is fetched ahead, first the
  // node, then what its machine keeps elsewhere.
  bool next_before(Instant limit, Event& event) {
    if (events_ >= next_count_ && storms()) return false;
    return queue_.pop_before(
        key_of(limit, false), event, [this](const Event& soon) { fetch_node(soon); },
        [this](const Event& next) { fetch_machine(next); });
  }
  void fetch_node(const Event& soon) const {
    const char* node = reinterpret_cast<const char*>(&nodes_[index(soon.to)]);
    __builtin_prefetch(node);
    if (soon.slot == kTimer) return;  // most of them are left over
    for (std::size_t offset = 64; offset < kHotBytes; offset += 64)
      __builtin_prefetch(node + offset);
    __builtin_prefetch(&flights_[soon.slot]);
  }
  void fetch_machine([[maybe_unused]] const Event& next) const {
    if constexpr (requires(const M& machine) { machine.fetch_ahead(kNobody); }) {
      const Node& node = nodes_[index(next.to)];
      if (node.up && next.slot != kTimer) node.machine->fetch_ahead(flights_[next.slot].from);
    }
  }

  // Looked at now and then.
  bool storms() {
    next_count_ = events_ + 10'000;
    const auto seconds = static_cast<std::uint64_t>(now_.time_since_epoch() / 1s) + 1;
    if (events_ > options_.most_events && events_ / seconds > options_.events_per_second) {
      exhausted_ = true;
      next_count_ = events_;  // and from now on always
    }
    return exhausted_;
  }

  void handle(const Event& event) {
    ++events_;
    now_ = time_of(event.key);
    if (event.slot != kTimer) {
      deliver(event.slot, event.to);
      return;
    }
    Node& node = nodes_[index(event.to)];
    if (node.wake_at != now_) return;
    node.wake_at = kNever;
    if (!node.up || node.paused) return;
    // If the timer was put off since, its machine need not be fetched from memory to say so; but a
    // clock of its own may have been disturbed since.
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
      Turn<M> turn{local(node, now_), draw_ != nullptr ? *draw_ : draw, outbox_};
      node.machine->receive(turn, flight.from, flight.message);
      flights_.end(slot);
      finish(node, to);
    } else {
      watch_->unheard(*this, flight.from, to, flight.message, flight.number);
      flights_.end(slot);
    }
  }

  // Wakes every timer that is due.
  void fire(Node& node, NodeId id) {
    for (int i = 0; node.up && node.machine->timers().first() <= local(node, now_); ++i) {
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
    Turn<M> turn{local(node, now_), draw_ != nullptr ? *draw_ : draw, outbox_};
    todo(*node.machine, turn);
    finish(node, id);
  }

  void finish(Node& node, NodeId id) {
    for (const Output<M>& output : outbox_) {
      switch (output.kind) {
        case OutputKind::send:
          transmit(id, output.to, output.message);
          break;
        case OutputKind::broadcast:
          transmit(id, kNobody, output.message);
          break;
        case OutputKind::notice:
          watch_->noticed(*this, id, output.notice);
          break;
      }
    }
    schedule(node, id);
    watch_->stepped(*this, id);
  }

  void schedule(Node& node, NodeId id) {
    node.due = std::max(true_time(node, node.machine->timers().first()), now_);
    wake_when_due(node, id);
  }
  // A timer event that comes too early asks again when it comes; one that would come too late is
  // overtaken by a new one.
  void wake_when_due(Node& node, NodeId id) {
    if (node.due >= node.wake_at || held_mode_) return;
    node.wake_at = node.due;
    queue_.push({key_of(node.due, true), kTimer, id});
  }

  void transmit(NodeId from, NodeId to, const Message& message) {
    const std::uint32_t number = ++transmissions_;
    watch_->sent(*this, from, to, message, number);
    if (!plugged_) return;
    const std::uint32_t slot = flights_.begin(
        {.message = message, .from = from, .copies = 1, .number = number, .sent = now_});
    if (forge_) forge_(from, flights_[slot].message);
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

  // One copy to one receiver; `common` is its delay if that is decided already.
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
    Nanos copy{0};  // 0: none
    if (!reaches(from, to)) lost = true;
    if (link.loss > 0 && faults_of(from).loss.chance(link.loss)) lost = true;
    if (link.reorder > 0 && faults_of(from).late.chance(link.reorder))
      delay += link.lateness.sample(faults_of(from).late_delay);
    if (link.duplicate > 0 && faults_of(from).duplicate.chance(link.duplicate))
      copy = link.delay.sample(faults_of(from).copy_delay);
    if (fate_) {
      const DeliveryDecision fate = fate_(from, to, flights_[slot].message);
      lost |= fate.lost;
      if (fate.twice) copy = delay;
      delay += fate.extra;
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
                 fate_ != nullptr;
  }

  void post(std::uint32_t slot, NodeId to, Nanos delay) {
    flights_.copy(slot);
    if (held_mode_) {
      held_.emplace_back(slot, to);
      return;
    }
    Instant when = now_ + std::max(delay, Nanos{1});
    if (options_.link.in_order) {
      // Two that arrive at one instant do so in the order of sending.
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
  std::function<DeliveryDecision(NodeId, NodeId, const Message&)> fate_;
  std::function<Nanos(NodeId, NodeId, Stream&)> route_;
  std::function<void(NodeId, Message&)> forge_;
  Instant now_{};
  std::vector<Node, HugePageAllocator<Node>> nodes_;
  std::vector<FaultStreams> fault_streams_;  // empty until a fault needs one
  std::vector<bool> partition_;              // from * nodes + to; empty while all reach all
  std::unordered_map<std::uint64_t, Instant> last_arrivals_;  // by from and to, if kept in order
  RadixHeap<Event> queue_;
  Flights<Message> flights_;
  std::vector<std::pair<NodeId, std::uint32_t>> waiting_;  // for paused nodes, in order of arrival
  std::vector<std::pair<std::uint32_t, NodeId>> held_;     // copies in the order they were made
  Outbox<M> outbox_;
  Draw* draw_ = nullptr;  // null: each node's stream
  bool held_mode_ = false;
  bool plugged_ = true;
  bool disturbed_ = false;  // something else than its delay may happen to a copy
  bool exhausted_ = false;
  std::uint64_t events_ = 0;
  std::uint64_t next_count_ = 0;  // of events, when storms are looked for
  std::uint32_t transmissions_ = 0;
};

}  // namespace tempo::sim
