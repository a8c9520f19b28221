#include "lab/studies/election/replay.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "base/number_text.h"
#include "lab/sim/tracer.h"
#include "lab/sim/world.h"

namespace tempo::check {
namespace {

using election::MasterElection;
using World = sim::World<MasterElection, sim::Tracer>;

constexpr std::uint32_t kMaxSteps = 100'000;
constexpr Nanos kTick{1};

// The draws of one step; any other draw is an error.
class StepDraws final : public Draw {
 public:
  explicit StepDraws(std::vector<std::uint32_t> values) : values_(std::move(values)) {}
  std::uint64_t below(std::uint64_t limit) override {
    if (used_ == values_.size() || values_[used_] >= limit) {
      wrong_ = true;
      return 0;
    }
    return values_[used_++];
  }
  bool right() const { return !wrong_ && used_ == values_.size(); }

 private:
  std::vector<std::uint32_t> values_;
  std::size_t used_ = 0;
  bool wrong_ = false;
};

std::string joined(std::span<const std::uint32_t> numbers) {
  std::string text;
  for (const std::uint32_t number : numbers) {
    if (!text.empty()) text += ',';
    text += std::to_string(number);
  }
  return text;
}

// The numbers in the simulator's state, which only grow. The checker renumbers them after every
// step and has only a few.
class GrownNumbers {
 public:
  void call(NodeId of, std::uint32_t number) { mention(calls_, of, number); }
  void message(NodeId from, NodeId to, std::uint32_t number) {
    if (index(to) < kMaxNodes) mention(messages_[index(to)], from, number);
  }
  void round(std::uint32_t number) { rounds_.round(number); }

  std::uint32_t call_name(NodeId of, std::uint32_t number) const {
    return index(of) < kMaxNodes ? rank(calls_[index(of)], number) : number;
  }
  std::uint32_t message_name(NodeId from, NodeId to, std::uint32_t number) const {
    if (index(from) >= kMaxNodes || index(to) >= kMaxNodes) return number;
    const std::uint32_t own = rank(messages_[index(to)][index(from)], number);
    if (own == 0) return 0;
    std::size_t before = calls_[index(from)].size();
    for (std::uint32_t i = 0; i < index(to); ++i) before += messages_[i][index(from)].size();
    return own + static_cast<std::uint32_t>(before);
  }
  std::uint32_t shift() const { return rounds_.shift(); }

 private:
  using OfEach = std::array<std::set<std::uint32_t>, kMaxNodes>;  // by sender

  static void mention(OfEach& all, NodeId of, std::uint32_t number) {
    if (number != 0 && index(of) < kMaxNodes) all[index(of)].insert(number);
  }
  static std::uint32_t rank(const std::set<std::uint32_t>& all, std::uint32_t number) {
    return static_cast<std::uint32_t>(std::distance(all.begin(), all.upper_bound(number)));
  }

  OfEach calls_;
  std::array<OfEach, kMaxNodes> messages_;  // by destination
  Numbers rounds_;                          // only its rounds are used
};

// A World of elections whose messages are held until the script delivers them.
class ReplayWorld {
 public:
  ReplayWorld(std::uint32_t nodes, const election::Variant& variant)
      : rules_(tiny_rules(variant)),
        incarnations_(nodes),
        tracer_(true),
        world_(
            {.nodes = nodes},
            [this](NodeId node, Incarnation) {
              return MasterElection({node, Incarnation{++incarnations_[index(node)]}}, rules_);
            },
            tracer_) {
    world_.hold();
  }
  ReplayWorld(const ReplayWorld&) = delete;
  ReplayWorld& operator=(const ReplayWorld&) = delete;

  World& world() { return world_; }
  const sim::Trace& trace() const { return tracer_.trace(); }

  std::string state_of(NodeId node) const {
    return world_.up(node) ? std::string{name_of(world_.machine(node).state())} : "down";
  }
  std::string summary(NodeId node) const {
    if (!world_.up(node)) return "down";
    const MasterElection& machine = world_.machine(node);
    std::vector<std::uint32_t> list;
    machine.list().for_each([&](NodeId listed) { list.push_back(index(listed) + 1); });
    if (!list.empty()) return fmt::format("{} of {}", state_of(node), joined(list));
    if (machine.master() == kNobody || machine.master() == node) return state_of(node);
    return fmt::format("{} of {}", state_of(node), index(machine.master()) + 1);
  }

 private:
  election::Rules rules_;
  std::vector<std::uint32_t> incarnations_;
  sim::Tracer tracer_;
  World world_;
};

// --- writing ---

class Writer {
 public:
  Writer(Space<ElectionModel>& space, std::string_view counterexample)
      : space_(&space), replay_world_(space.freedom().nodes, space.model().rules.variant) {
    text_ = fmt::format("# {}\nnodes {}\nvariant {}\n", counterexample, space.freedom().nodes,
                        election::variant_text(space.model().rules.variant));
  }

  void add(const Move& move) {
    World& world = replay_world_.world();
    const std::string node = move.node == kNobody ? "" : fmt::format(" {}", index(move.node) + 1);
    switch (move.what) {
      case Happening::start:
      case Happening::restart:
        if (move.what == Happening::restart) --restarts_left_;
        acts(move, "start" + node, [&] { world.start(move.node); });
        break;
      case Happening::wake: {
        const auto timer = static_cast<election::Timer>(move.detail);
        acts(move, fmt::format("wake{} {}", node, name_of(timer)),
             [&] { world.on_timer(move.node, timer_id(move.detail)); });
        break;
      }
      case Happening::deliver: {
        const std::size_t place = find(move);
        const World::Held held = world.held_at(place);
        acts(move,
             fmt::format("deliver {}->{} {} #{}", index(held.from) + 1, index(held.to) + 1,
                         name_of(world.held_message(place)), held.number),
             [&] { world.deliver_held(place); });
        break;
      }
      case Happening::tick:
        world.pass(kTick * move.detail);
        text_ += fmt::format("tick {}\n", move.detail);
        break;
      case Happening::crash:
        world.crash(move.node);
        text_ += "crash" + node + "\n";
        break;
      case Happening::pause:
        world.pause(move.node);
        text_ += "pause" + node + "\n";
        break;
      case Happening::resume:
        world.resume(move.node);
        text_ += "resume" + node + "\n";
        break;
      case Happening::miss: {
        const std::size_t place = find(move);
        const World::Held held = world.held_at(place);
        text_ += fmt::format("lose {}->{} {} #{}\n", index(held.from) + 1, index(held.to) + 1,
                             name_of(world.held_message(place)), held.number);
        world.lose_held(place);
        break;
      }
      case Happening::command:  // the checker has only one command
        acts(move, "stand" + node, [&] { world.command(move.node, election::Command::stand); });
        break;
      case Happening::gain:
      case Happening::lag:
        CHECK(false);  // not used by checks of elections
    }
    drop_dead_messages();
  }

  std::string text() const { return text_; }

 private:
  template <class Act>
  void acts(const Move& move, const std::string& line, Act act) {
    World& world = replay_world_.world();
    const auto& outcome = space_->parts().outcome(move.outcome);
    const auto drawn = space_->parts().draws(outcome);
    StepDraws draws{{drawn.begin(), drawn.end()}};
    world.draw_from(&draws);
    // The message that this step delivers is removed before its own copies are made.
    const std::size_t before =
        world.held() - (move.what == Happening::deliver ? std::size_t{1} : std::size_t{0});
    act();
    CHECK(draws.right());
    text_ += line;
    if (!drawn.empty()) text_ += fmt::format(" draws {}", joined(drawn));
    text_ += fmt::format(" = {}\n", replay_world_.state_of(move.node));
    // Removing a message shifts the later ones: proceed from the last to the first.
    for (std::size_t i = world.held() - before; i-- > 0;) record_delivery(move, i, before + i);
  }

  void record_delivery(const Move& move, std::size_t send, std::size_t place) {
    World& world = replay_world_.world();
    const World::Held held = world.held_at(place);
    const Freedom& freedom = space_->freedom();
    const bool cut =
        world.now() < Instant{kTick * freedom.cut_until} && freedom.apart(held.from, held.to);
    const bool lost = cut || (move.lost >> send & 1) != 0;
    const bool twice = (move.twice >> send & 1) != 0;
    if (!lost && !twice) return;
    text_ += fmt::format("{} {}->{} {} #{}\n", lost ? "lose" : "twice", index(held.from) + 1,
                         index(held.to) + 1, name_of(world.held_message(place)), held.number);
    if (lost)
      world.lose_held(place);
    else
      world.copy_held(place);
  }

  // The held copy that corresponds to the checker's flight; renumbering preserves the order.
  std::size_t find(const Move& move) {
    const auto& flight = space_->parts().flight(move.detail);
    const election::Message wanted = space_->parts().message(move.detail);
    const World& world = replay_world_.world();
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < world.held(); ++i) {
      const World::Held held = world.held_at(i);
      const election::Message& message = world.held_message(i);
      if (held.from != flight.from || held.to != flight.to || message.kind != wanted.kind) continue;
      if (message.age != wanted.age || message.incarnation != wanted.incarnation) continue;
      if (!best && matches(message, wanted, flight)) best = i;
    }
    CHECK(best.has_value());
    return *best;
  }

  // True if the simulator's message equals the checker's after renumbering.
  bool matches(const election::Message& message, const election::Message& wanted,
               const Parts<ElectionModel>::Flight& flight) {
    election::Message renamed = message;
    const GrownNumbers all = numbers();
    NumberWriter writer{flight.from, flight.to, all};
    visit_fields(renamed, writer);
    return packed(renamed, Instant{}) == packed(wanted, Instant{});
  }

  GrownNumbers numbers() {
    const World& world = replay_world_.world();
    GrownNumbers all;
    for (std::uint32_t i = 0; i < world.size(); ++i) {
      if (!world.up(NodeId{i})) continue;
      NumberReader reader{NodeId{i}, kNobody, all};
      visit_fields(world.machine(NodeId{i}), reader);
    }
    for (std::size_t i = 0; i < world.held(); ++i) {
      const World::Held held = world.held_at(i);
      NumberReader reader{held.from, held.to, all};
      visit_fields(world.held_message(i), reader);
    }
    return all;
  }

  // Drops the messages that the checker drops: those to a node that never runs again, and those
  // that were due while their destination was down.
  void drop_dead_messages() {
    World& world = replay_world_.world();
    for (std::size_t i = world.held(); i-- > 0;) {
      const World::Held held = world.held_at(i);
      if (world.up(held.to)) continue;
      const bool gone = world.ever_started(held.to) && restarts_left_ == 0;
      if (gone || world.now() - held.sent > kTick * space_->freedom().delay_max) world.lose_held(i);
    }
  }

  Space<ElectionModel>* space_;
  ReplayWorld replay_world_;
  std::uint32_t restarts_left_ = space_->freedom().budget.restarts;
  std::string text_;
};

// --- reading ---

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

class Reader {
 public:
  Result<Replayed> read(std::string_view script) {
    std::uint32_t line_number = 0;
    for (std::size_t at = 0; at < script.size();) {
      const std::size_t end = std::min(script.find('\n', at), script.size());
      const std::string_view line = script.substr(at, end - at);
      at = end + 1;
      ++line_number;
      if (line.empty() || line[0] == '#') continue;
      if (steps_ == kMaxSteps) return std::unexpected("a replay has at most 100,000 steps");
      if (const Result<void> done = execute(words_of(line)); !done)
        return std::unexpected(fmt::format("line {}: {}", line_number, done.error()));
    }
    if (!replay_world_) return std::unexpected("the replay has no steps");
    Replayed replayed{
        .trace = replay_world_->trace(), .nodes = nodes_, .steps = steps_, .states = {}};
    for (std::uint32_t i = 0; i < nodes_; ++i)
      replayed.states.push_back(replay_world_->summary(NodeId{i}));
    return replayed;
  }

 private:
  Result<void> execute(const std::vector<std::string_view>& words) {
    if (words.size() == 2 && words[0] == "nodes" && !replay_world_) {
      const auto nodes = parse_number<std::uint32_t>(words[1]);
      if (!nodes || *nodes < 1 || *nodes > kMaxNodes)
        return std::unexpected(fmt::format("'nodes' must be a number from 1 to {}", kMaxNodes));
      nodes_ = *nodes;
      return {};
    }
    if (words.size() == 2 && words[0] == "variant" && !replay_world_) {
      TRY(variant, election::parse_variant(words[1]));
      variant_ = variant;
      return {};
    }
    if (words.size() < 2) return std::unexpected("a step has at least two words");
    if (nodes_ == 0) return std::unexpected("the script must begin with 'nodes N'");
    if (!replay_world_) replay_world_ = std::make_unique<ReplayWorld>(nodes_, variant_);
    ++steps_;
    const std::string_view verb = words[0];
    if (verb == "tick") {
      const auto ticks = parse_number<std::uint32_t>(words[1]);
      if (!ticks) return std::unexpected("tick needs a number of ticks");
      replay_world_->world().pass(kTick * *ticks);
      return {};
    }
    if (verb == "deliver" || verb == "lose" || verb == "twice") return post(verb, words);
    return act(verb, words);
  }

  Result<void> post(std::string_view verb, const std::vector<std::string_view>& words) {
    World& world = replay_world_->world();
    const std::size_t arrow = words[1].find("->");
    if (words.size() < 4 || arrow == std::string_view::npos || words[3].size() < 2 ||
        words[3][0] != '#')
      return std::unexpected(fmt::format("bad step; use '{} FROM->TO KIND #NUMBER'", verb));
    const auto to = parse_number<std::uint32_t>(words[1].substr(arrow + 2));
    const auto sent = parse_number<std::uint32_t>(words[3].substr(1));
    std::optional<std::size_t> place;
    for (std::size_t i = 0; to && sent && i < world.held() && !place; ++i)
      if (index(world.held_at(i).to) + 1 == *to && world.held_at(i).number == *sent &&
          name_of(world.held_message(i)) == words[2])
        place = i;
    if (!place) return std::unexpected("no such message is in transit");
    if (verb == "lose") {
      world.lose_held(*place);
      return {};
    }
    if (verb == "twice") {
      world.copy_held(*place);
      return {};
    }
    const NodeId node{*to - 1};
    if (!world.up(node) || world.paused(node)) return std::unexpected("the node is not running");
    return with_draws(node, words, 4, [&] { world.deliver_held(*place); });
  }

  Result<void> act(std::string_view verb, const std::vector<std::string_view>& words) {
    World& world = replay_world_->world();
    const auto given = parse_number<std::uint32_t>(words[1]);
    if (!given || *given < 1 || *given > nodes_)
      return std::unexpected(fmt::format("node numbers are 1 to {}", nodes_));
    const NodeId node{*given - 1};
    if (verb == "start") {
      if (world.up(node)) return std::unexpected("the node is already running");
      return with_draws(node, words, 2, [&] { world.start(node); });
    }
    if (!world.up(node)) return std::unexpected("the node is not running");
    if (verb == "crash") {
      world.crash(node);
      return {};
    }
    if (verb == "pause") {
      world.pause(node);
      return {};
    }
    if (verb == "resume") {
      world.resume(node);
      return {};
    }
    if (verb == "stand") {
      if (world.paused(node)) return std::unexpected("the node is paused");
      return with_draws(node, words, 2, [&] { world.command(node, election::Command::stand); });
    }
    if (verb == "wake" && words.size() >= 3) {
      for (std::uint8_t i = 0; i < Timers<election::Timer>::kCount; ++i) {
        if (name_of(static_cast<election::Timer>(i)) != words[2]) continue;
        if (world.paused(node)) return std::unexpected("the node is paused");
        if (world.machine(node).timers().at(TimerId{i}) > world.now())
          return std::unexpected("the timer is not due");
        return with_draws(node, words, 3, [&] { world.on_timer(node, TimerId{i}); });
      }
      return std::unexpected(fmt::format("there is no timer '{}'", words[2]));
    }
    return std::unexpected(
        fmt::format("unknown step '{}'; use start, wake, stand, deliver, lose, twice, tick, "
                    "crash, pause or resume",
                    verb));
  }

  // Parses the rest of the line: "draws 1,2" and "= state".
  template <class Act>
  Result<void> with_draws(NodeId node, const std::vector<std::string_view>& words, std::size_t at,
                          Act act) {
    std::vector<std::uint32_t> values;
    if (at + 1 < words.size() && words[at] == "draws") {
      std::string_view rest = words[at + 1];
      for (;;) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const auto value = parse_number<std::uint32_t>(rest.substr(0, comma));
        if (!value) return std::unexpected("draws are numbers separated by commas");
        values.push_back(*value);
        if (comma == rest.size()) break;
        rest.remove_prefix(comma + 1);
      }
      at += 2;
    }
    StepDraws draws{std::move(values)};
    replay_world_->world().draw_from(&draws);
    act();
    replay_world_->world().draw_from(nullptr);
    if (!draws.right()) return std::unexpected("the node makes other draws");
    if (at + 1 < words.size() && words[at] == "=" && replay_world_->state_of(node) != words[at + 1])
      return std::unexpected(fmt::format("node {} is {}, not {}", index(node) + 1,
                                         replay_world_->state_of(node), words[at + 1]));
    return {};
  }

  std::uint32_t nodes_ = 0;
  std::uint32_t steps_ = 0;
  election::Variant variant_{};
  std::unique_ptr<ReplayWorld> replay_world_;
};

}  // namespace

std::string replay_script(Space<ElectionModel>& space, const std::vector<Move>& moves,
                          std::string_view counterexample) {
  Writer writer{space, counterexample};
  for (const Move& move : moves) writer.add(move);
  return writer.text();
}

Result<Replayed> replay(std::string_view script) { return Reader{}.read(script); }

}  // namespace tempo::check
