// Courier: reliable messages.
//
// Provides sequence numbers, acknowledgement, retransmission and duplicate detection to the machine
// that embeds it. A posted message is sent again, at doubling intervals, until the receiver
// acknowledges it or the last send remains unanswered; then the receiver counts as down. A received
// message is identified by (sender, incarnation, sequence number): a restarted sender counts from 1
// again under a new incarnation.
//
// The Courier sends nothing itself. The embedding machine sends the messages that the callbacks
// pass to it, defines its own acknowledgement, and sets one of its timers to `due()`.
//
// A *call* is a broadcast request that may be repeated under one sequence number (Masterreq,
// Election): only the newest call of each incarnation of each sender counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "base/node_map.h"
#include "base/small_vector.h"
#include "base/units.h"
#include "machine/fields.h"

namespace tempo {

template <class Message, TimePoint Time = Instant>
class Courier {
 public:
  struct Options {
    Nanos interval;       // from the first send to the second; doubles each time
    std::uint32_t sends;  // maximum number of sends
  };

  // A message under way: sent, but not yet acknowledged.
  struct Parcel {
    NodeId to = kNobody;
    std::uint32_t sends = 0;  // sends so far; 0: finished, removed by the next sweep
    Time due = kNever;        // deadline of the next send; kNever: finished
    Message message{};

    static constexpr auto fields(auto list) {
      using M = Parcel;
      return list(field<&M::to, role::about>("to"), field<&M::sends>("sends"),
                  field<&M::due>("due"), field<&M::message>("message"));
    }
  };

  // Sender

  Sequence next_sequence() { return Sequence{++last_sequence_}; }

  // Stores a message that the caller sends now for the first time, until `acknowledge` or the last
  // send. Its sequence number must be higher than that of every message posted before.
  void post(Time now, NodeId to, const Message& message, const Options& options) {
    CHECK(live_ < kMaxParcels);
    CHECK(parcels_.empty() || parcels_.back().message.sequence < message.sequence);
    if (parcels_.size() >= kFew ? live_ * 2 <= parcels_.size() : live_ == 0) sweep();
    parcels_.push_back({.to = to, .sends = 1, .due = now + options.interval, .message = message});
    ++live_;
    due_ = std::min(due_, parcels_.back().due);
  }

  // The message that `to` acknowledges; null if no acknowledgement is pending for it. The pointer
  // is valid until the next call.
  const Message* acknowledge(NodeId to, Sequence sequence) {
    Parcel* const found = find(sequence);
    if (found == nullptr || found->to != to || found->sends == 0) return nullptr;
    finish(*found);
    settle();
    return &found->message;
  }

  // Stops sending the messages for which `unwanted(to, message)` is true.
  template <class Unwanted>
  void withdraw(Unwanted unwanted) {
    if (live_ == 0) return;
    for (Parcel& parcel : parcels_)
      if (parcel.sends != 0 && unwanted(parcel.to, parcel.message)) finish(parcel);
    settle();
  }

  // A message under way to this node for which `wanted(message)` is true; null: none.
  template <class Wanted>
  const Message* under_way(NodeId to, Wanted wanted) const {
    if (live_ == 0) return nullptr;
    for (const Parcel& parcel : parcels_)
      if (parcel.sends != 0 && parcel.to == to && wanted(parcel.message)) return &parcel.message;
    return nullptr;
  }

  // Visits every message under way.
  template <class Visit>
  void each(Visit visit) const {
    for (const Parcel& parcel : parcels_)
      if (parcel.sends != 0) visit(parcel.to, parcel.message);
  }

  // Calls `send_again` for each message that is due and `give_up` for each whose last send remained
  // unanswered. The callbacks must not call the Courier; the caller collects the nodes that were
  // given up and handles them afterwards.
  template <class SendAgain, class GiveUp>
  void on_timer(Time now, const Options& options, SendAgain send_again, GiveUp give_up) {
    if (now < due_) return;
    for (Parcel& parcel : parcels_) {
      if (parcel.sends == 0 || now < parcel.due) continue;
      if (parcel.sends >= options.sends) {
        finish(parcel);
        give_up(parcel.to, parcel.message);
        continue;
      }
      parcel.due = now + options.interval * (1U << std::min(parcel.sends, 20U));
      ++parcel.sends;
      send_again(parcel.to, parcel.message);
    }
    due_ = earliest();
  }

  // Time of the next on_timer: never later than the deadline of the next send; kNever: none.
  Time due() const { return due_; }

  // Prefetches the state of this node.
  void fetch_ahead(NodeId from) const { peers_.fetch_ahead(from); }

  // Receiver

  // Returns true if this message is not a duplicate, and records it.
  bool fresh(NodeId from, Incarnation incarnation, Sequence sequence) {
    const std::uint32_t number = std::to_underlying(sequence);
    PeerState* state =
        known(from, incarnation, [&](const PeerState& old) { return number > old.highest; });
    if (state == nullptr) return false;
    if (number > state->highest) {
      const std::uint32_t shift = number - state->highest;
      state->seen = shift < 64 ? (state->seen << shift) | 1 : 1;
      state->highest = number;
      return true;
    }
    const std::uint32_t age = state->highest - number;
    if (age >= 64) return false;  // before the window: taken as a duplicate
    const std::uint64_t bit = std::uint64_t{1} << age;
    if ((state->seen & bit) != 0) return false;
    state->seen |= bit;
    return true;
  }

  // Returns true if this call is newer than all calls of this incarnation, and records it.
  bool newer_call(NodeId from, Incarnation incarnation, Sequence sequence) {
    PeerState* state =
        known(from, incarnation, [&](const PeerState& old) { return sequence > old.call; });
    if (state == nullptr || sequence <= state->call) return false;
    state->call = sequence;
    return true;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [last_sequence, live, due, parcels, peers, previous] = self;
    visit_as<role::last>(visit, "last_sequence", last_sequence);
    if constexpr (std::is_const_v<Self>) {
      visit("parcels", live);
      for (const Parcel& parcel : parcels)
        if (parcel.sends != 0) visit("parcels", parcel);
    } else {
      self.sweep();
      visit("parcels", parcels);
      std::ranges::sort(parcels, {}, [](const Parcel& p) { return p.message.sequence; });
      live = static_cast<std::uint32_t>(parcels.size());
      due = self.earliest();
    }
    visit("lives", peers);
    visit("before", previous);
  }

 private:
  // The messages received from one incarnation of a peer.
  struct PeerState {
    Incarnation incarnation{};
    std::uint32_t highest = 0;    // highest sequence number received
    Sequence call = kNoSequence;  // newest call received
    std::uint64_t seen = 0;       // bit i: sequence number highest - i was received

    static constexpr auto fields(auto list) {
      using M = PeerState;
      return list(field<&M::incarnation>("incarnation"),
                  field<&M::highest, role::highest>("highest"), field<&M::seen, role::seen>("seen"),
                  field<&M::call, role::newest_call>("call"));
    }
  };

  static constexpr std::size_t kMaxParcels = 2 * std::size_t{kMaxNodes};
  static constexpr std::size_t kFew = 16;  // up to this many parcels a full scan is cheap

  // The parcel with this sequence number; null: none. The parcels are sorted by strictly increasing
  // numbers, so a parcel's index is at most its number minus the first parcel's, and usually equal.
  Parcel* find(Sequence sequence) {
    if (parcels_.empty() || sequence < parcels_.front().message.sequence) return nullptr;
    const std::size_t furthest = std::min<std::size_t>(
        std::to_underlying(sequence) - std::to_underlying(parcels_.front().message.sequence),
        parcels_.size() - 1);
    const auto end = parcels_.begin() + static_cast<std::ptrdiff_t>(furthest);
    const auto found = end->message.sequence == sequence
                           ? end
                           : std::ranges::lower_bound(
                                 parcels_.begin(), end, sequence, {},
                                 [](const Parcel& parcel) { return parcel.message.sequence; });
    return found->message.sequence == sequence ? &*found : nullptr;
  }

  // State of this incarnation of the peer; null if it is the previous one and `goes_on` is false.
  // Incarnations have no order: the first message received from an incarnation may be a late one,
  // sent before a restart. The incarnation that still runs shows itself by its next number.
  template <class GoesOn>
  PeerState* known(NodeId from, Incarnation incarnation, GoesOn goes_on) {
    PeerState& state = peers_[from];
    if (state.incarnation == incarnation) return &state;
    const PeerState* const previous = previous_.find(from);
    if (previous != nullptr && previous->incarnation == incarnation) {
      if (!goes_on(*previous)) return nullptr;
      std::swap(state, previous_[from]);
      return &state;
    }
    if (state.incarnation != Incarnation{}) previous_[from] = state;
    state = {.incarnation = incarnation};
    return &state;
  }

  void finish(Parcel& parcel) {
    parcel.sends = 0;
    parcel.due = kNever;
    --live_;
  }

  // After acknowledgements `due_` may be too early, which costs one idle on_timer. Up to kFew
  // parcels it is exact.
  void settle() {
    if (live_ == 0)
      due_ = kNever;
    else if (parcels_.size() <= kFew)
      due_ = earliest();
  }

  Time earliest() const {
    Time first = kNever;
    for (const Parcel& parcel : parcels_) first = std::min(first, parcel.due);
    return first;
  }

  void sweep() {
    parcels_.erase_if([](const Parcel& parcel) { return parcel.sends == 0; });
  }

  std::uint32_t last_sequence_ = 0;
  std::uint32_t live_ = 0;          // parcels with sends != 0
  Time due_ = kNever;               // never later than the earliest `due` of a parcel
  SmallVector<Parcel, 1> parcels_;  // sorted by sequence number; may contain finished parcels
  NodeMap<PeerState, 2> peers_;     // current incarnation of each peer
  NodeMap<PeerState> previous_;     // previous incarnation of each peer that restarted
};

}  // namespace tempo
