// The space of states: what a state of the world is, and what can happen in it.
//
// Within a tick all that is possible at one node may happen in any order. A tick passes, for all
// nodes at once, when no timer is due and no message has to arrive any more. What becomes of a
// message is decided when it is sent: it arrives, it is lost, it arrives twice, as far as the
// budget goes. A node that does not run misses what arrives, which costs no budget.
//
// Three things are left out because they lead to nothing new. Nodes take their turns within a tick
// in the order of their numbers: no message arrives in the tick in which it is sent, so what one
// node does then makes no difference to another. A node crashes or pauses only when it could do
// something else: until then nobody can tell. And ticks in which nobody can do anything pass as one
// move.
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
  static constexpr std::uint8_t kLongestPause = 40;  // ticks; a longer one counts as this long
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

  // The same space for another thread, which sees what this one has learnt and learns nothing by
  // itself: where it would have to, it has `missed` something and what it said is worth nothing.
  Space reader() const {
    Space reader = *this;
    reader.learning_ = {.allowed = false};
    return reader;
  }
  bool missed() const { return learning_.missed; }
  void forgive() { learning_.missed = false; }

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

  // Every state in which the world can begin: all nodes start, in their order. `emit(state,
  // moves)`.
  template <class Emit>
  void begin(Emit emit) {
    State state;
    state.left = freedom_.budget;
    state.cut = freedom_.cut_until;
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i) {
      state.lives[i] = 1;
      state.local[i] = kDown;
      state.wait[i] = static_cast<std::uint8_t>(freedom_.starts[i] + 1);
    }
    std::vector<Move> moves;
    begin_from(state, 0, moves, emit);
  }

  // Everything that can happen next: `emit(state, move, broken, pruned)`. `broken` names a promise
  // that the step breaks; a pruned state is beyond what is to be looked at.
  template <class Emit>
  void successors(const State& state, Emit emit) {
    for (std::uint32_t i = state.turn; i < freedom_.nodes; ++i)
      if (!turn_of(state, i, emit)) return;
    if (freedom_.timing == Timing::bounded) tick(state, emit);
  }

  // A state as a row of bytes: equal rows, equal states. `to` has room for kMaxBytes; how many of
  // them the row takes.
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

  bool has_room(const State& state, NodeId to) {
    if (state.flights == kMaxFlights) {
      failure_ = "more messages are under way than the checker can hold";
      return false;
    }
    return freedom_.inbox == 0 || mail_.count(state, to) < freedom_.inbox;
  }
  bool cut_off(const State& state, const typename Parts<Model>::Flight& flight) const {
    return state.cut != 0 && freedom_.apart(flight.from, flight.to);
  }

  // --- what one node can do ---

  bool bounded() const { return freedom_.timing == Timing::bounded; }

  // Everything that can happen at this node; whether it may leave the tick as it is.
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
      next.local[i] = parts_->unborn(node, 1, learning_);
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
    State next = here;  // everything that changes it changes it back
    for (; timers != 0; timers &= timers - 1)
      step(here, next, node, Happening::wake,
           {Input::Kind::wake, static_cast<std::uint32_t>(std::countr_zero(timers))}, emit);
    for (std::uint32_t at = 0; at < state.flights; ++at) {
      const std::uint32_t code = state.flight[at];
      if (parts_->flight(flight_of(code)).to != node || !mail_.ripe(code)) continue;
      if (mail_.is_last_tick(code)) may_leave = false;
      if (at > 0 && state.flight[at - 1] == code) continue;  // the same message again
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

  // What is under way to a node that may start now may have come before. It makes no difference
  // when, so it is decided here.
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
    ++next.lives[index(node)];
    next.local[index(node)] = parts_->unborn(node, next.lives[index(node)], learning_);
    mail_.drop_unheard(next);
    step(state, next, node, Happening::restart, {}, emit);
  }

  // --- steps of machines ---

  // `state` is where the node takes the step, `origin` what it was before anything happened.
  template <class Emit>
  void step(const State& origin, State& state, NodeId node, Happening what, Input input,
            Emit& emit) {
    const std::uint32_t local = state.local[index(node)];
    const auto [first, end] = parts_->step(local, input, learning_);
    for (std::uint32_t number = first; number < end; ++number) {
      const auto outcome = parts_->outcome(number);  // a copy: more may be worked out meanwhile
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

  // Decides what becomes of the sends from number `at` on. State and move are changed on the way
  // and are afterwards as they were.
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
    // In an ordered network all copies of a broadcast share the fate of the first.
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
    if (!has_room(state, to)) return;
    const std::uint32_t code = mail_.code_of(flight, 0);
    if (freedom_.network == Network::set) {
      const auto* const end = state.flight.begin() + state.flights;
      if (std::find(static_cast<const std::uint32_t*>(state.flight.begin()), end, code) != end) {
        place(state, outcome, at + 1, move, emit);
        return;
      }
    }
    const std::uint32_t lies = mail_.insert(state, code);
    place(state, outcome, at + 1, move, emit);
    if (state.left.duplicates != 0 && freedom_.network != Network::set && has_room(state, to)) {
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
    mail_.remove(state, lies);
  }

  // Gives the numbers in play their names, so that what differs by names alone is one state.
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

  // --- beginnings, faults and the tick ---

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
        parts_->step(parts_->unborn(NodeId{node}, 1, learning_), {}, learning_);
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

  // One tick for all.
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

  // Whether a tick in which nothing happens has left everything as it was.
  static bool stands_still(const std::array<std::uint32_t, kMaxNodes>& before, const State& after) {
    return after.local == before && after.flights == 0 && after.cut == 0 &&
           std::ranges::all_of(after.wait, [](std::uint8_t ticks) { return ticks == 0; });
  }

  // Whether nothing at all can happen before the next tick.
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
      if (stands_still(before, next) || ticks == kMaxIdleTicks) return;  // and so it stays
    }
    if (state.left.drifts != 0) drift(state, next, emit);
    name_numbers(next);
    emit(next, Move{.what = Happening::tick, .detail = ticks}, nullptr, false);
  }

  // The same tick, but one clock gains or loses one.
  template <class Emit>
  void drift(const State& state, const State& after, Emit& emit) {
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i) {
      if (state.local[i] == kDown || state.pause[i] != 0) continue;
      State drifted = after;
      --drifted.left.drifts;
      State other = drifted;
      drifted.local[i] = state.local[i];
      finish(state, drifted, {.what = Happening::lag, .node = NodeId{i}, .detail = 1}, emit);
      if (parts_->local(after.local[i]).due != 0) continue;  // what is due comes first
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
