// Breadth-first search of all reachable states; every trace it reports is a shortest one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lab/check/finding.h"
#include "lab/check/outlook.h"
#include "lab/check/space.h"
#include "lab/check/store.h"
#include "lab/check/turnstile.h"

namespace tempo::check {

template <class Model>
class Search {
 public:
  using View = typename Model::View;
  using State = typename Space<Model>::State;
  static constexpr bool kWantsGood =
      requires(const Model& model, const Scene<View>& scene) { model.good(scene); };
  static constexpr bool kHasBroken =
      requires(const Model& model, const Scene<View>& scene) { model.broken(scene); };

  Search(Space<Model>& space, SearchOptions options)
      : space_(&space),
        options_(std::move(options)),
        store_(options_.fingerprints ? Store::Keeps::fingerprints : Store::Keeps::strings) {}

  Finding run() {
    begin_ = std::chrono::steady_clock::now();
    Chunk first;
    space_->begin([&](const State& state, const std::vector<Move>&) {
      admit(*space_, first, state, Store::kNone, nullptr, true);
    });
    keep(first, 0, first.pending.size());
    while (!over_ && next_depth())
      if (options_.threads > 1 && depth_end_ - depth_begin_ > kChunk)
        expand_together();
      else
        expand_alone();
    if (dead_end_ && !broken_) {
      finding_.stopped.clear();
      broken_ = {kDeadEnd, Store::kNone, *dead_end_};
    }
    if (broken_) report_broken();
    if (kWantsGood && !over_)
      if (const auto lost = outlook_.first_lost()) report_unreachable_good(*lost);
    finding_.states = store_.size();
    if (options_.fingerprints) finding_.omission = omission(finding_.states);
    finding_.complete = finding_.stopped.empty() && !finding_.violation;
    finding_.seconds = seconds();
    finding_.bytes = bytes();
    finding_.local_states = space_->parts().locals();
    return finding_;
  }

  // The moves from the beginning to a state; the first ones are the starts of the nodes.
  std::vector<Move> trace_to(std::uint32_t number) { return trace_through(chain_to(number)); }

 private:
  static constexpr std::size_t kApart = 128;  // bytes: adjacent cache lines are fetched in pairs

  struct Pending {
    std::uint64_t hash = 0;
    std::uint32_t from = 0;
    std::uint32_t begin = 0,
                  end = 0;              // in the chunk's bytes; equal: an edge to a pruned state
    const char* broken_move = nullptr;  // property violated by the move to this state
    const char* broken = nullptr;       // property violated by the state
    bool good = false;
    bool edge = false;
  };
  // The result of expanding one state.
  struct Expanded {
    std::size_t pending_end = 0;
    std::uint32_t transitions = 0;
    std::uint32_t pruned = 0;
    bool dead_end = false;
    bool missed = false;  // it needs a part that is not stored yet
  };
  // A range of states and their successors, before they are stored. Aligned so that the data of
  // different threads do not share cache lines.
  struct alignas(kApart) Chunk {
    std::uint32_t first = 0;  // number of its first state
    std::vector<Expanded> states;
    std::vector<char> bytes;  // encoded rows, followed by free space
    std::size_t used = 0;
    std::vector<Pending> pending;
    bool ready = false;

    void clear() {
      states.clear();
      used = 0;
      pending.clear();
      ready = false;
    }
    char* reserve(std::size_t more) {
      if (bytes.size() - used < more) bytes.resize(bytes.size() * 2 + more);
      return &bytes[used];
    }
    std::string_view row(const Pending& one) const {
      return {&bytes[one.begin], one.end - one.begin};
    }
  };
  struct Broken {
    const char* property;
    std::uint32_t from;  // kNone: the state violates the property, not the step to it
    std::uint32_t number;
  };
  static constexpr std::uint32_t kChunk = 64;     // states in a chunk
  static constexpr std::size_t kAhead = 12;       // lookups from a prefetch to its use
  static constexpr std::uint32_t kMaxAhead = 64;  // chunks that may wait to be stored

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  std::size_t bytes() const {
    return store_.bytes() + space_->parts().bytes() + outlook_.bytes() + level_.capacity();
  }
  void stop(const char* why) {
    finding_.stopped = why;
    over_ = true;
  }

  // Called when all states of a depth have been expanded; returns false if there is no deeper
  // state.
  bool next_depth() {
    look_around();
    if (over_ || depth_end_ == store_.size()) return false;
    if (depth_end_ != 0) ++finding_.depth;
    depth_begin_ = depth_end_;
    depth_end_ = store_.size();
    store_.forget_before(depth_begin_);
    return true;
  }

  void expand_alone() {
    for (std::uint32_t first = depth_begin_; first < depth_end_ && !over_; first += kChunk) {
      alone_.clear();
      alone_.first = first;
      const std::uint32_t end = std::min(first + kChunk, depth_end_);
      for (std::uint32_t i = first; i < end; ++i) expand(*space_, alone_, i, store_.at(i));
      keep(alone_);
    }
  }

  // Threads expand the chunks of a level in parallel. This thread also stores the results, chunk by
  // chunk in order, and only this thread adds parts; the result is therefore that of a single
  // thread.
  void expand_together() {
    // The store moves its strings; threads read a copy of the level.
    level_.clear();
    level_begin_.clear();
    for (std::uint32_t i = depth_begin_; i < depth_end_; ++i) {
      level_begin_.push_back(level_.size());
      level_ += store_.at(i);
    }
    level_begin_.push_back(level_.size());
    Team team{.chunks = (depth_end_ - depth_begin_ + kChunk - 1) / kChunk,
              .parts = Turnstile(options_.threads)};
    while (readers_.size() < options_.threads) readers_.push_back(space_->reader());
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < options_.threads; ++i) others.emplace_back([&, i] { work(team, i); });
    work(team, 0);
  }

  struct Team {
    std::mutex mutex{};  // guards the members below, except chunks being expanded or stored
    std::condition_variable changed{};
    std::uint32_t chunks = 0;
    std::uint32_t claimed = 0;
    std::uint32_t kept = 0;
    std::array<Chunk, kMaxAhead> window{};
    Turnstile parts;  // gives exclusive access for adding parts
  };

  void work(Team& team, unsigned thread) {
    std::unique_lock lock(team.mutex);
    while (team.kept < team.chunks && !over_) {
      Chunk& oldest = team.window[team.kept % kMaxAhead];
      if (thread == 0 && team.kept < team.claimed && oldest.ready) {
        lock.unlock();
        keep(oldest, &team.parts);
        oldest.clear();
        lock.lock();
        ++team.kept;
        team.changed.notify_all();
      } else if (team.claimed < std::min(team.chunks, team.kept + kMaxAhead)) {
        const std::uint32_t number = team.claimed++;
        lock.unlock();
        Chunk& chunk = team.window[number % kMaxAhead];
        expand(team, thread, chunk, number);
        lock.lock();
        chunk.ready = true;
        team.changed.notify_all();
      } else {
        team.changed.wait(lock);
      }
    }
    team.changed.notify_all();
  }

  void expand(Team& team, unsigned thread, Chunk& chunk, std::uint32_t number) {
    chunk.first = depth_begin_ + number * kChunk;
    const std::uint32_t end = std::min(chunk.first + kChunk, depth_end_);
    for (std::uint32_t i = chunk.first; i < end; ++i) {
      team.parts.enter(thread);
      expand(readers_[thread], chunk, i, level_row(i));
      team.parts.leave(thread);
    }
  }
  std::string_view level_row(std::uint32_t number) const {
    const std::size_t i = number - depth_begin_;
    return std::string_view{level_}.substr(level_begin_[i], level_begin_[i + 1] - level_begin_[i]);
  }

  void expand(Space<Model>& space, Chunk& chunk, std::uint32_t number, std::string_view row) {
    const State state = space.decode(row);
    const std::size_t used = chunk.used;
    const std::size_t pending = chunk.pending.size();
    Expanded& here = chunk.states.emplace_back();
    space.successors(state,
                     [&](const State& next, const Move& move, const char* broken, bool pruned) {
                       if (space.missed()) return;
                       const bool fault = is_fault(move.what) || (move.lost | move.twice) != 0;
                       ++here.transitions;
                       if (pruned && broken == nullptr) {
                         ++here.pruned;
                         if (kWantsGood && !fault)
                           chunk.pending.push_back({.from = number, .edge = true});
                         return;
                       }
                       admit(space, chunk, next, number, broken, !fault);
                     });
    if constexpr (kWantsGood)
      here.dead_end = here.transitions == 0 && !space.model().good(space.scene(state));
    if (space.missed()) {
      space.clear_missed();
      here = {.missed = true};
      chunk.used = used;
      chunk.pending.resize(pending);
    }
    here.pending_end = chunk.pending.size();
  }

  void look_around() {
    if (space_->failure() != nullptr) stop(space_->failure());
    for (const Space<Model>& reader : readers_)
      if (reader.failure() != nullptr) stop(reader.failure());
    const std::size_t used = bytes();
    if (used > options_.memory) stop("memory limit reached");
    if (options_.progress &&
        !options_.progress({store_.size(), finding_.transitions, finding_.depth, seconds(), used}))
      stop("interrupted");
  }

  void admit(Space<Model>& space, Chunk& chunk, const State& state, std::uint32_t from,
             const char* broken_move, bool edge) {
    char* const row = chunk.reserve(Space<Model>::kMaxBytes);
    const std::size_t size = space.encode(state, row);
    const std::uint64_t hash = Store::hash({row, size});
    if (options_.threads == 1) store_.prefetch(hash);
    Pending& pending = chunk.pending.emplace_back();
    pending.hash = hash;
    pending.from = from;
    pending.begin = static_cast<std::uint32_t>(chunk.used);
    chunk.used += size;
    pending.end = static_cast<std::uint32_t>(chunk.used);
    pending.broken_move = broken_move;
    pending.edge = edge;
    if constexpr (kHasBroken || kWantsGood) {
      const Scene<View> scene = space.scene(state);
      if constexpr (kHasBroken) pending.broken = space.model().broken(scene);
      if constexpr (kWantsGood) pending.good = space.model().good(scene);
    }
  }

  // Stores the successors of a chunk's states. If a part was missing, expands the state again and
  // adds the part while no reader is inside `parts` (null: there are no readers).
  void keep(const Chunk& chunk, Turnstile* parts = nullptr) {
    std::size_t from = 0;
    std::uint32_t number = chunk.first;
    for (const Expanded& state : chunk.states) {
      if (state.missed) {
        alone_.clear();
        parts->alone([&] { expand(*space_, alone_, number, level_row(number)); });
        keep_one(alone_, alone_.states.front(), 0, number);
      } else {
        keep_one(chunk, state, from, number);
      }
      if (over_) return;
      from = state.pending_end;
      if (++number % 4096 == 0) look_around();
    }
  }
  void keep_one(const Chunk& chunk, const Expanded& state, std::size_t from, std::uint32_t number) {
    if (kWantsGood) outlook_.expand();
    finding_.transitions += state.transitions;
    finding_.pruned += state.pruned;
    keep(chunk, from, state.pending_end);
    if (state.dead_end && !dead_end_) {
      dead_end_ = number;
      stop(kDeadEnd);
    }
  }

  // A lookup reads three words of memory, and each gives the address of the next. The prefetches
  // run some lookups ahead.
  void fetch_ahead(const Chunk& chunk, std::size_t at) const {
    const auto& pending = chunk.pending;
    if (options_.threads > 1 && at + 3 * kAhead < pending.size())
      store_.prefetch(pending[at + 3 * kAhead].hash);
    if (at + 2 * kAhead < pending.size()) store_.prefetch_place(pending[at + 2 * kAhead].hash);
    if (at + kAhead < pending.size()) store_.prefetch_string(pending[at + kAhead].hash);
  }

  void keep(const Chunk& chunk, std::size_t from, std::size_t end) {
    for (; from < end && !broken_; ++from) {
      fetch_ahead(chunk, from);
      const Pending& pending = chunk.pending[from];
      if (pending.begin == pending.end) {
        outlook_.add_edge_beyond();
        continue;
      }
      const Store::Added added = store_.add(chunk.row(pending), pending.hash, pending.from);
      if (kWantsGood && pending.edge && pending.from != Store::kNone)
        outlook_.add_edge(added.number);
      if (pending.broken_move != nullptr)
        record_broken({pending.broken_move, pending.from, added.number});
      else if (added.fresh && pending.broken != nullptr)
        record_broken({pending.broken, Store::kNone, added.number});
      if (kWantsGood && added.fresh) outlook_.add_state(pending.good);
    }
  }

  void record_broken(const Broken& broken) {
    if (broken_) return;
    broken_ = broken;
    over_ = true;
  }

  void report_broken() {
    if (broken_->from == Store::kNone) {
      finding_.violation = Violation{broken_->property, trace_to(broken_->number), {}};
      return;
    }
    std::vector<std::uint32_t> chain = chain_to(broken_->from);
    chain.push_back(broken_->number);
    finding_.violation = Violation{broken_->property, trace_through(chain), {}};
  }

  std::vector<std::uint32_t> chain_to(std::uint32_t number) const {
    std::vector<std::uint32_t> chain;
    for (; number != Store::kNone; number = store_.from(number)) chain.push_back(number);
    std::ranges::reverse(chain);
    return chain;
  }

  // Replays the run from the beginning, state by state along the chain.
  std::vector<Move> trace_through(const std::vector<std::uint32_t>& chain) {
    std::vector<Move> trace;
    std::optional<State> here;
    space_->begin([&](const State& state, const std::vector<Move>& moves) {
      if (here || !is(state, chain[0])) return;
      here = state;
      trace = moves;
    });
    CHECK(here.has_value());
    for (std::size_t i = 1; i < chain.size(); ++i) trace.push_back(go(*here, chain[i]));
    return trace;
  }
  bool is(const State& state, std::uint32_t number) {
    const std::size_t size = space_->encode(state, encoded_.data());
    const std::string_view row{encoded_.data(), size};
    return store_.is(number, row, Store::hash(row));
  }
  Move go(State& here, std::uint32_t number) {
    std::optional<std::pair<State, Move>> found;
    space_->successors(here, [&](const State& next, const Move& move, const char*, bool) {
      if (!found && is(next, number)) found.emplace(next, move);
    });
    CHECK(found.has_value());
    here = found->first;
    return found->second;
  }

  // Reports a trace to a state from which no stable good state is reachable, and its continuation
  // to a cycle or a dead end.
  void report_unreachable_good(std::uint32_t number) {
    const Outlook::Walk walk = outlook_.walk_from(number);
    std::vector<std::uint32_t> chain = chain_to(number);
    const std::size_t prefix = chain.size();
    chain.insert(chain.end(), walk.states.begin() + 1, walk.states.end());
    const std::vector<Move> all = trace_through(chain);
    const std::size_t starts = all.size() + 1 - chain.size();
    const auto split = static_cast<std::ptrdiff_t>(starts + prefix - 1 + walk.back);
    finding_.violation =
        Violation{kComesGood, {all.begin(), all.begin() + split}, {all.begin() + split, all.end()}};
  }

  // Constant while threads work in parallel.
  Space<Model>* space_;
  SearchOptions options_;
  std::chrono::steady_clock::time_point begin_;
  std::uint32_t depth_begin_ = 0,
                depth_end_ = 0;           // states at the depth that is being expanded
  std::string level_;                     // copy of their rows, for parallel expansion
  std::vector<std::size_t> level_begin_;  // start of each row in level_
  std::vector<Space<Model>> readers_;     // one for each thread
  std::atomic<bool> over_ = false;

  // Used only by the thread that stores.
  Chunk alone_;
  std::array<char, Space<Model>::kMaxBytes> encoded_;
  Finding finding_;
  Store store_;
  Outlook outlook_;
  std::optional<std::uint32_t> dead_end_;
  std::optional<Broken> broken_;
};

}  // namespace tempo::check
