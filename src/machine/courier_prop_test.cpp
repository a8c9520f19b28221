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

struct Message {
  Sequence sequence = kNoSequence;
  std::uint32_t content = 0;

  static constexpr auto fields(auto list) {
    return list(field<&Message::sequence>("sequence"), field<&Message::content>("content"));
  }
};

// Calls that on_timer makes, in order: (true: send again, false: give up; to; sequence).
using Callbacks = std::vector<std::tuple<bool, NodeId, Sequence>>;

// A reference implementation of Courier, written for simplicity instead of speed.
class SimpleCourier {
 public:
  explicit SimpleCourier(const Courier<Message>::Options& options) : options_(options) {}

  void post(Instant now, NodeId to, const Message& message) {
    parcels_[message.sequence] = {.to = to,
                                  .sends = 1,
                                  .wait = options_.interval,
                                  .due = now + options_.interval,
                                  .message = message};
  }
  bool acknowledge(NodeId to, Sequence sequence) {
    const auto found = parcels_.find(sequence);
    if (found == parcels_.end() || found->second.to != to) return false;
    parcels_.erase(found);
    return true;
  }
  void withdraw(NodeId to, std::uint32_t content) {
    std::erase_if(parcels_, [&](const auto& entry) {
      return entry.second.to == to && entry.second.message.content == content;
    });
  }
  Sequence under_way(NodeId to, std::uint32_t content) const {
    for (const auto& [sequence, parcel] : parcels_)
      if (parcel.to == to && parcel.message.content == content) return sequence;
    return kNoSequence;
  }
  Callbacks on_timer(Instant now) {
    Callbacks callbacks;
    for (auto& [sequence, parcel] : parcels_) {
      if (now < parcel.due) continue;
      const bool again = parcel.sends < options_.sends;
      callbacks.emplace_back(again, parcel.to, sequence);
      parcel.wait *= 2;
      parcel.due = now + parcel.wait;
      parcel.sends += again ? 1 : options_.sends;
    }
    std::erase_if(parcels_, [&](const auto& entry) { return entry.second.sends > options_.sends; });
    return callbacks;
  }
  Instant earliest() const {
    Instant first = kNever;
    for (const auto& entry : parcels_) first = std::min(first, entry.second.due);
    return first;
  }
  std::size_t parcels() const { return parcels_.size(); }

  bool fresh(NodeId from, Incarnation incarnation, std::uint32_t number) {
    if (is_stale(from, incarnation,
                 [&](const PeerState& state) { return number <= state.newest(); }))
      return false;
    PeerState& state = known(from, incarnation);
    const std::uint32_t newest = state.newest();
    if (number <= newest && newest - number >= 64) return false;
    return state.seen.insert(number).second;
  }
  bool newer_call(NodeId from, Incarnation incarnation, std::uint32_t number) {
    if (is_stale(from, incarnation, [&](const PeerState& state) { return number <= state.call; }))
      return false;
    PeerState& state = known(from, incarnation);
    if (number <= state.call) return false;
    state.call = number;
    return true;
  }

 private:
  struct Parcel {
    NodeId to{};
    std::uint32_t sends = 0;
    Nanos wait{0};
    Instant due;
    Message message;
  };
  struct PeerState {
    Incarnation incarnation{};
    std::set<std::uint32_t> seen;
    std::uint32_t call = 0;

    std::uint32_t newest() const { return seen.empty() ? 0 : *seen.rbegin(); }
  };

  PeerState& known(NodeId from, Incarnation incarnation) {
    PeerState& state = peers_[from];
    if (state.incarnation == incarnation) return state;
    std::swap(state, previous_[from]);
    if (state.incarnation != incarnation || incarnation == Incarnation{})
      state = {.incarnation = incarnation, .seen = {}, .call = 0};
    return state;
  }
  // A message of the previous incarnation is old, unless its sequence number is higher than all
  // before.
  template <class Old>
  bool is_stale(NodeId from, Incarnation incarnation, Old old) const {
    const auto previous = previous_.find(from);
    if (previous == previous_.end() || peers_.at(from).incarnation == incarnation) return false;
    return previous->second.incarnation == incarnation && incarnation != Incarnation{} &&
           old(previous->second);
  }

  Courier<Message>::Options options_;
  std::map<Sequence, Parcel> parcels_;
  std::map<NodeId, PeerState> peers_;
  std::map<NodeId, PeerState> previous_;
};

// Operation code, node, and a number for all other choices.
using Operation = std::tuple<std::uint8_t, std::uint8_t, std::uint16_t>;

constexpr Courier<Message>::Options kOptions{.interval = 16ns, .sends = 3};

// For any sequence of operations Courier gives the same answers as the reference implementation,
// and `due` is never later than the deadline of the first parcel.
RC_GTEST_PROP(CourierProperty, MatchesTheReference, (const std::vector<Operation>& operations)) {
  Courier<Message> courier;
  SimpleCourier simple{kOptions};
  Instant now{};
  std::uint32_t last = 0;
  std::size_t largest = 0;
  bool gave_up = false;
  for (const auto& [operation, node, detail] : operations) {
    const NodeId peer{node % 3U};
    const std::uint32_t content = detail % 2U;
    switch (operation % 8) {
      case 0:    // Several parcels at a time, because more than 16 under way take another path.
      case 1: {  // Some numbers are used for messages that are not posted.
        for (std::uint32_t i = 0; i < 1 + detail % 8U; ++i) {
          const Sequence sequence = courier.next_sequence();
          RC_ASSERT(sequence == Sequence{++last});
          if (detail % 5 == 0) continue;
          const Message message{.sequence = sequence, .content = content};
          courier.post(now, peer, message, kOptions);
          simple.post(now, peer, message);
        }
        break;
      }
      case 2:
      case 3: {
        const Sequence sequence{last == 0 ? 0 : last - detail % last};
        const Message* message = courier.acknowledge(peer, sequence);
        RC_ASSERT((message != nullptr) == simple.acknowledge(peer, sequence));
        if (message != nullptr) RC_ASSERT(message->sequence == sequence);
        break;
      }
      case 4: {
        courier.withdraw([&](NodeId to, const Message& message) {
          return to == peer && message.content == content;
        });
        simple.withdraw(peer, content);
        break;
      }
      case 5: {
        const auto wanted = [&](const Message& message) { return message.content == content; };
        const Message* message = courier.under_way(peer, wanted);
        RC_ASSERT((message == nullptr ? kNoSequence : message->sequence) ==
                  simple.under_way(peer, content));
        break;
      }
      default: {
        now += Nanos{detail % 64};
        Callbacks callbacks;
        courier.on_timer(
            now, kOptions,
            [&](NodeId to, const Message& message) {
              callbacks.emplace_back(true, to, message.sequence);
            },
            [&](NodeId to, const Message& message) {
              callbacks.emplace_back(false, to, message.sequence);
            });
        RC_ASSERT(callbacks == simple.on_timer(now));
        for (const auto& [again, to, sequence] : callbacks) gave_up |= !again;
        break;
      }
    }
    RC_ASSERT(courier.due() <= simple.earliest());
    if (simple.parcels() == 0) RC_ASSERT(courier.due() == kNever);
    largest = std::max(largest, simple.parcels());
  }
  RC_CLASSIFY(largest > 16, "more than 16 parcels");
  RC_CLASSIFY(gave_up, "gave up");
}

// For any messages in any order Courier recognises the same duplicates as the reference
// implementation.
RC_GTEST_PROP(CourierProperty, RecognisesTheSameDuplicatesAsTheReference,
              (const std::vector<Operation>& operations)) {
  Courier<Message> courier;
  SimpleCourier simple{kOptions};
  int duplicates = 0;
  for (const auto& [operation, node, detail] : operations) {
    const NodeId from{node % 2U};
    const Incarnation incarnation{operation < 240 ? 1U : 2U};
    if (operation % 4 == 0) {
      const std::uint32_t number = detail % 16U;
      RC_ASSERT(courier.newer_call(from, incarnation, Sequence{number}) ==
                simple.newer_call(from, incarnation, number));
    } else {
      // A small range of numbers, to get duplicates, in four groups that span one and a half
      // windows.
      const std::uint32_t number = 100 + detail % 6U + 32 * (node / 2 % 4U);
      const bool fresh = courier.fresh(from, incarnation, Sequence{number});
      RC_ASSERT(fresh == simple.fresh(from, incarnation, number));
      duplicates += fresh ? 0 : 1;
    }
  }
  RC_CLASSIFY(duplicates > 3, "more than three duplicates");
}

// A mutable walk through the fields that writes nothing changes neither the packed form nor later
// answers.
RC_GTEST_PROP(CourierProperty, IsUnchangedByAFieldWalk,
              (const std::vector<Operation>& operations)) {
  Courier<Message> courier;
  Instant now{};
  std::uint32_t last = 0;
  for (const auto& [operation, node, detail] : operations) {
    const NodeId peer{node % 3U};
    if (operation % 4 == 0 && last != 0) {
      courier.acknowledge(peer, Sequence{last - detail % last});
    } else {
      const Sequence sequence = courier.next_sequence();
      courier.post(now, peer, {.sequence = sequence, .content = detail}, kOptions);
      last = std::to_underlying(sequence);
    }
    now += Nanos{detail % 4};
  }
  Courier<Message> walked = courier;
  FieldVisitor visitor;
  visit_fields(walked, visitor);
  RC_ASSERT(packed(walked, now) == packed(courier, now));

  const auto run_timer = [&](Courier<Message>& which) {
    Callbacks callbacks;
    which.on_timer(
        now + 8ns, kOptions,
        [&](NodeId to, const Message& message) {
          callbacks.emplace_back(true, to, message.sequence);
        },
        [&](NodeId to, const Message& message) {
          callbacks.emplace_back(false, to, message.sequence);
        });
    return callbacks;
  };
  const Callbacks expected = run_timer(courier);
  RC_ASSERT(run_timer(walked) == expected);
  RC_ASSERT(packed(walked, now) == packed(courier, now));
  RC_CLASSIFY(!expected.empty(), "something was due");
}

}  // namespace
}  // namespace tempo
