// The state space: states of the world and their successors.
//
// Within a tick the possible events of a node happen in any order. A tick passes for all nodes at
// once when no timer is due and no message must still arrive. The delivery of a message is decided
// when it is sent: it arrives, is lost or is duplicated, within the budget. A node that does not
// run misses arriving messages, at no cost to the budget.
//
// Three reductions omit states that add nothing. Nodes take turns within a tick in the order of
// their numbers: no message arrives in the tick in which it is sent, so nodes do not influence each
// other within a tick. A node crashes or pauses only when it could do something else: an earlier
// fault is indistinguishable. Ticks in which no node can do anything pass as one move.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "lab/check/mail.h"
#include "lab/check/model.h"
#include "lab/check/move.h"
#include "lab/check/parts.h"
#include "lab/check/row.h"
#include "lab/check/symmetry.h"

namespace tempo::check {

template <class Model>
class Space {
 public:
  using M = typename Model::Machine;
  using View = typename Model::View;
  using Command = typename M::Command;
  using State = WorldState;

  static constexpr std::uint32_t kMaxIdleTicks = 100'000;
  static constexpr std::uint8_t kLongestPause = 40;  // ticks; longer pauses count as this long
  static constexpr bool kRemembers =
      requires(const Model& model, const Scene<View>& before, Scene<View>& after, NodeId node) {
        model.remember(before, after, node);
      };

  Space(const Model& model, const Freedom& freedom,
        std::vector<std::pair<NodeId, Command>> commands = {})
      : model_(&model),
        freedom_(freedom),
        commands_(std::move(commands)),
        parts_(std::make_shared<Parts<Model>>(model, freedom, just_commands(commands_))),
        mail_(*parts_, freedom),
        rows_(freedom, kRemembers, !commands_.empty()),
        symmetry_(*parts_, mail_, rows_, freedom) {
    CHECK(freedom.nodes >= 1 && freedom.nodes <= kMaxNodes && commands_.size() <= 16);
    CHECK(freedom.delay_min >= 1 && freedom.delay_min <= freedom.delay_max);
  }

  // The same space for another thread, which reads the known parts and adds none. If a part is
  // missing, `missed` returns true and the results must be discarded.
  Space reader() const {
    Space reader = *this;
    reader.learning_ = {.allowed = false};
    return reader;
  }
  bool missed() const { return learning_.missed; }
  void clear_missed() { learning_.missed = false; }

  Parts<Model>& parts() { return *parts_; }
  const Parts<Model>& parts() const { return *parts_; }
  const Freedom& freedom() const { return freedom_; }
  const Model& model() const { return *model_; }
  const std::vector<std::pair<NodeId, Command>>& commands() const { return commands_; }
  const char* failure() const { return failure_ != nullptr ? failure_ : parts_->failure(); }

  std::uint32_t flight_of(std::uint32_t code) const { return mail_.flight_of(code); }
  std::uint32_t age_of(std::uint32_t code) const { return mail_.age_of(code); }

  Scene<View> scene(const State& state) const {
    Scene<View> scene{.nodes = freedom_.nodes};
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i) {
      if (state.local[i] == kDown) continue;
      scene.slots[i] = {&parts_->view(state.local[i]), state.pause[i] != 0, state.memory[i]};
    }
    scene.spent = freedom_.budget - state.left;
    return scene;
  }

  // All initial states: the nodes start in their order. Calls `emit(state, moves)`.
  template <class Emit>
  void begin(Emit emit) {
    State state;
    state.left = freedom_.budget;
    state.cut = freedom_.cut_until;
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i) {
      state.incarnations[i] = 1;
      state.local[i] = kDown;
      state.wait[i] = static_cast<std::uint8_t>(freedom_.starts[i] + 1);
    }
    std::vector<Move> moves;
    begin_from(state, 0, moves, emit);
  }

  // All successors: calls `emit(state, move, broken, pruned)`. `broken` names a property that the
  // step violates (null: none); a pruned state is beyond the limits of the model.
  template <class Emit>
  void successors(const State& state, Emit emit) {
    for (std::uint32_t i = state.turn; i < freedom_.nodes; ++i)
      if (!turn_of(state, i, emit)) return;
    if (freedom_.timing == Timing::bounded) tick(state, emit);
  }

  // Encodes a state as a row of bytes: equal rows, equal states. `to` must hold kMaxBytes; returns
  // the size of the row.
  static constexpr std::size_t kMaxBytes = Rows::kMaxBytes;
  std::size_t encode(const State& state, char* to) {
    const std::size_t size = rows_.write(state, to);
    return symmetry_.none() ? size : symmetry_.least(state, to, size, learning_);
  }
  State decode(std::string_view bytes) const { return rows_.read(bytes); }

 private:
  static std::vector<Command> just_commands(
      const std::vector<std::pair<NodeId, Command>>& commands) {
    std::vector<Command> just;
    for (const auto& [node, command] : commands) just.push_back(command);
    return just;
  }

  // --- the network ---

  bool has_capacity(const State& state, NodeId to) {
    if (state.flights == kMaxFlights) {
      failure_ = "more than 64 messages are under way; use fewer nodes or fewer faults";
      return false;
    }
    return freedom_.inbox == 0 || mail_.count(state, to) < freedom_.inbox;
  }
  bool cut_off(const State& state, const typename Parts<Model>::Flight& flight) const {
    return state.cut != 0 && freedom_.apart(flight.from, flight.to);
  }

  // --- the turn of a node ---

  bool bounded() const { return freedom_.timing == Timing::bounded; }

  // Emits all events of this node; returns whether the tick may pass for it.
  template <class Emit>
  bool turn_of(const State& state, std::uint32_t i, Emit& emit) {
    const NodeId node{i};
    if (bounded() && state.turn != i) {
      State later = state;
      later.turn = static_cast<std::uint8_t>(i);
      return turn_of(later, i, emit);
    }
    const State& here = state;
    if (state.wait[i] != 0) {
      if (state.wait[i] > 1) return true;
      miss(here, node, emit);
      State next = here;
      next.wait[i] = 0;
      next.local[i] = parts_->unstarted(node, 1, learning_);
      step(here, next, node, Happening::start, {}, emit);
      return false;
    }
    if (state.local[i] == kDown) {
      if (state.left.restarts == 0) return true;
      miss(here, node, emit);
      restart(here, node, emit);
      return true;
    }
    if (state.pause[i] != 0) {
      State next = here;
      next.pause[i] = 0;
      finish(here, next, {.what = Happening::resume, .node = node}, emit);
      return true;
    }
    const std::uint32_t due = parts_->local(state.local[i]).due;
    std::uint32_t timers = bounded() ? due : parts_->local(state.local[i]).set;
    bool idle = timers == 0;
    bool may_leave = due == 0;
    if (freedom_.mail_first && mail_.must_arrive(here, node)) timers = 0;
    State next = here;  // each change below is undone
    for (; timers != 0; timers &= timers - 1)
      step(here, next, node, Happening::wake,
           {Input::Kind::wake, static_cast<std::uint32_t>(std::countr_zero(timers))}, emit);
    for (std::uint32_t at = 0; at < state.flights; ++at) {
      const std::uint32_t code = state.flight[at];
      if (parts_->flight(flight_of(code)).to != node || !mail_.ripe(code)) continue;
      if (mail_.is_last_tick(code)) may_leave = false;
      if (at > 0 && state.flight[at - 1] == code) continue;  // an equal message
      if (mail_.overtakes(state, at)) continue;
      idle = false;
      mail_.remove(next, at);
      step(here, next, node, Happening::deliver, {Input::Kind::receive, flight_of(code)}, emit);
      mail_.insert_at(next, at, code);
    }
    for (std::uint32_t c = 0; c < commands_.size(); ++c) {
      if ((state.given >> c & 1) != 0 || commands_[c].first != node) continue;
      next.given |= static_cast<std::uint16_t>(1U << c);
      step(here, next, node, Happening::command, {Input::Kind::command, c}, emit);
      next.given = state.given;
    }
    if (idle) return true;
    if (state.left.crashes != 0) {
      State crashed = here;
      --crashed.left.crashes;
      crashed.local[i] = kDown;
      crashed.memory[i] = 0;
      mail_.drop_unheard(crashed);
      finish(here, crashed, {.what = Happening::crash, .node = node}, emit);
    }
    if (state.left.pauses != 0) {
      State paused = here;
      --paused.left.pauses;
      paused.pause[i] = 1;
      finish(here, paused, {.what = Happening::pause, .node = node}, emit);
    }
    return may_leave || !bounded();
  }

  // A message to a node that may start now may have arrived before. The time does not matter, so it
  // is decided here.
  template <class Emit>
  void miss(const State& state, NodeId node, Emit& emit) {
    for (std::uint32_t at = 0; at < state.flights; ++at) {
      const std::uint32_t code = state.flight[at];
      if (parts_->flight(flight_of(code)).to != node || !mail_.ripe(code)) continue;
      if (at > 0 && state.flight[at - 1] == code) continue;
      if (mail_.overtakes(state, at)) continue;
      State next = state;
      mail_.remove(next, at);
      finish(state, next, {.what = Happening::miss, .node = node, .detail = flight_of(code)}, emit);
    }
  }

  template <class Emit>
  void restart(const State& state, NodeId node, Emit& emit) {
    State next = state;
    --next.left.restarts;
    ++next.incarnations[index(node)];
    next.local[index(node)] = parts_->unstarted(node, next.incarnations[index(node)], learning_);
    mail_.drop_unheard(next);
    step(state, next, node, Happening::restart, {}, emit);
  }

  // --- steps of machines ---

  // `state` is the state in which the node takes the step, `origin` the state before the move.
  template <class Emit>
  void step(const State& origin, State& state, NodeId node, Happening what, Input input,
            Emit& emit) {
    const std::uint32_t local = state.local[index(node)];
    const auto [first, end] = parts_->step(local, input, learning_);
    for (std::uint32_t number = first; number < end; ++number) {
      const auto outcome = parts_->outcome(number);  // a copy: outcomes may be added meanwhile
      state.local[index(node)] = outcome.local;
      Move move{.what = what, .node = node, .detail = input.what, .outcome = number};
      const char* broken = outcome.broken;
      bool pruned = false;
      judge(origin, state, node, broken, pruned);
      const auto judged = [&](const State& placed, const Move& placed_move) {
        emit(placed, placed_move, broken, pruned);
      };
      place(state, outcome, 0, move, judged);
      state.memory = origin.memory;
    }
    state.local[index(node)] = local;
  }

  void judge(const State& before, State& after, NodeId node, const char*& broken, bool& pruned) {
    if (broken == nullptr && after.local[index(node)] != kDown)
      broken = parts_->local(after.local[index(node)]).broken;
    if constexpr (kRemembers) {
      const Scene<View> then = scene(before);
      Scene<View> now = scene(after);
      pruned = !model_->remember(then, now, node);
      for (std::uint32_t i = 0; i < freedom_.nodes; ++i) after.memory[i] = now.slots[i].memory;
    }
    if constexpr (requires(Scene<View> s) { model_->broken_move(s, s, node); })
      if (broken == nullptr) broken = model_->broken_move(scene(before), scene(after), node);
  }

  // Decides the delivery of the sends from number `at` on. Restores state and move before it
  // returns.
  template <class Emit>
  void place(State& state, const typename Parts<Model>::Outcome& outcome, std::uint32_t at,
             Move& move, Emit& emit) {
    const auto sends = parts_->sends(outcome);
    if (at == sends.size()) {
      if (parts_->numbered()) {
        State done = state;
        name_numbers(done);
        emit(done, move);
      } else {
        emit(state, move);
      }
      return;
    }
    CHECK(at < 64);
    const auto send = sends[at];
    const NodeId to = parts_->flight(send.flight).to;
    if (will_never_run(state, to) || cut_off(state, parts_->flight(send.flight))) {
      place(state, outcome, at + 1, move, emit);
      return;
    }
    const std::uint64_t bit = std::uint64_t{1} << at;
    // In an ordered network all copies of a broadcast are delivered or lost together.
    const bool follows =
        freedom_.network == Network::ordered && at > 0 && sends[at - 1].output == send.output;
    const bool first_lost = follows && (move.lost >> (at - 1) & 1) != 0;
    if (!(follows && first_lost)) arrive(state, outcome, at, move, emit);
    if (follows ? first_lost : state.left.losses != 0) {
      const std::uint8_t left = state.left.losses;
      if (!follows && left != Budget::kAnyNumber) --state.left.losses;
      move.lost |= bit;
      place(state, outcome, at + 1, move, emit);
      move.lost &= ~bit;
      state.left.losses = left;
    }
  }
  template <class Emit>
  void arrive(State& state, const typename Parts<Model>::Outcome& outcome, std::uint32_t at,
              Move& move, Emit& emit) {
    const std::uint32_t flight = parts_->sends(outcome)[at].flight;
    const NodeId to = parts_->flight(flight).to;
    if (!has_capacity(state, to)) return;
    const std::uint32_t code = mail_.code_of(flight, 0);
    if (freedom_.network == Network::set) {
      const auto* const end = state.flight.begin() + state.flights;
      if (std::find(static_cast<const std::uint32_t*>(state.flight.begin()), end, code) != end) {
        place(state, outcome, at + 1, move, emit);
        return;
      }
    }
    const std::uint32_t position = mail_.insert(state, code);
    place(state, outcome, at + 1, move, emit);
    if (state.left.duplicates != 0 && freedom_.network != Network::set && has_capacity(state, to)) {
      const std::uint64_t bit = std::uint64_t{1} << at;
      const std::uint8_t left = state.left.duplicates;
      const std::uint32_t copy = mail_.insert(state, code);
      if (left != Budget::kAnyNumber) --state.left.duplicates;
      move.twice |= bit;
      place(state, outcome, at + 1, move, emit);
      move.twice &= ~bit;
      state.left.duplicates = left;
      mail_.remove(state, copy);
    }
    mail_.remove(state, position);
  }

  // Renames the live numbers, so that states that differ only by these numbers are equal.
  void name_numbers(State& state) {
    if (!parts_->numbered()) return;
    Numbers all;
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i)
      if (state.local[i] != kDown) parts_->add_local_numbers(state.local[i], all);
    for (std::uint32_t i = 0; i < state.flights; ++i)
      parts_->add_flight_numbers(flight_of(state.flight[i]), all);
    const std::uint32_t context = parts_->context(all, learning_);
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i)
      if (state.local[i] != kDown)
        state.local[i] = parts_->named_local(state.local[i], context, learning_);
    bool changed = false;
    for (std::uint32_t i = 0; i < state.flights; ++i) {
      const std::uint32_t code = state.flight[i];
      const std::uint32_t named =
          mail_.code_of(parts_->named_flight(flight_of(code), context, learning_), age_of(code));
      changed |= named != code;
      state.flight[i] = named;
    }
    if (changed) mail_.sort(state);
  }

  // --- initial states, faults and ticks ---

  template <class Emit>
  void begin_from(const State& state, std::uint32_t node, std::vector<Move>& moves, Emit& emit) {
    if (node == freedom_.nodes) {
      State done = state;
      name_numbers(done);
      emit(done, moves);
      return;
    }
    if (state.wait[node] != 1) {
      begin_from(state, node + 1, moves, emit);
      return;
    }
    const auto [first, end] =
        parts_->step(parts_->unstarted(NodeId{node}, 1, learning_), {}, learning_);
    for (std::uint32_t number = first; number < end; ++number) {
      const auto outcome = parts_->outcome(number);
      State next = state;
      next.local[node] = outcome.local;
      next.wait[node] = 0;
      Move move{.what = Happening::start, .node = NodeId{node}, .outcome = number};
      const auto started = [&](const State& placed, const Move& placed_move) {
        moves.push_back(placed_move);
        begin_from(placed, node + 1, moves, emit);
        moves.pop_back();
      };
      place(next, outcome, 0, move, started);
    }
  }

  template <class Emit>
  void finish(const State& before, State& next, const Move& move, Emit& emit) {
    const char* broken = nullptr;
    bool pruned = false;
    judge(before, next, move.node, broken, pruned);
    name_numbers(next);
    emit(next, move, broken, pruned);
  }

  // Lets one tick pass for all nodes.
  void pass(State& state) {
    state.turn = 0;
    if (state.cut > 0) --state.cut;
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i) {
      if (state.wait[i] > 1) --state.wait[i];
      if (state.local[i] == kDown || state.pause[i] > kLongestPause) continue;
      if (state.pause[i] != 0 && !freedom_.settles) ++state.pause[i];
      state.local[i] = parts_->ticked(state.local[i], learning_);
    }
    mail_.age(state);
  }

  // A tick without events has changed nothing.
  static bool stands_still(const std::array<std::uint32_t, kMaxNodes>& before, const State& after) {
    return after.local == before && after.flights == 0 && after.cut == 0 &&
           std::ranges::all_of(after.wait, [](std::uint8_t ticks) { return ticks == 0; });
  }

  // No event is possible before the next tick.
  bool nothing_happens(const State& state) const {
    if (state.left.drifts != 0) return false;
    if (state.given != (1U << commands_.size()) - 1) return false;
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i) {
      if (state.wait[i] == 1) return false;
      if (state.local[i] == kDown) {
        if (state.left.restarts != 0) return false;
      } else if (state.pause[i] != 0 || parts_->local(state.local[i]).due != 0) {
        return false;
      }
    }
    for (std::uint32_t i = 0; i < state.flights; ++i)
      if (mail_.ripe(state.flight[i])) return false;
    return true;
  }

  template <class Emit>
  void tick(const State& state, Emit& emit) {
    State next = state;
    std::uint32_t ticks = 0;
    for (;;) {
      const auto before = next.local;
      pass(next);
      if (learning_.missed) return;
      ++ticks;
      if (!nothing_happens(next)) break;
      if (stands_still(before, next) || ticks == kMaxIdleTicks) return;  // nothing will ever change
    }
    if (state.left.drifts != 0) drift(state, next, emit);
    name_numbers(next);
    emit(next, Move{.what = Happening::tick, .detail = ticks}, nullptr, false);
  }

  // The same tick, except that one clock gains or loses one tick.
  template <class Emit>
  void drift(const State& state, const State& after, Emit& emit) {
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i) {
      if (state.local[i] == kDown || state.pause[i] != 0) continue;
      State drifted = after;
      --drifted.left.drifts;
      State other = drifted;
      drifted.local[i] = state.local[i];
      finish(state, drifted, {.what = Happening::lag, .node = NodeId{i}, .detail = 1}, emit);
      if (parts_->local(after.local[i]).due != 0) continue;  // due timers fire first
      other.local[i] = parts_->ticked(after.local[i], learning_);
      finish(state, other, {.what = Happening::gain, .node = NodeId{i}, .detail = 1}, emit);
    }
  }

  const Model* model_;
  Freedom freedom_;
  std::vector<std::pair<NodeId, Command>> commands_;
  std::shared_ptr<Parts<Model>> parts_;
  Learning learning_;
  Mail<Model> mail_;
  Rows rows_;
  Symmetry<Model> symmetry_;
  const char* failure_ = nullptr;
};

}  // namespace tempo::check
