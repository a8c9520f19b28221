// The parts of states: local states of machines, and messages under way.
//
// Most states of the world combine the same few parts. So every local state and every message under
// way is stored once and has a number, and a state of the world is a short row of such numbers. The
// effect of an input in a local state is computed once, by running the machine, and reused in all
// states that contain it. This is sound because of the machine contract: two machines with equal
// packed fields behave equally (machine/machine.h).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "lab/check/choices.h"
#include "lab/check/flat_map.h"
#include "lab/check/model.h"
#include "lab/check/numbers.h"
#include "lab/check/store.h"
#include "machine/machine.h"

namespace tempo::check {

// The time of every machine while it is examined.
template <TimePoint Time>
inline constexpr Time kNow{Nanos{1'000'000'000}};

// An input of a machine.
struct Input {
  enum class Kind : std::uint8_t { start, wake, command, receive };
  Kind kind = Kind::start;
  std::uint32_t what = 0;  // number of the timer, index of the command, or number of the flight
};

// The caller's permission to compute missing parts, and whether one was missing. Parallel threads
// share the parts: one of them adds parts while no other reads.
struct Learning {
  bool allowed = true;
  bool missed = false;

  bool begin() {
    missed |= !allowed;
    return allowed;
  }
};

// A missing part is computed on demand if the caller has permission. Otherwise the result is an
// arbitrary existing part and must be discarded.
template <class Model>
class Parts {
 public:
  using M = typename Model::Machine;
  using Message = typename M::Message;
  using View = typename Model::View;

  using Time = TimeOf<M>;

  static constexpr std::uint32_t kMaxTimers = 32;
  static constexpr Time kNow = check::kNow<Time>;

  struct Local {
    NodeId node{};
    std::uint32_t set = 0;                // set timers, one bit each
    std::uint32_t due = 0;                // due timers, one bit each
    std::uint32_t ticked = Store::kNone;  // local state one tick later; kNone: not computed yet
    const char* broken = nullptr;         // violation reported by the machine's own check()
  };
  struct Flight {
    NodeId from{};
    NodeId to{};
    bool broadcast = false;  // set only in ordered networks
  };
  struct Send {
    std::uint32_t flight;
    std::uint32_t output;  // number of the output; copies of one broadcast share it
  };
  struct Outcome {
    std::uint32_t local;
    std::uint32_t first_send, sends;
    std::uint32_t first_draw, draws;
    const char* broken;  // violated property of a single step; null: none
  };

  Parts(const Model& model, const Freedom& freedom, std::vector<typename M::Command> commands)
      : model_(&model),
        freedom_(freedom),
        nodes_(freedom.nodes),
        timing_(freedom.timing),
        marks_broadcasts_(freedom.network == Network::ordered),
        echo_(freedom.echo),
        commands_(std::move(commands)) {}

  const Local& local(std::uint32_t id) const { return locals_[id]; }
  const View& view(std::uint32_t id) const { return views_[id].view; }
  const Flight& flight(std::uint32_t id) const { return flights_[id]; }
  // Adds the live numbers of a part.
  void add_local_numbers(std::uint32_t id, Numbers& all) const { add(local_mentions_[id], all); }
  void add_flight_numbers(std::uint32_t id, Numbers& all) const { add(flight_mentions_[id], all); }
  bool numbered() const { return numbered_; }  // some part has live numbers
  const char* failure() const { return failure_; }
  std::size_t locals() const { return locals_.size(); }

  M machine(std::uint32_t id) const {
    M machine = model_->make(locals_[id].node, Incarnation{1});
    unpack(machine, local_bytes_.at(id), kNow);
    return machine;
  }
  Message message(std::uint32_t id) const {
    Message message{};
    unpack(message, flight_bytes_.at(id).substr(kFlightHead), kNow);
    return message;
  }
  std::span<const Send> sends(const Outcome& outcome) const {
    return {sends_.data() + outcome.first_send, outcome.sends};
  }
  std::span<const std::uint32_t> draws(const Outcome& outcome) const {
    return {draws_.data() + outcome.first_draw, outcome.draws};
  }

  // A machine that has not started yet.
  std::uint32_t unstarted(NodeId node, std::uint32_t incarnation, Learning& learning) {
    return remembered(unstarted_, 0, index(node) << 16 | incarnation, learning, [&] {
      return keep(model_->make(node, Incarnation{incarnation}), node, kNow);
    });
  }

  // All outcomes of a step, as a range of numbers for `outcome`.
  std::pair<std::uint32_t, std::uint32_t> step(std::uint32_t id, Input input, Learning& learning) {
    const std::uint64_t key = std::uint64_t{id} << 32 | std::uint64_t{input.what} << 2 |
                              static_cast<std::uint64_t>(input.kind);
    std::uint32_t known = steps_.find(key);
    if (known == FlatMap::kNone) {
      if (!learning.begin()) return {0, 0};
      known = static_cast<std::uint32_t>(ends_.size());
      run(id, input);
      steps_.insert(key, known);
    }
    return ends_[known];
  }
  const Outcome& outcome(std::uint32_t number) const { return outcomes_[number]; }

  std::uint32_t ticked(std::uint32_t id, Learning& learning) {
    if (locals_[id].ticked == Store::kNone) {
      if (!learning.begin()) return id;
      const std::uint32_t next = keep(machine(id), locals_[id].node, kNow + Nanos{1});
      locals_[id].ticked = next;
    }
    return locals_[id].ticked;
  }

  // Parts with renamed live numbers; `context` is the number of a set of live numbers.
  std::uint32_t context(const Numbers& all, Learning& learning) {
    std::array<std::uint32_t, 1 + kMaxNodes + (kMaxNodes * kMaxNodes)> words;
    std::size_t size = 0;
    words[size++] = all.least_round;
    for (std::uint32_t i = 0; i < nodes_; ++i) words[size++] = all.calls[i];
    for (std::uint32_t i = 0; i < nodes_; ++i)
      for (std::uint32_t j = 0; j < nodes_; ++j) words[size++] = all.messages[i][j];
    const std::string_view bytes{reinterpret_cast<const char*>(words.data()),
                                 size * sizeof words[0]};
    const std::uint64_t hash = Store::hash(bytes);
    const std::uint32_t known = contexts_.find(bytes, hash);
    if (known != Store::kNone) return known;
    if (!learning.begin()) return 0;
    context_numbers_.push_back(all);
    return contexts_.add(bytes, hash).number;
  }
  std::uint32_t named_local(std::uint32_t id, std::uint32_t context, Learning& learning) {
    return remembered(named_locals_, id, context, learning, [&] {
      M renamed = machine(id);
      NumberWriter writer{freedom_.numbered_as(locals_[id].node), kNobody,
                          context_numbers_[context]};
      visit_fields(renamed, writer);
      return keep(renamed, locals_[id].node, kNow);
    });
  }
  std::uint32_t named_flight(std::uint32_t id, std::uint32_t context, Learning& learning) {
    return remembered(named_flights_, id, context, learning, [&] {
      const Flight flight = flights_[id];
      Message renamed = message(id);
      NumberWriter writer{freedom_.numbered_as(flight.from), freedom_.numbered_as(flight.to),
                          context_numbers_[context]};
      visit_fields(renamed, writer);
      return keep(renamed, flight);
    });
  }

  // Parts with renamed nodes; `which` is the number of the permutation.
  std::uint32_t permuted_local(std::uint32_t id, std::uint32_t which, const std::vector<NodeId>& to,
                               Learning& learning) {
    return tabled(permuted_locals_, id, which, learning, [&] {
      M renamed = machine(id);
      Renamer renamer{to};
      visit_fields(renamed, renamer);
      return keep(renamed, to[index(locals_[id].node)], kNow);
    });
  }
  std::uint32_t permuted_flight(std::uint32_t id, std::uint32_t which,
                                const std::vector<NodeId>& to, Learning& learning) {
    return tabled(permuted_flights_, id, which, learning, [&] {
      const Flight flight = flights_[id];
      Message renamed = message(id);
      Renamer renamer{to};
      visit_fields(renamed, renamer);
      return keep(renamed, {to[index(flight.from)], to[index(flight.to)], flight.broadcast});
    });
  }

  std::size_t bytes() const {
    return local_bytes_.bytes() + flight_bytes_.bytes() + contexts_.bytes() +
           locals_.capacity() * sizeof(Local) + views_.capacity() * sizeof(KeptView) +
           context_numbers_.capacity() * sizeof(Numbers) +
           (local_mentions_.capacity() + flight_mentions_.capacity()) * sizeof(Mentions) +
           mentions_.capacity() * sizeof(Mention) + outcomes_.capacity() * sizeof(Outcome) +
           sends_.capacity() * sizeof(Send) + draws_.capacity() * sizeof(std::uint32_t) +
           steps_.bytes() + unstarted_.bytes() + named_locals_.bytes() + named_flights_.bytes() +
           bytes_of(permuted_locals_) + bytes_of(permuted_flights_);
  }

 private:
  static constexpr std::size_t kFlightHead = 3;  // bytes: from, to, broadcast

  template <class Work>
  static std::uint32_t remembered(FlatMap& memory, std::uint32_t id, std::uint32_t how,
                                  Learning& learning, Work work) {
    const std::uint64_t key = std::uint64_t{id} << 32 | how;
    std::uint32_t result = memory.find(key);
    if (result == FlatMap::kNone) {
      if (!learning.begin()) return id;
      result = work();
      memory.insert(key, result);
    }
    return result;
  }

  // Like `remembered`, for tables in which nearly every `id` occurs with every `how`.
  using Tables = std::vector<std::vector<std::uint32_t>>;  // by how, then by id
  template <class Work>
  static std::uint32_t tabled(Tables& tables, std::uint32_t id, std::uint32_t how,
                              Learning& learning, Work work) {
    if (how < tables.size() && id < tables[how].size() && tables[how][id] != Store::kNone)
      return tables[how][id];
    if (!learning.begin()) return id;
    if (how >= tables.size()) tables.resize(how + 1);
    std::vector<std::uint32_t>& table = tables[how];
    if (id >= table.size()) table.resize(id + 1, Store::kNone);
    return table[id] = work();
  }
  static std::size_t bytes_of(const Tables& tables) {
    std::size_t bytes = tables.capacity() * sizeof(Tables::value_type);
    for (const auto& table : tables) bytes += table.capacity() * sizeof(std::uint32_t);
    return bytes;
  }

  std::uint32_t keep(const M& machine, NodeId node, Time now) {
    buffer_.clear();
    // Under free timing it matters only whether a time is set.
    Packer packer{
        timing_ == Timing::free ? Time{Nanos{std::numeric_limits<Nanos::rep>::max() - 1}} : now,
        buffer_};
    if (timing_ == Timing::free) {
      TimersDue due{packer};
      visit_fields(machine, due);
    } else {
      visit_fields(machine, packer);
    }
    const Store::Added added = local_bytes_.add(buffer_, Store::hash(buffer_));
    if (!added.fresh) return added.number;
    Local local{.node = node, .broken = machine.check()};
    CHECK(machine.timers().size() <= kMaxTimers);
    for (std::size_t i = 0; i < machine.timers().size(); ++i) {
      const Time at = machine.timers().at(timer_id(i));
      if (at == kNever) continue;
      local.set |= 1U << i;
      if (at <= now) local.due |= 1U << i;
    }
    locals_.push_back(local);
    if constexpr (requires { model_->view(machine, now); })
      views_.push_back({model_->view(machine, now)});
    else
      views_.push_back({model_->view(machine)});
    Numbers numbers;
    NumberReader reader{freedom_.numbered_as(node), kNobody, numbers};
    visit_fields(machine, reader);
    list_numbers(numbers, local_mentions_);
    return added.number;
  }

  // Packs every set timer as due now.
  class TimersDue : public FieldWalk<TimersDue> {
   public:
    explicit TimersDue(Packer<Time>& packer) : packer_(&packer) {}
    template <class T>
    void leaf(const char* name, T& value) {
      packer_->leaf(name, value);
    }
    template <role::Role kRole, class T>
      requires(kRole == role::timer)
    void in_role(const char* name, T& value) {
      packer_->leaf(name, value == kNever ? kNotSet : kSet);
    }

   private:
    static constexpr std::uint8_t kNotSet = 0;
    static constexpr std::uint8_t kSet = 2;  // as Packer writes a timer that is due now
    Packer<Time>* packer_;
  };

  std::uint32_t keep(const Message& message, const Flight& flight) {
    buffer_.assign({static_cast<char>(index(flight.from)), static_cast<char>(index(flight.to)),
                    static_cast<char>(flight.broadcast)});
    Packer packer{kNow, buffer_};
    visit_fields(message, packer);
    const Store::Added added = flight_bytes_.add(buffer_, Store::hash(buffer_));
    if (!added.fresh) return added.number;
    flights_.push_back(flight);
    Numbers numbers;
    NumberReader reader{freedom_.numbered_as(flight.from), freedom_.numbered_as(flight.to),
                        numbers};
    visit_fields(message, reader);
    list_numbers(numbers, flight_mentions_);
    return added.number;
  }

  // A wrapper, since elements of std::vector<bool> have no address.
  struct KeptView {
    View view;
  };

  // The live numbers of one part: few, therefore a list.
  struct Mention {
    std::uint8_t from;
    std::uint8_t to;  // kMaxNodes: a call
    std::uint32_t set;
  };
  struct Mentions {
    std::uint32_t first, end;  // range in mentions_
    std::uint32_t least_round;
  };
  void add(const Mentions& part, Numbers& all) const {
    all.round(part.least_round);
    for (std::uint32_t i = part.first; i < part.end; ++i) {
      const Mention& mention = mentions_[i];
      if (mention.to == kMaxNodes)
        all.calls[mention.from] |= mention.set;
      else
        all.messages[mention.from][mention.to] |= mention.set;
    }
  }
  void list_numbers(const Numbers& numbers, std::vector<Mentions>& all) {
    const auto first = static_cast<std::uint32_t>(mentions_.size());
    for (std::uint8_t i = 0; i < kMaxNodes; ++i) {
      if (numbers.calls[i] != 0) mentions_.push_back({i, kMaxNodes, numbers.calls[i]});
      for (std::uint8_t j = 0; j < kMaxNodes; ++j)
        if (numbers.messages[i][j] != 0) mentions_.push_back({i, j, numbers.messages[i][j]});
    }
    all.push_back({first, static_cast<std::uint32_t>(mentions_.size()), numbers.least_round});
    numbered_ |= !numbers.none();
    if (numbers.too_many) failure_ = "a node has more than 31 live sequence numbers";
  }

  void run(std::uint32_t id, Input input) {
    const auto first = static_cast<std::uint32_t>(outcomes_.size());
    const M before = machine(id);
    const NodeId self = locals_[id].node;
    const Message received = input.kind == Input::Kind::receive ? message(input.what) : Message{};
    EveryDraw draw;
    do {
      M after = before;
      outbox_.clear();
      Turn<M> turn{kNow, draw, outbox_};
      switch (input.kind) {
        case Input::Kind::start:
          after.start(turn);
          if constexpr (requires { model_->started(after, self, turn); })
            model_->started(after, self, turn);
          break;
        case Input::Kind::wake:
          after.on_timer(turn, timer_id(input.what));
          break;
        case Input::Kind::command:
          after.command(turn, commands_[input.what]);
          break;
        case Input::Kind::receive:
          after.receive(turn, flights_[input.what].from, received);
          break;
      }
      record(before, after, self, draw);
    } while (draw.advance());
    ends_.emplace_back(first, static_cast<std::uint32_t>(outcomes_.size()));
  }

  void record(const M& before, const M& after, NodeId self, const EveryDraw& draw) {
    Outcome outcome{.local = keep(after, self, kNow),
                    .first_send = static_cast<std::uint32_t>(sends_.size()),
                    .sends = 0,
                    .first_draw = static_cast<std::uint32_t>(draws_.size()),
                    .draws = 0,
                    .broken = nullptr};
    notices_.clear();
    std::uint32_t number = 0;
    for (const Output<M>& output : outbox_) {
      ++number;
      switch (output.kind) {
        case OutputKind::notice:
          notices_.push_back(output.notice);
          break;
        case OutputKind::persist:  // a checked machine contains its disk (LeaseSite)
          CHECK(false);
          break;
        case OutputKind::send:
          if (index(output.to) < nodes_ && output.to != self)
            sends_.push_back({keep(output.message, {self, output.to, false}), number});
          break;
        case OutputKind::broadcast:
          for (std::uint32_t to = 0; to < nodes_; ++to)
            if (to != index(self) || echo_)
              sends_.push_back(
                  {keep(output.message, {self, NodeId{to}, marks_broadcasts_}), number});
          break;
      }
    }
    outcome.sends = static_cast<std::uint32_t>(sends_.size()) - outcome.first_send;
    for (const std::uint32_t value : draw.values()) draws_.push_back(value);
    outcome.draws = static_cast<std::uint32_t>(draws_.size()) - outcome.first_draw;
    if constexpr (requires { model_->broken_step(before, after, std::span{notices_}); })
      outcome.broken = model_->broken_step(before, after, std::span{notices_});
    outcomes_.push_back(outcome);
  }

  const Model* model_;
  Freedom freedom_;
  std::uint32_t nodes_;
  Timing timing_;
  bool marks_broadcasts_;
  bool echo_;
  std::vector<typename M::Command> commands_;
  const char* failure_ = nullptr;
  bool numbered_ = false;

  Store local_bytes_;  // packed machines; the next three vectors are parallel to it
  std::vector<Local> locals_;
  std::vector<KeptView> views_;
  std::vector<Mentions> local_mentions_;
  Store flight_bytes_;  // head and packed message; the next two vectors are parallel to it
  std::vector<Flight> flights_;
  std::vector<Mentions> flight_mentions_;
  std::vector<Mention> mentions_;
  Store contexts_;  // sets of live numbers
  std::vector<Numbers> context_numbers_;

  FlatMap steps_;  // (local, input) to an index in ends_
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends_;  // ranges of outcomes_
  std::vector<Outcome> outcomes_;
  std::vector<Send> sends_;
  std::vector<std::uint32_t> draws_;
  FlatMap unstarted_, named_locals_, named_flights_;
  Tables permuted_locals_, permuted_flights_;

  std::string buffer_;
  Outbox<M> outbox_;
  std::vector<typename M::Notice> notices_;
};

}  // namespace tempo::check
