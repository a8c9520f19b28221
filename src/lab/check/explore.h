// The search: every reachable state, breadth first, so that what is found is
// found by a shortest way.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lab/check/space.h"
#include "lab/check/store.h"

namespace tempo::check {

struct Progress {
  std::uint64_t states = 0;
  std::uint64_t expanded = 0;
  std::uint64_t transitions = 0;
  std::uint32_t depth = 0;
  double seconds = 0;
  std::size_t bytes = 0;
};

struct SearchOptions {
  std::size_t memory = std::size_t{4} << 30;
  bool fingerprints = false;  // 64 bits stand for a state: less memory, see Finding::omission
  unsigned threads = 1;       // 2: one searches, one keeps what was found; the result is the same
  std::function<bool(const Progress&)> progress{};  // now and then; false stops the search
};

// What the search found. `cycle` is empty unless the violation is a way that
// never leads to good.
struct Violation {
  std::string promise;
  std::vector<Move> stem;
  std::vector<Move> cycle;
};

struct Finding {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t pruned = 0;  // steps beyond what was to be looked at
  std::uint32_t depth = 0;   // steps of the longest shortest way
  double seconds = 0;
  std::size_t bytes = 0;
  std::size_t local_states = 0;
  double omission = 0;  // how likely it is, at most, that a state was taken for another
  bool complete = false;
  std::string stopped;  // why not complete
  std::optional<Violation> violation;
};

// So many pairs of states, each of them with one chance in 2^64 to share a
// fingerprint.
inline double omission(std::uint64_t states) {
  return static_cast<double>(states) * static_cast<double>(states) * 0x1p-65;
}

inline constexpr const char* kComesGood = "can-always-come-good";
inline constexpr const char* kDeadEnd = "no-dead-end";

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
    {
      std::optional<Keeper> keeper;
      if (options_.threads > 1) keeper.emplace(*this);
      keeper_ = keeper ? &*keeper : nullptr;
      space_->begin([&](const State& state, const std::vector<Move>&) {
        admit(state, Store::kNone, nullptr, true);
      });
      while (!over() && next_depth())
        while (!over() && next_ < depth_end_) expand();
      hand_over();
      keeper_ = nullptr;
    }
    if (dead_end_ && !broken_) {
      finding_.stopped.clear();
      broken_ = {kDeadEnd, Store::kNone, *dead_end_};
    }
    if (broken_) report_broken();
    if (kWantsGood && !over()) come_good();
    finding_.states = store_.size();
    if (options_.fingerprints) finding_.omission = omission(finding_.states);
    finding_.complete = finding_.stopped.empty() && !finding_.violation;
    finding_.seconds = seconds();
    finding_.bytes = bytes();
    finding_.local_states = space_->parts().locals();
    return finding_;
  }

  // The moves of a way from the beginning to a state; the first ones are the
  // nodes' starts.
  std::vector<Move> way_to(std::uint32_t number) { return way_through(chain_to(number)); }

 private:
  struct Pending {
    std::uint64_t hash = 0;
    std::uint32_t from = 0;
    std::uint32_t begin = 0,
                  end = 0;              // in the batch's bytes; equal: an edge to what is pruned
    const char* broken_move = nullptr;  // a promise broken by the way here
    const char* broken = nullptr;       // a promise that the state breaks
    bool good = false;
    bool edge = false;
  };
  // States on their way into the store. The searcher fills batches, the keeper
  // empties them.
  struct Batch {
    std::vector<char> bytes;  // the rows, one behind another, and room
    std::size_t used = 0;
    std::vector<Pending> pending;

    char* room(std::size_t more) {
      if (bytes.size() - used < more) bytes.resize(bytes.size() * 2 + more);
      return &bytes[used];
    }
    std::string_view row(const Pending& one) const {
      return {&bytes[one.begin], one.end - one.begin};
    }
  };
  struct Broken {
    const char* promise;
    std::uint32_t from;  // kNone: the state itself is wrong, not the step to it
    std::uint32_t number;
  };
  static constexpr std::size_t kBatch = 256;
  static constexpr std::size_t kMostBatches = 64;         // on their way
  static constexpr std::uint32_t kPruned = Store::kNone;  // an edge to what is not looked at

  // A second thread that keeps the store while this one searches. They share
  // only batches.
  class Keeper {
   public:
    explicit Keeper(Search& search) : thread_([this, &search] { work(search); }) {}
    ~Keeper() {
      {
        const std::lock_guard lock(mutex_);
        done_ = true;
      }
      changed_.notify_all();
      thread_.join();
    }
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    void give(Batch&& batch) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return waiting_.size() < kMostBatches; });
      waiting_.push_back(std::move(batch));
      lock.unlock();
      changed_.notify_all();
    }
    // Everything given has been kept.
    void finish() {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
    }

   private:
    void work(Search& search) {
      std::unique_lock lock(mutex_);
      for (;;) {
        changed_.wait(lock, [this] { return done_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        const Batch batch = std::move(waiting_.front());
        waiting_.pop_front();
        busy_ = true;
        lock.unlock();
        changed_.notify_all();
        search.keep(batch);
        lock.lock();
        busy_ = false;
        changed_.notify_all();
      }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Batch> waiting_;
    bool busy_ = false;
    bool done_ = false;
    std::thread thread_;
  };

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  std::size_t bytes() const {
    return store_.bytes() + space_->parts().bytes() + edges_.capacity() * 4 +
           edge_begin_.capacity() * 8;
  }
  bool over() const {
    return broken_seen_ || finding_.violation.has_value() || !finding_.stopped.empty();
  }

  // All states so many steps away have been expanded; whether there are any
  // further away.
  bool next_depth() {
    hand_over();
    if (keeper_ != nullptr) keeper_->finish();
    if (broken_) return false;
    look_around();
    if (next_ == store_.size()) return false;
    if (depth_end_ != 0) ++finding_.depth;
    depth_begin_ = next_;
    depth_end_ = store_.size();
    store_.forget_before(depth_begin_);
    // The keeper will move the store's strings about: what is to be expanded is
    // copied.
    if (keeper_ == nullptr) return true;
    level_.clear();
    level_begin_.clear();
    for (std::uint32_t i = depth_begin_; i < depth_end_; ++i) {
      level_begin_.push_back(level_.size());
      level_ += store_.at(i);
    }
    level_begin_.push_back(level_.size());
    return true;
  }

  std::string_view bytes_at(std::uint32_t number) const {
    if (keeper_ == nullptr) return store_.at(number);
    const std::size_t i = number - depth_begin_;
    return std::string_view{level_}.substr(level_begin_[i], level_begin_[i + 1] - level_begin_[i]);
  }

  void expand() {
    const std::uint32_t number = next_++;
    const State state = space_->decode(bytes_at(number));
    if (kWantsGood) edge_begin_.push_back(edges_given_);
    const std::uint64_t before = finding_.transitions;
    space_->successors(state,
                       [&](const State& next, const Move& move, const char* broken, bool pruned) {
                         const bool fault = is_fault(move.what) || (move.lost | move.twice) != 0;
                         ++finding_.transitions;
                         if (pruned && broken == nullptr) {
                           ++finding_.pruned;
                           if (kWantsGood && !fault) {
                             batch_.pending.push_back({.from = number, .edge = true});
                             ++edges_given_;
                           }
                           return;
                         }
                         admit(next, number, broken, !fault);
                       });
    if constexpr (kWantsGood)
      if (finding_.transitions == before && !dead_end_ &&
          !space_->model().good(space_->scene(state)))
        dead_end_ = number;
    if (number % 4096 == 0) look_around();
    if (dead_end_) finding_.stopped = kDeadEnd;
  }

  void look_around() {
    if (space_->failure() != nullptr) finding_.stopped = space_->failure();
    if (keeper_ == nullptr) kept_bytes_ = store_.bytes() + edges_.capacity() * 4;
    const std::size_t taken = kept_bytes_ + space_->parts().bytes() + edge_begin_.capacity() * 8;
    if (taken > options_.memory) finding_.stopped = "the memory allowed is used up";
    const std::uint64_t states = keeper_ == nullptr ? store_.size() : kept_states_.load();
    if (options_.progress &&
        !options_.progress({states, next_, finding_.transitions, finding_.depth, seconds(), taken}))
      finding_.stopped = "interrupted";
  }

  void admit(const State& state, std::uint32_t from, const char* broken_move, bool edge) {
    char* const row = batch_.room(Space<Model>::kMostBytes);
    const std::size_t size = space_->encode(state, row);
    const std::uint64_t hash = Store::hash({row, size});
    if (keeper_ == nullptr) store_.prefetch(hash);
    Pending& pending = batch_.pending.emplace_back();
    pending.hash = hash;
    pending.from = from;
    pending.begin = static_cast<std::uint32_t>(batch_.used);
    batch_.used += size;
    pending.end = static_cast<std::uint32_t>(batch_.used);
    pending.broken_move = broken_move;
    pending.edge = edge;
    if constexpr (kHasBroken || kWantsGood) {
      const Scene<View> scene = space_->scene(state);
      if constexpr (kHasBroken) pending.broken = space_->model().broken(scene);
      if constexpr (kWantsGood) pending.good = space_->model().good(scene);
    }
    if (kWantsGood && edge && from != Store::kNone) ++edges_given_;
    if (batch_.pending.size() >= kBatch) hand_over();
  }

  void hand_over() {
    if (batch_.pending.empty()) return;
    if (keeper_ != nullptr) {
      keeper_->give(std::move(batch_));
      batch_ = Batch{};
      batch_.pending.reserve(kBatch + 64);
    } else {
      keep(batch_);
      batch_.used = 0;
      batch_.pending.clear();
    }
  }

  // Looks a batch of states up; the table's lines are fetched ahead.
  void keep(const Batch& batch) {
    if (options_.threads > 1)
      for (const Pending& pending : batch.pending) store_.prefetch(pending.hash);
    for (const Pending& pending : batch.pending) store_.prefetch_place(pending.hash);
    for (const Pending& pending : batch.pending) store_.prefetch_string(pending.hash);
    for (const Pending& pending : batch.pending) {
      if (broken_) return;
      if (pending.begin == pending.end) {
        edges_.push_back(kPruned);
        continue;
      }
      const Store::Added added = store_.add(batch.row(pending), pending.hash, pending.from);
      if (kWantsGood && pending.edge && pending.from != Store::kNone)
        edges_.push_back(added.number);
      if (pending.broken_move != nullptr)
        note_broken({pending.broken_move, pending.from, added.number});
      else if (added.fresh && pending.broken != nullptr)
        note_broken({pending.broken, Store::kNone, added.number});
      if (kWantsGood && added.fresh) good_.push_back(pending.good);
    }
    kept_states_ = store_.size();
    kept_bytes_ = store_.bytes() + edges_.capacity() * 4;
  }

  void note_broken(const Broken& broken) {
    if (broken_) return;
    broken_ = broken;
    broken_seen_ = true;
  }

  void report_broken() {
    if (broken_->from == Store::kNone) {
      finding_.violation = Violation{broken_->promise, way_to(broken_->number), {}};
      return;
    }
    std::vector<std::uint32_t> chain = chain_to(broken_->from);
    chain.push_back(broken_->number);
    finding_.violation = Violation{broken_->promise, way_through(chain), {}};
  }

  std::vector<std::uint32_t> chain_to(std::uint32_t number) const {
    std::vector<std::uint32_t> chain;
    for (; number != Store::kNone; number = store_.from(number)) chain.push_back(number);
    std::ranges::reverse(chain);
    return chain;
  }

  // Walks from the beginning again, each time to the next state of the chain.
  std::vector<Move> way_through(const std::vector<std::uint32_t>& chain) {
    std::vector<Move> way;
    std::optional<State> here;
    space_->begin([&](const State& state, const std::vector<Move>& moves) {
      if (here || !is(state, chain[0])) return;
      here = state;
      way = moves;
    });
    CHECK(here.has_value());
    for (std::size_t i = 1; i < chain.size(); ++i) way.push_back(go(*here, chain[i]));
    return way;
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

  // From every state a stable good one must be reachable without further
  // faults: one that is good and stays good whatever happens. What leads beyond
  // what is looked at counts as good.
  void come_good() {
    const std::uint32_t states = store_.size();
    edge_begin_.push_back(edges_.size());
    std::vector<bool> stable(good_.begin(), good_.begin() + states);
    const auto each_edge = [&](std::uint32_t number, auto test) {
      for (std::uint64_t i = edge_begin_[number]; i < edge_begin_[number + 1]; ++i)
        if (test(edges_[i])) return true;
      return false;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t i = states; i-- > 0;)
        if (stable[i] &&
            each_edge(i, [&](std::uint32_t to) { return to != kPruned && !stable[to]; })) {
          stable[i] = false;
          changed = true;
        }
    }
    std::vector<bool> comes = std::move(stable);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t i = states; i-- > 0;)
        if (!comes[i] &&
            each_edge(i, [&](std::uint32_t to) { return to == kPruned || comes[to]; })) {
          comes[i] = true;
          changed = true;
        }
    }
    for (std::uint32_t i = 0; i < states; ++i) {
      if (comes[i]) continue;
      never_comes_good(i);
      return;
    }
  }

  void never_comes_good(std::uint32_t number) {
    Violation violation{kComesGood, way_to(number), {}};
    // Any walk from here comes back to where it was, or ends; none leads to
    // good.
    std::vector<std::uint32_t> walk{number};
    std::unordered_map<std::uint32_t, std::size_t> met{{number, 0}};
    for (;;) {
      const std::uint32_t at = walk.back();
      if (edge_begin_[at] == edge_begin_[at + 1]) break;
      const std::uint32_t to = edges_[edge_begin_[at]];
      walk.push_back(to);
      const auto [known, fresh] = met.try_emplace(to, walk.size() - 1);
      if (!fresh) break;
    }
    std::vector<std::uint32_t> chain = chain_to(number);
    const std::size_t stem = chain.size();
    chain.insert(chain.end(), walk.begin() + 1, walk.end());
    const std::vector<Move> all = way_through(chain);
    const std::size_t starts = all.size() + 1 - chain.size();
    const std::size_t back = met.at(walk.back());
    const auto split = static_cast<std::ptrdiff_t>(starts + stem - 1 + back);
    violation.stem.assign(all.begin(), all.begin() + split);
    violation.cycle.assign(all.begin() + split, all.end());
    finding_.violation = std::move(violation);
  }

  // The searcher's.
  Space<Model>* space_;
  SearchOptions options_;
  Finding finding_;
  Keeper* keeper_ = nullptr;  // null: this thread keeps the store too
  std::chrono::steady_clock::time_point begin_;
  std::uint32_t next_ = 0;  // to expand
  std::uint32_t depth_begin_ = 0,
                depth_end_ = 0;  // the states as many steps away as `next_`
  std::string level_;            // these, where a keeper has the store
  std::vector<std::size_t> level_begin_;
  std::array<char, Space<Model>::kMostBytes> encoded_;
  Batch batch_;
  std::optional<std::uint32_t> dead_end_;
  std::uint64_t edges_given_ = 0;
  std::vector<std::uint64_t> edge_begin_;  // of each state, in edges_

  // The keeper's, until it has finished.
  Store store_;
  std::vector<std::uint32_t> edges_;  // without faults
  std::vector<bool> good_;
  std::optional<Broken> broken_;

  // Both see these.
  std::atomic<bool> broken_seen_ = false;
  std::atomic<std::uint64_t> kept_states_ = 0;
  std::atomic<std::size_t> kept_bytes_ = 0;
};

}  // namespace tempo::check
