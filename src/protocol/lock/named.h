// Any number of locks in one machine: each message, command and notice says which lock it is about.
//
// Locks have numbers; who maps names to them, the same everywhere, is the node's affair. A lock is
// made when it is first heard of. There is room for so many; a lock that finds none is refused to
// our own clients, and others are answered as by somebody who wants nothing. But then we
// have not heard what was asked for it, so whatever is made from then on is made as after a
// restart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/machine.h"
#include "base/one_timer.h"
#include "protocol/lock/mode.h"

namespace tempo::lock {

// Something about one lock.
template <class Body>
struct About {
  LockId lock{};
  Body body{};

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("lock", self.lock);
    visit("body", self.body);
  }
};

template <class Lock>
class Named {
 public:
  using Message = About<typename Lock::Message>;
  using Command = About<typename Lock::Command>;
  struct Notice {
    LockId lock{};
    bool no_room = false;  // the command was not obeyed: there are too many locks
    typename Lock::Notice body{};

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("lock", self.lock);
      visit("no_room", self.no_room);
      visit("body", self.body);
    }
  };
  // A lock that has heard everything since the first start, or one that may have missed something.
  using Make = std::function<Lock(LockId lock, bool again)>;

  Named(Make make, std::size_t most, bool again)
      : make_(std::move(make)), most_(most), missed_(again) {}

  void start(Turn<Named>& /*turn*/) {}
  void receive(Turn<Named>& turn, NodeId from, const Message& message) {
    const auto hear = [&](Lock& lock, Turn<Lock>& inner) {
      lock.receive(inner, from, message.body);
    };
    if (Slot* slot = find_or_make(turn, message.lock)) return drive(turn, *slot, hear);
    Slot nobody{message.lock, make_(message.lock, false)};
    drive(turn, nobody, hear);
  }
  void command(Turn<Named>& turn, const Command& command) {
    if (Slot* slot = find_or_make(turn, command.lock))
      drive(turn, *slot, [&](Lock& lock, Turn<Lock>& inner) { lock.command(inner, command.body); });
    else
      turn.out.note({.lock = command.lock, .no_room = true});
  }
  // Wakes the lock that is due first; the driver asks again.
  void wake(Turn<Named>& turn, TimerId /*timer*/) {
    Slot* const slot = first();
    if (slot == nullptr || turn.now < slot->lock.timers().first()) return;
    drive(turn, *slot,
          [](Lock& lock, Turn<Lock>& inner) { lock.wake(inner, lock.timers().first_name()); });
  }

  OneTimer timers() const {
    Instant earliest = kNever;
    for (const Slot& slot : slots_) earliest = std::min(earliest, slot.lock.timers().first());
    return OneTimer{earliest};
  }
  const char* check() const {
    for (const Slot& slot : slots_)
      if (const char* broken = slot.lock.check()) return broken;
    return nullptr;
  }

  std::size_t size() const { return slots_.size(); }
  // Null: never heard of.
  const Lock* find(LockId lock) const {
    const auto place = std::ranges::lower_bound(slots_, lock, {}, &Slot::id);
    return place != slots_.end() && place->id == lock ? &place->lock : nullptr;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("missed", self.missed_);
    auto size = static_cast<std::uint32_t>(self.slots_.size());
    visit("locks", size);
    if constexpr (!std::is_const_v<Self>)
      while (self.slots_.size() < size)
        self.slots_.push_back({LockId{}, self.make_(LockId{}, false)});
    for (auto& slot : self.slots_) {
      visit("lock", slot.id);
      visit("state", slot.lock);
    }
  }

 private:
  struct Slot {
    LockId id{};
    Lock lock;
  };

  Slot* find_or_make(Turn<Named>& turn, LockId id) {
    auto place = std::ranges::lower_bound(slots_, id, {}, &Slot::id);
    if (place != slots_.end() && place->id == id) return &*place;
    if (slots_.size() >= most_) {
      missed_ = true;
      return nullptr;
    }
    place = slots_.insert(place, {id, make_(id, missed_)});
    drive(turn, *place, [](Lock& lock, Turn<Lock>& inner) { lock.start(inner); });
    return &*place;
  }
  Slot* first() {
    const auto place = std::ranges::min_element(
        slots_, {}, [](const Slot& slot) { return slot.lock.timers().first(); });
    return place == slots_.end() ? nullptr : &*place;
  }

  template <class Do>
  static void drive(Turn<Named>& turn, Slot& slot, Do todo) {
    Outbox<Lock>& out = turn.out.scratch.lock;
    out.clear();
    Turn<Lock> inner{turn.now, turn.draw, out};
    todo(slot.lock, inner);
    for (const Output<Lock>& output : out) {
      if (output.kind == OutputKind::send) turn.out.send(output.to, {slot.id, output.message});
      if (output.kind == OutputKind::broadcast) turn.out.broadcast({slot.id, output.message});
      if (output.kind == OutputKind::notice)
        turn.out.note({.lock = slot.id, .body = output.notice});
    }
  }

  Make make_;
  std::size_t most_;
  bool missed_;              // something may have been asked that we have not heard
  std::vector<Slot> slots_;  // ascending by number, at most `most_`
};

}  // namespace tempo::lock

namespace tempo {

template <class Lock>
struct OutboxScratch<lock::Named<Lock>> {
  Outbox<Lock> lock;
};

}  // namespace tempo
