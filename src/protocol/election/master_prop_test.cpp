// Properties of the machine under random inputs.
//
// Noise is a sequence of numbers. Each number selects the next input: a message of any kind from
// any node with an epoch near the present one, a timer that is due, a timer that is not, a passage
// of time, a command.
#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "protocol/election/master.h"

namespace tempo::election {
namespace {

constexpr std::uint32_t kNodes = 5;
constexpr NodeId kSelf{2};
constexpr Incarnation kIncarnation{1};

using Noise = std::vector<std::uint32_t>;

// Splits one large number into small ones.
class Digits {
 public:
  explicit Digits(std::uint32_t number) : rest_(number) {}
  std::uint32_t below(std::uint32_t limit) {
    const std::uint32_t digit = rest_ % limit;
    rest_ /= limit;
    return digit;
  }

 private:
  std::uint32_t rest_;
};

// One output of a step, packed.
struct PackedOutput {
  OutputKind kind;
  NodeId to;
  std::string bytes;
  bool operator==(const PackedOutput&) const = default;
};

class Cluster {
 public:
  explicit Cluster(const Rules& rules, Nanos delay = 0s)
      : machine({kSelf, kIncarnation}, rules), now(Instant{1s} + delay) {
    step([](MasterElection& m, auto& turn) { m.start(turn); });
  }

  // Applies the input that the number selects.
  void feed(std::uint32_t number) {
    out.clear();
    Digits digits{number};
    switch (digits.below(8)) {
      case 0: {  // the first timer is due
        now = std::max(now, std::min(machine.timers().first(), now + 1h));
        on_timer(machine.timers().first_name());
        break;
      }
      case 1: {  // any timer, due or not
        on_timer(TimerId{static_cast<std::uint8_t>(digits.below(Timers<Timer>::kCount))});
        break;
      }
      case 2: {  // time passes, and due timers fire
        const Instant end = now + Nanos{1ms} * (1 + digits.below(800));
        for (int i = 0; i < 100 && machine.timers().first() <= end; ++i) {
          now = std::max(now, machine.timers().first());
          on_timer(machine.timers().first_name());
        }
        now = end;
        break;
      }
      case 3: {  // a suspension: timers become overdue
        if (digits.below(4) == 0) now += Nanos{1ms} * (1 + digits.below(3000));
        step([](MasterElection& m, auto& turn) { m.command(turn, Command::stand); });
        break;
      }
      default:
        receive(digits);
        break;
    }
  }
  void on_timer(TimerId timer) {
    step([&](MasterElection& m, auto& turn) { m.on_timer(turn, timer); });
  }

  // Draws are part of the input: two clusters with equal inputs draw equal values.
  template <class Function>
  void step(Function function) {
    StreamDraw draw{stream};
    out.clear();
    Turn<MasterElection> turn{now, draw, out};
    function(machine, turn);
  }

  std::vector<PackedOutput> outputs() const {
    std::vector<PackedOutput> all;
    for (const auto& output : out) {
      const bool message = output.kind != OutputKind::notice;
      all.push_back({output.kind, output.kind == OutputKind::send ? output.to : kNobody,
                     message ? packed(output.message, now) : packed(output.notice, now)});
    }
    return all;
  }
  std::string packed_state() const { return packed(machine, now); }

  MasterElection machine;
  Instant now;
  Stream stream{1, 1, 0};
  Outbox<MasterElection> out;

 private:
  void receive(Digits& digits) {
    // Every third message is one of the master followed.
    const bool followed = digits.below(3) == 0 && machine.master() != kNobody;
    const NodeId from = followed ? machine.master() : NodeId{digits.below(kNodes)};
    Message message{.kind = static_cast<Kind>(digits.below(kKinds))};
    message.incarnation =
        followed ? machine.followed().incarnation : Incarnation{1 + digits.below(2)};
    // Sequence numbers grow, repeat or go back, so that duplicates and old messages occur too.
    const std::uint32_t step_back = digits.below(3);
    std::uint32_t& last = last_[index(from)];
    last += step_back == 0 ? 1 : 0;
    message.sequence = Sequence{std::max(1U, last - std::min(last, step_back / 2))};
    message.answers = Sequence{digits.below(4) == 0 ? digits.below(8) : last_call_};
    // Other nodes send an epoch near the one followed, their own or another node's.
    const std::uint32_t round = machine.followed().round + digits.below(3);
    message.epoch = {std::max(round, 2U) - 1,
                     digits.below(4) == 0 ? NodeId{digits.below(kNodes)} : from,
                     message.incarnation};
    if (followed) message.epoch = machine.followed();
    message.subject = digits.below(2) == 0 ? kSelf : machine.followed().node;
    message.subject_incarnation =
        digits.below(2) == 0 ? kIncarnation : machine.followed().incarnation;
    message.not_set = digits.below(2) == 0;
    message.was_master = digits.below(2) == 0;
    message.age = Nanos{1ms} * digits.below(300);
    step([&](MasterElection& m, auto& turn) { m.receive(turn, from, message); });
    for (const auto& output : out)
      if (output.kind != OutputKind::notice && output.message.kind == Kind::election)
        last_call_ = std::to_underlying(output.message.sequence);
  }

  std::array<std::uint32_t, kNodes> last_{};
  std::uint32_t last_call_ = 1;
};

const Rules& lan() {
  static const Rules rules{*profile("lan")};
  return rules;
}

// Noise long enough to reach most states.
rc::Gen<Noise> noise() {
  return rc::gen::resize(300, rc::gen::container<Noise>(rc::gen::arbitrary<std::uint32_t>()));
}

// Every variant of the protocol, the corrected one first.
rc::Gen<Rules> any_rules() {
  return rc::gen::map(rc::gen::inRange(0U, 32U), [](unsigned bits) {
    Rules rules = lan();
    rules.repeats = (bits & 16U) != 0 ? 4 : 0;
    rules.variant = {(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0, (bits & 8U) != 0};
    return rules;
  });
}

// After any inputs in any order a timer runs, so the machine continues on a silent network.
RC_GTEST_PROP(MasterElection, AlwaysHasATimerRunning, ()) {
  const Rules rules = *any_rules();
  Cluster cluster{rules};
  bool ruled = false;
  bool stood = false;
  bool accepted = false;
  for (const std::uint32_t number : *noise()) {
    cluster.feed(number);
    ruled |= cluster.machine.state() == State::master;
    stood |= cluster.machine.state() == State::candidate;
    accepted |= cluster.machine.state() == State::accept;
    RC_ASSERT(cluster.machine.timers().first() != kNever);
  }
  RC_CLASSIFY(ruled);  // a run that never reaches master proves nothing
  RC_CLASSIFY(stood);
  RC_CLASSIFY(accepted);
}

RC_GTEST_PROP(MasterElection, KeepsItsInvariants, ()) {
  const Rules rules = *any_rules();
  Cluster cluster{rules};
  std::array<bool, kStates> reached{};
  for (const std::uint32_t number : *noise()) {
    cluster.feed(number);
    reached[static_cast<std::size_t>(cluster.machine.state())] = true;
    const char* broken = cluster.machine.check();
    if (broken != nullptr) RC_LOG() << broken << '\n';
    RC_ASSERT(broken == nullptr);
  }
  RC_CLASSIFY(std::ranges::count(reached, true) >= 5);
}

// A stopped machine produces no more output, in whatever state it was stopped.
RC_GTEST_PROP(MasterElection, IsSilentAfterStop, ()) {
  Cluster cluster{lan()};
  for (const std::uint32_t number : *noise()) cluster.feed(number);
  cluster.step([](auto& m, auto& turn) { m.command(turn, Command::stop); });
  RC_ASSERT(cluster.machine.ended());
  for (const std::uint32_t number : *noise()) {
    cluster.feed(number);
    RC_ASSERT(cluster.out.empty());
  }
  RC_ASSERT(cluster.machine.timers().first() == kNever);
}

RC_GTEST_PROP(MasterElection, IgnoresTimersThatFireEarly, ()) {
  const Rules rules = *any_rules();
  Cluster cluster{rules};
  for (const std::uint32_t number : *noise()) {
    cluster.feed(number);
    const std::string before = cluster.packed_state();
    for (std::uint8_t i = 0; i < Timers<Timer>::kCount; ++i) {
      if (cluster.machine.timers().at(TimerId{i}) <= cluster.now) continue;
      cluster.on_timer(TimerId{i});
      RC_ASSERT(cluster.out.empty());
    }
    RC_ASSERT(cluster.packed_state() == before);
  }
}

RC_GTEST_PROP(MasterElection, NeverFollowsALowerEpoch, ()) {
  Rules rules = *any_rules();
  rules.variant.no_epoch = false;
  Cluster cluster{rules};
  Epoch before = cluster.machine.followed();
  std::uint32_t changes = 0;
  for (const std::uint32_t number : *noise()) {
    cluster.feed(number);
    const Epoch& after = cluster.machine.followed();
    // The first epoch followed need not be above the initial one.
    RC_ASSERT(after == before || before.round == 0 || after > before);
    if (after != before) ++changes;
    before = after;
  }
  RC_CLASSIFY(changes >= 3);
}

// A node applies a correction only if it has the epoch followed at that time.
RC_GTEST_PROP(MasterElection, AppliesCorrectionsOfTheEpochFollowedOnly, ()) {
  Cluster cluster{lan()};
  std::uint32_t applied = 0;
  for (const std::uint32_t number : *noise()) {
    cluster.feed(number);
    for (const auto& output : cluster.out) {
      if (output.kind != OutputKind::notice) continue;
      if (output.notice.news != Change::adjusted && output.notice.news != Change::set) continue;
      RC_ASSERT(output.notice.epoch == cluster.machine.followed());
      ++applied;
    }
  }
  RC_CLASSIFY(applied > 0);
}

// --- two machines with equal packed forms behave the same ---

// The same inputs some time later: packed instants are relative to now.
RC_GTEST_PROP(PackedForm, DoesNotDependOnAbsoluteTime, (std::uint32_t later)) {
  const Rules rules = *any_rules();
  Cluster early{rules};
  Cluster late{rules, Nanos{later}};
  for (const std::uint32_t number : *noise()) {
    early.feed(number);
    late.feed(number);
    RC_ASSERT(early.packed_state() == late.packed_state());
    RC_ASSERT(early.outputs() == late.outputs());
  }
}

// Moves every past instant to a random other past instant. Timers stay, because it matters how long
// a candidate timer is overdue (a suspended candidate does not become master).
class PastShuffler : public FieldWalk<PastShuffler> {
 public:
  PastShuffler(Instant now, std::uint32_t seed) : now_(now), stream_(seed, 1, 0) {}
  template <class T>
  void leaf(const char* name, T& value) {
    if constexpr (std::same_as<T, Instant>) {
      if (value > now_ || std::string_view{name} == "timer") return;
      value = now_ - stream_.uniform(0s, now_.time_since_epoch());
      ++moved_;
    }
  }
  void enter(const char* /*name*/) {}
  void leave() {}
  int moved() const { return moved_; }

 private:
  Instant now_;
  Stream stream_;
  int moved_ = 0;
};

RC_GTEST_PROP(PackedForm, EqualFormsBehaveTheSameOnTheNextEvent, (std::uint32_t seed)) {
  const Rules rules = *any_rules();
  Cluster cluster{rules};
  int moved = 0;
  for (const std::uint32_t number : *noise()) {
    Cluster other = cluster;
    if (other.machine.timers().first() > other.now) {
      PastShuffler shuffler{other.now, seed + number};
      visit_fields(other.machine, shuffler);
      moved += shuffler.moved();
    }
    RC_ASSERT(other.packed_state() == cluster.packed_state());
    other.feed(number);
    cluster.feed(number);
    RC_ASSERT(other.outputs() == cluster.outputs());
    RC_ASSERT(other.packed_state() == cluster.packed_state());
  }
  RC_CLASSIFY(moved > 0);
}

}  // namespace
}  // namespace tempo::election
