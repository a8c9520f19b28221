#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "machine/courier.h"
#include "machine/fields.h"

namespace tempo {
namespace {

struct Letter {
  Sequence sequence = kNoSequence;
  std::uint32_t content = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("sequence", self.sequence);
    visit("content", self.content);
  }
};

// What a wake or a withdrawal does, in order: (sent again or given up, to, sequence).
using Handed = std::vector<std::tuple<bool, NodeId, Sequence>>;

// The Courier as one would write it without a thought for speed.
class SimpleCourier {
 public:
  explicit SimpleCourier(const Courier<Letter>::Options& options) : options_(options) {}

  void post(Instant now, NodeId to, const Letter& letter) {
    parcels_[letter.sequence] = {.to = to,
                                 .sends = 1,
                                 .wait = options_.interval,
                                 .due = now + options_.interval,
                                 .letter = letter};
  }
  bool acknowledge(NodeId to, Sequence sequence) {
    const auto found = parcels_.find(sequence);
    if (found == parcels_.end() || found->second.to != to) return false;
    parcels_.erase(found);
    return true;
  }
  void withdraw(NodeId to, std::uint32_t content) {
    std::erase_if(parcels_, [&](const auto& entry) {
      return entry.second.to == to && entry.second.letter.content == content;
    });
  }
  Sequence under_way(NodeId to, std::uint32_t content) const {
    for (const auto& [sequence, parcel] : parcels_)
      if (parcel.to == to && parcel.letter.content == content) return sequence;
    return kNoSequence;
  }
  Handed on_timer(Instant now) {
    Handed handed;
    for (auto& [sequence, parcel] : parcels_) {
      if (now < parcel.due) continue;
      const bool again = parcel.sends < options_.sends;
      handed.emplace_back(again, parcel.to, sequence);
      parcel.wait *= 2;
      parcel.due = now + parcel.wait;
      parcel.sends += again ? 1 : options_.sends;
    }
    std::erase_if(parcels_, [&](const auto& entry) { return entry.second.sends > options_.sends; });
    return handed;
  }
  Instant earliest() const {
    Instant first = kNever;
    for (const auto& entry : parcels_) first = std::min(first, entry.second.due);
    return first;
  }
  std::size_t parcels() const { return parcels_.size(); }

  bool fresh(NodeId from, Incarnation incarnation, std::uint32_t number) {
    if (is_over(from, incarnation, [&](const Life& life) { return number <= life.newest(); }))
      return false;
    Life& life = known(from, incarnation);
    const std::uint32_t newest = life.newest();
    if (number <= newest && newest - number >= 64) return false;
    return life.seen.insert(number).second;
  }
  bool newer_call(NodeId from, Incarnation incarnation, std::uint32_t number) {
    if (is_over(from, incarnation, [&](const Life& life) { return number <= life.call; }))
      return false;
    Life& life = known(from, incarnation);
    if (number <= life.call) return false;
    life.call = number;
    return true;
  }

 private:
  struct Parcel {
    NodeId to{};
    std::uint32_t sends = 0;
    Nanos wait{0};
    Instant due;
    Letter letter;
  };
  struct Life {
    Incarnation incarnation{};
    std::set<std::uint32_t> seen;
    std::uint32_t call = 0;

    std::uint32_t newest() const { return seen.empty() ? 0 : *seen.rbegin(); }
  };

  Life& known(NodeId from, Incarnation incarnation) {
    Life& life = lives_[from];
    if (life.incarnation == incarnation) return life;
    std::swap(life, over_[from]);
    if (life.incarnation != incarnation || incarnation == Incarnation{})
      life = {.incarnation = incarnation, .seen = {}, .call = 0};
    return life;
  }
  // What still comes of the life before the present one is old, unless its numbers go on.
  template <class Old>
  bool is_over(NodeId from, Incarnation incarnation, Old old) const {
    const auto over = over_.find(from);
    if (over == over_.end() || lives_.at(from).incarnation == incarnation) return false;
    return over->second.incarnation == incarnation && incarnation != Incarnation{} &&
           old(over->second);
  }

  Courier<Letter>::Options options_;
  std::map<Sequence, Parcel> parcels_;
  std::map<NodeId, Life> lives_;
  std::map<NodeId, Life> over_;
};

// What to do, with whom, and a number for the rest.
using Operation = std::tuple<std::uint8_t, std::uint8_t, std::uint16_t>;

constexpr Courier<Letter>::Options kOptions{.interval = 16ns, .sends = 3};

// Any sequence of operations gives the same answers as the simple Courier, and `due` is never later
// than the first parcel that is due.
RC_GTEST_PROP(CourierProperty, AnswersLikeTheSimpleOne,
              (const std::vector<Operation>& operations)) {
  Courier<Letter> courier;
  SimpleCourier simple{kOptions};
  Instant now{};
  std::uint32_t last = 0;
  std::size_t most = 0;
  bool gave_up = false;
  for (const auto& [what, node, detail] : operations) {
    const NodeId peer{node % 3U};
    const std::uint32_t content = detail % 2U;
    switch (what % 8) {
      case 0:    // A few parcels at a time: more than 16 under way is another way through the code.
      case 1: {  // Some numbers go to messages that need no Courier.
        for (std::uint32_t i = 0; i < 1 + detail % 8U; ++i) {
          const Sequence sequence = courier.next_sequence();
          RC_ASSERT(sequence == Sequence{++last});
          if (detail % 5 == 0) continue;
          const Letter letter{.sequence = sequence, .content = content};
          courier.post(now, peer, letter, kOptions);
          simple.post(now, peer, letter);
        }
        break;
      }
      case 2:
      case 3: {
        const Sequence sequence{last == 0 ? 0 : last - detail % last};
        const Letter* letter = courier.acknowledge(peer, sequence);
        RC_ASSERT((letter != nullptr) == simple.acknowledge(peer, sequence));
        if (letter != nullptr) RC_ASSERT(letter->sequence == sequence);
        break;
      }
      case 4: {
        courier.withdraw([&](NodeId to, const Letter& letter) {
          return to == peer && letter.content == content;
        });
        simple.withdraw(peer, content);
        break;
      }
      case 5: {
        const auto wanted = [&](const Letter& letter) { return letter.content == content; };
        const Letter* letter = courier.under_way(peer, wanted);
        RC_ASSERT((letter == nullptr ? kNoSequence : letter->sequence) ==
                  simple.under_way(peer, content));
        break;
      }
      default: {
        now += Nanos{detail % 64};
        Handed handed;
        courier.on_timer(
            now, kOptions,
            [&](NodeId to, const Letter& letter) {
              handed.emplace_back(true, to, letter.sequence);
            },
            [&](NodeId to, const Letter& letter) {
              handed.emplace_back(false, to, letter.sequence);
            });
        RC_ASSERT(handed == simple.on_timer(now));
        for (const auto& [again, to, sequence] : handed) gave_up |= !again;
        break;
      }
    }
    RC_ASSERT(courier.due() <= simple.earliest());
    if (simple.parcels() == 0) RC_ASSERT(courier.due() == kNever);
    most = std::max(most, simple.parcels());
  }
  RC_CLASSIFY(most > 16, "more than 16 parcels");
  RC_CLASSIFY(gave_up, "gave up");
}

// Whatever is received, by whomever sent, in whatever order, is new or a copy as the simple one
// says.
RC_GTEST_PROP(CourierProperty, RecognisesCopiesLikeTheSimpleOne,
              (const std::vector<Operation>& operations)) {
  Courier<Letter> courier;
  SimpleCourier simple{kOptions};
  int copies = 0;
  for (const auto& [what, node, detail] : operations) {
    const NodeId from{node % 2U};
    const Incarnation life{what < 240 ? 1U : 2U};
    if (what % 4 == 0) {
      const std::uint32_t number = detail % 16U;
      RC_ASSERT(courier.newer_call(from, life, Sequence{number}) ==
                simple.newer_call(from, life, number));
    } else {
      // InlineVector enough numbers to meet copies, in four groups that span one and a half
      // windows.
      const std::uint32_t number = 100 + detail % 6U + 32 * (node / 2 % 4U);
      const bool fresh = courier.fresh(from, life, Sequence{number});
      RC_ASSERT(fresh == simple.fresh(from, life, number));
      copies += fresh ? 0 : 1;
    }
  }
  RC_CLASSIFY(copies > 3, "more than three copies");
}

// A walk that may write, and writes nothing, changes nothing: neither the packed form nor a later
// answer.
RC_GTEST_PROP(CourierProperty, IsTheSameAfterAWalkThroughItsFields,
              (const std::vector<Operation>& operations)) {
  Courier<Letter> courier;
  Instant now{};
  std::uint32_t last = 0;
  for (const auto& [what, node, detail] : operations) {
    const NodeId peer{node % 3U};
    if (what % 4 == 0 && last != 0) {
      courier.acknowledge(peer, Sequence{last - detail % last});
    } else {
      const Sequence sequence = courier.next_sequence();
      courier.post(now, peer, {.sequence = sequence, .content = detail}, kOptions);
      last = std::to_underlying(sequence);
    }
    now += Nanos{detail % 4};
  }
  Courier<Letter> walked = courier;
  FieldVisitor visitor;
  Courier<Letter>::fields(walked, visitor);
  RC_ASSERT(packed(walked, now) == packed(courier, now));

  const auto woken = [&](Courier<Letter>& which) {
    Handed handed;
    which.on_timer(
        now + 8ns, kOptions,
        [&](NodeId to, const Letter& letter) { handed.emplace_back(true, to, letter.sequence); },
        [&](NodeId to, const Letter& letter) { handed.emplace_back(false, to, letter.sequence); });
    return handed;
  };
  const Handed expected = woken(courier);
  RC_ASSERT(woken(walked) == expected);
  RC_ASSERT(packed(walked, now) == packed(courier, now));
  RC_CLASSIFY(!expected.empty(), "something was due");
}

}  // namespace
}  // namespace tempo
