// Courier: reliability, written once.
//
// Sequence numbers, acknowledgement, retransmission and the recognition of duplicates for any
// machine that embeds it. A message posted here is sent again, at doubling intervals, until its
// addressee has acknowledged it or the last send has gone unanswered, when the addressee is taken
// as down. What arrives is recognised by (sender, incarnation, sequence number): a restarted sender
// counts from 1 again under another incarnation and is not mistaken for its earlier life.
//
// The Courier sends nothing itself. The embedding machine sends what it is handed, answers with its
// own kind of acknowledgement, and keeps one of its timers at `due()`.
//
// A *call* is a broadcast question that may be repeated under one sequence number (Masterreq,
// Election): of each life of each sender only the newest call counts.
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

template <class Message>
class Courier {
 public:
  struct Options {
    Nanos interval;       // from the first send to the second; doubles each time
    std::uint32_t sends;  // in all
  };

  struct Parcel {
    NodeId to = kNobody;
    std::uint32_t sends = 0;  // so far; 0: delivered or withdrawn, to be swept
    Instant due = kNever;     // of the next send
    Message message{};

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("to", self.to);
      visit("sends", self.sends);
      visit("due", self.due);
      field::about(visit, self.to);
      visit("message", self.message);
    }
  };

  // Sender's side.

  Sequence next_sequence() { return Sequence{++last_sequence_}; }

  // Remembers a message that is being sent now for the first time, until `acknowledge` or the last
  // send. Its sequence number must be higher than that of everything posted before.
  void post(Instant now, NodeId to, const Message& message, const Options& options) {
    CHECK(live_ < kMaxParcels);
    CHECK(parcels_.empty() || parcels_.back().message.sequence < message.sequence);
    if (parcels_.size() >= kFew ? live_ * 2 <= parcels_.size() : live_ == 0) sweep();
    parcels_.push_back({.to = to, .sends = 1, .due = now + options.interval, .message = message});
    ++live_;
    due_ = std::min(due_, parcels_.back().due);
  }

  // The message `to` has now acknowledged; null if it is not waited for. Valid until the next call.
  const Message* acknowledge(NodeId to, Sequence sequence) {
    Parcel* const found = find(sequence);
    if (found == nullptr || found->to != to || found->sends == 0) return nullptr;
    finish(*found);
    settle();
    return &found->message;
  }

  // Stops sending what `unwanted(to, message)` names.
  template <class Unwanted>
  void withdraw(Unwanted unwanted) {
    if (live_ == 0) return;
    for (Parcel& parcel : parcels_)
      if (parcel.sends != 0 && unwanted(parcel.to, parcel.message)) finish(parcel);
    settle();
  }

  // A message under way to this node that `wanted(message)` names, or null.
  template <class Wanted>
  const Message* under_way(NodeId to, Wanted wanted) const {
    if (live_ == 0) return nullptr;
    for (const Parcel& parcel : parcels_)
      if (parcel.sends != 0 && parcel.to == to && wanted(parcel.message)) return &parcel.message;
    return nullptr;
  }

  // Everything under way.
  template <class Visit>
  void each(Visit visit) const {
    for (const Parcel& parcel : parcels_)
      if (parcel.sends != 0) visit(parcel.to, parcel.message);
  }

  // Hands out what must be sent again and what has been sent for the last time in vain. Neither
  // callback may call the Courier; who is given up is collected and handled afterwards.
  template <class SendAgain, class GiveUp>
  void on_timer(Instant now, const Options& options, SendAgain send_again, GiveUp give_up) {
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

  // Not later than the next send that is due.
  Instant due() const { return due_; }

  // Something of this node will be looked at soon: asks for the memory.
  void fetch_ahead(NodeId from) const { lives_.fetch_ahead(from); }

  // Receiver's side.

  // Whether this message has not been seen before; remembers it.
  bool fresh(NodeId from, Incarnation incarnation, Sequence sequence) {
    const std::uint32_t number = std::to_underlying(sequence);
    Life* life = known(from, incarnation, [&](const Life& old) { return number > old.highest; });
    if (life == nullptr) return false;
    if (number > life->highest) {
      const std::uint32_t shift = number - life->highest;
      life->seen = shift < 64 ? (life->seen << shift) | 1 : 1;
      life->highest = number;
      return true;
    }
    const std::uint32_t age = life->highest - number;
    if (age >= 64) return false;  // too old to tell; old enough to be a copy
    const std::uint64_t bit = std::uint64_t{1} << age;
    if ((life->seen & bit) != 0) return false;
    life->seen |= bit;
    return true;
  }

  // Whether this call is newer than every other of this life; remembers it.
  bool newer_call(NodeId from, Incarnation incarnation, Sequence sequence) {
    Life* life = known(from, incarnation, [&](const Life& old) { return sequence > old.call; });
    if (life == nullptr || sequence <= life->call) return false;
    life->call = sequence;
    return true;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    field::last(visit, "last_sequence", self.last_sequence_);
    if constexpr (std::is_const_v<Self>) {
      visit("parcels", self.live_);
      for (const Parcel& parcel : self.parcels_)
        if (parcel.sends != 0) visit("parcels", parcel);
    } else {
      self.sweep();
      visit("parcels", self.parcels_);
      std::ranges::sort(self.parcels_, {}, [](const Parcel& p) { return p.message.sequence; });
      self.live_ = static_cast<std::uint32_t>(self.parcels_.size());
      self.due_ = self.earliest();
    }
    visit("lives", self.lives_);
    visit("before", self.before_);
  }

 private:
  struct Life {
    Incarnation incarnation{};
    std::uint32_t highest = 0;    // sequence number seen
    Sequence call = kNoSequence;  // the newest
    std::uint64_t seen = 0;       // bit i: highest - i was seen

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("incarnation", self.incarnation);
      field::heard(visit, self.highest, self.seen, self.call);
    }
  };

  static constexpr std::size_t kMaxParcels = 2 * std::size_t{kMaxNodes};
  static constexpr std::size_t kFew =
      16;  // parcels that are cheaper to look through than to postpone

  // The parcel of that number, or null. They lie in the order of their numbers, which rise by one
  // at least: one lies no further on than its number says, and mostly just there.
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

  // What is known of this life of the peer; null if it is the life before and does not go on.
  // Incarnations have no order: a late message of a life that has ended may be the first that is
  // heard of it, and the life that goes on shows itself by its next number.
  template <class GoesOn>
  Life* known(NodeId from, Incarnation incarnation, GoesOn goes_on) {
    Life& life = lives_[from];
    if (life.incarnation == incarnation) return &life;
    const Life* const before = before_.find(from);
    if (before != nullptr && before->incarnation == incarnation) {
      if (!goes_on(*before)) return nullptr;
      std::swap(life, before_[from]);
      return &life;
    }
    if (life.incarnation != Incarnation{}) before_[from] = life;
    life = {.incarnation = incarnation};
    return &life;
  }

  void finish(Parcel& parcel) {
    parcel.sends = 0;
    parcel.due = kNever;
    --live_;
  }

  // `due_` may lag behind what was acknowledged, which costs one idle wake; while the parcels are
  // few it is exact.
  void settle() {
    if (live_ == 0)
      due_ = kNever;
    else if (parcels_.size() <= kFew)
      due_ = earliest();
  }

  Instant earliest() const {
    Instant first = kNever;
    for (const Parcel& parcel : parcels_) first = std::min(first, parcel.due);
    return first;
  }

  void sweep() {
    parcels_.erase_if([](const Parcel& parcel) { return parcel.sends == 0; });
  }

  std::uint32_t last_sequence_ = 0;
  std::uint32_t live_ = 0;          // parcels with sends != 0
  Instant due_ = kNever;            // never later than the earliest `due` of a parcel
  SmallVector<Parcel, 1> parcels_;  // by sequence number; finished ones are swept now and then
  NodeMap<Life, 2> lives_;          // of each node heard, the present one
  NodeMap<Life> before_;            // of those that restarted; it is old, unless it goes on
};

}  // namespace tempo
