// The search: every reachable state, breadth first, so that what is found is found by a shortest
// way.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
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
  std::function<bool(const Progress&)> progress{};  // now and then; false stops the search
};

// What the search found. `cycle` is empty unless the violation is a way that never leads to good.
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
  bool complete = false;
  std::string stopped;  // why not complete
  std::optional<Violation> violation;
};

inline constexpr const char* kComesGood = "can-always-come-good";
inline constexpr const char* kDeadEnd = "no-dead-end";

template <class Model>
class Search {
 public:
  using View = typename Model::View;
  using State = typename Space<Model>::State;
  static constexpr bool kWantsGood =
      requires(const Model& model, const Scene<View>& scene) { model.good(scene); };

  Search(Space<Model>& space, SearchOptions options)
      : space_(&space), options_(std::move(options)) {}

  Finding run() {
    begin_ = std::chrono::steady_clock::now();
    space_->begin([&](const State& state, const std::vector<Move>&) {
      admit(state, Store::kNone, nullptr, true);
    });
    flush();
    depth_end_ = store_.size();
    while (!over() && (next_ < depth_end_ || next_depth())) expand();
    if (kWantsGood && !over()) come_good();
    finding_.states = store_.size();
    finding_.complete = finding_.stopped.empty() && !finding_.violation;
    finding_.seconds = seconds();
    finding_.bytes = bytes();
    finding_.local_states = space_->parts().locals();
    return finding_;
  }

  // The moves of a way from the beginning to a state; the first ones are the nodes' starts.
  std::vector<Move> way_to(std::uint32_t number) { return way_through(chain_to(number)); }

 private:
  struct Pending {
    std::uint64_t hash;
    std::uint32_t from;
    std::uint32_t begin, end;  // in pending_bytes_
    const char* broken;
    bool edge;
  };
  static constexpr std::size_t kBatch = 256;
  static constexpr std::uint32_t kPruned = Store::kNone;  // an edge to what is not looked at

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  std::size_t bytes() const {
    return store_.bytes() + space_->parts().bytes() + edges_.capacity() * 4 +
           edge_begin_.capacity() * 8;
  }
  bool over() const { return finding_.violation.has_value() || !finding_.stopped.empty(); }

  // All states so many steps away have been expanded; whether there are any further away.
  bool next_depth() {
    flush();
    if (next_ == store_.size()) return false;
    depth_end_ = store_.size();
    ++finding_.depth;
    return true;
  }

  void expand() {
    const std::uint32_t number = next_++;
    const State state = space_->decode(store_.at(number));
    if (kWantsGood) edge_begin_.push_back(edges_.size() + edges_pending_);
    const std::uint64_t before = finding_.transitions;
    space_->successors(state,
                       [&](const State& next, const Move& move, const char* broken, bool pruned) {
                         const bool fault = is_fault(move.what) || (move.lost | move.twice) != 0;
                         ++finding_.transitions;
                         if (pruned && broken == nullptr) {
                           ++finding_.pruned;
                           // In its place among the edges, which are written when the batch is.
                           if (kWantsGood && !fault) admit_pruned(number);
                           return;
                         }
                         admit(next, number, broken, !fault);
                       });
    if (kWantsGood && finding_.transitions == before) broken_at(kDeadEnd, number);
    if (number % 4096 == 0) look_around();
  }

  void look_around() {
    if (space_->failure() != nullptr) finding_.stopped = space_->failure();
    if (bytes() > options_.memory) finding_.stopped = "the memory allowed is used up";
    if (options_.progress && !options_.progress({store_.size(), next_, finding_.transitions,
                                                 finding_.depth, seconds(), bytes()}))
      finding_.stopped = "interrupted";
  }

  void admit(const State& state, std::uint32_t from, const char* broken, bool edge) {
    space_->encode(state, encoded_);
    const std::string_view bytes = encoded_.view();
    const std::uint64_t hash = Store::hash(bytes);
    store_.prefetch(hash);
    const auto begin = static_cast<std::uint32_t>(pending_bytes_.size());
    pending_bytes_ += bytes;
    pending_.push_back(
        {hash, from, begin, static_cast<std::uint32_t>(pending_bytes_.size()), broken, edge});
    if (kWantsGood && edge && from != Store::kNone) ++edges_pending_;
    if (pending_.size() >= kBatch) flush();
  }
  void admit_pruned(std::uint32_t from) {
    pending_.push_back({0, from, 0, 0, nullptr, true});
    ++edges_pending_;
  }

  // Looks a batch of states up; the table's lines were fetched meanwhile.
  void flush() {
    for (const Pending& pending : pending_) store_.prefetch_place(pending.hash);
    for (const Pending& pending : pending_) store_.prefetch_string(pending.hash);
    for (const Pending& pending : pending_) {
      if (over()) break;
      if (pending.begin == pending.end) {
        edges_.push_back(kPruned);
        continue;
      }
      const std::string_view bytes =
          std::string_view{pending_bytes_}.substr(pending.begin, pending.end - pending.begin);
      const Store::Added added = store_.add(bytes, pending.hash, pending.from);
      if (kWantsGood && pending.edge && pending.from != Store::kNone)
        edges_.push_back(added.number);
      if (pending.broken != nullptr) {
        broken_between(pending.broken, pending.from, added.number);
        continue;
      }
      if (added.fresh) judge(added.number, bytes);
    }
    edges_pending_ = 0;
    pending_.clear();
    pending_bytes_.clear();
  }

  void judge(std::uint32_t number, std::string_view bytes) {
    if constexpr (requires(const Model& model, const Scene<View>& scene) { model.broken(scene); }) {
      const State state = space_->decode(bytes);
      const Scene<View> scene = space_->scene(state);
      if (const char* broken = space_->model().broken(scene)) broken_at(broken, number);
      if constexpr (kWantsGood) {
        if (good_.size() <= number) good_.resize(number + number / 4 + 64);
        good_[number] = space_->model().good(scene);
      }
    }
  }

  void broken_at(const char* promise, std::uint32_t number) {
    if (over()) return;
    finding_.violation = Violation{promise, way_to(number), {}};
  }
  void broken_between(const char* promise, std::uint32_t from, std::uint32_t number) {
    std::vector<std::uint32_t> chain;
    if (from != Store::kNone) chain = chain_to(from);
    chain.push_back(number);
    finding_.violation = Violation{promise, way_through(chain), {}};
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
    space_->encode(state, encoded_);
    return encoded_.view() == store_.at(number);
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

  // From every state a stable good one must be reachable without further faults: one that is good
  // and stays good whatever happens. What leads beyond what is looked at counts as good.
  void come_good() {
    const std::uint32_t states = store_.size();
    edge_begin_.push_back(edges_.size());
    good_.resize(states);
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
    // Any walk from here comes back to where it was, or ends; none leads to good.
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

  Space<Model>* space_;
  SearchOptions options_;
  Store store_;
  Finding finding_;
  std::chrono::steady_clock::time_point begin_;
  std::uint32_t next_ = 0;       // to expand
  std::uint32_t depth_end_ = 0;  // the states before it are one step nearer to the beginning
  typename Space<Model>::Bytes encoded_;
  std::string pending_bytes_;
  std::vector<Pending> pending_;
  std::size_t edges_pending_ = 0;
  std::vector<std::uint32_t> edges_;  // without faults; of state i: from edge_begin_[i] on
  std::vector<std::uint64_t> edge_begin_;
  std::vector<bool> good_;
};

}  // namespace tempo::check
