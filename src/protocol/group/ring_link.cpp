#include "protocol/group/ring_link.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "protocol/group/ring_mutation.h"

namespace tempo::election::ring {

Link::Link(NodeId self, Incarnation incarnation, const LinkRules& rules)
    : self_(self),
      incarnation_(incarnation),
      rules_(&rules),
      next_(node_at((index(self) + 1) % rules.stations)) {
  CHECK(index(self) < rules.stations && rules.successors >= 1);
}

// Whether to acknowledge the message: its sender must learn that it arrived, also if it is a copy.
bool Link::admit(NodeId from, const Message& message) {
  if (message.sequence == kNoSequence || index(from) >= rules_->stations) return false;
  Lane& lane = lanes_[from];
  if (lane.life != message.life) lane = {.life = message.life, .taken = kNoSequence, .held = {}};
  const auto number = [](const Held& held) { return held.message.sequence; };
  const auto place = std::ranges::lower_bound(lane.held, message.sequence, {}, number);
  const bool known = message.sequence <= lane.taken ||
                     (place != lane.held.end() && number(*place) == message.sequence);
  if (known && !mutated(Mutation::take_twice)) return true;
  if (lane.held.size() >= kMaxHeld) return false;  // the sender repeats it
  lane.held.insert(place, {message});
  return true;
}

bool Link::take_next(NodeId from, Message& message) {
  Lane& lane = lanes_[from];
  if (lane.held.empty()) return false;
  const Message& first = lane.held.front().message;
  if (first.after > lane.taken && !mutated(Mutation::take_out_of_order)) return false;
  message = first;
  lane.taken = std::max(lane.taken, message.sequence);
  lane.held.erase(lane.held.begin());
  return true;
}

void Link::skip_next() {
  courier_.withdraw([](NodeId, const Message&) { return true; });
  last_sent_ = kNoSequence;
  ++skipped_;
  const std::uint32_t n = rules_->stations;
  // No station is known after the known ones; after the whole ring comes this station itself.
  next_ = skipped_ < std::min(rules_->successors, n) || skipped_ == n - 1
              ? node_at((index(self_) + 1 + skipped_) % n)
              : kNobody;
}

std::string_view name_of(Kind kind) {
  static constexpr std::array<std::string_view, kKinds> kNames{
      "ack", "probe", "priority", "announcement", "wake_up", "claim", "next_time", "termination"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace tempo::election::ring
