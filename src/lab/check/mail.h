// The messages under way in a state: their encoding with their age, their arrival, and their
// canonical order, which makes equal situations equal.
#pragma once

#include <bit>
#include <cstdint>

#include "lab/check/model.h"
#include "lab/check/parts.h"
#include "lab/check/row.h"

namespace tempo::check {

inline bool will_never_run(const WorldState& state, NodeId node) {
  return state.local[index(node)] == kDown && state.wait[index(node)] == 0 &&
         state.left.restarts == 0;
}

template <class Model>
class Mail {
 public:
  // `parts` must outlive the object.
  Mail(const Parts<Model>& parts, const Freedom& freedom)
      : parts_(&parts),
        network_(freedom.network),
        bounded_(freedom.timing == Timing::bounded),
        delay_min_(freedom.delay_min),
        delay_max_(freedom.delay_max),
        age_bits_(bounded_ ? static_cast<std::uint32_t>(std::bit_width(freedom.delay_max)) : 0) {}

  std::uint32_t code_of(std::uint32_t flight, std::uint32_t age) const {
    return flight << age_bits_ | age;
  }
  std::uint32_t flight_of(std::uint32_t code) const { return code >> age_bits_; }
  std::uint32_t age_of(std::uint32_t code) const { return code & ((1U << age_bits_) - 1); }

  // `ripe`: the message may arrive now. `is_last_tick`: it must arrive before the tick passes.
  bool ripe(std::uint32_t code) const { return !bounded_ || age_of(code) >= delay_min_; }
  bool is_last_tick(std::uint32_t code) const { return bounded_ && age_of(code) == delay_max_; }
  // Some message must arrive at this node before the tick passes.
  bool must_arrive(const WorldState& state, NodeId node) const {
    for (std::uint32_t i = 0; i < state.flights; ++i)
      if (to(state.flight[i]) == node && age_of(state.flight[i]) == delay_max_) return true;
    return false;
  }
  // Messages under way to the node.
  std::uint32_t count(const WorldState& state, NodeId node) const {
    std::uint32_t there = 0;
    for (std::uint32_t i = 0; i < state.flights; ++i)
      there += to(state.flight[i]) == node ? 1U : 0U;
    return there;
  }
  // Lets a tick pass. Overdue messages wait for a paused node and are dropped at a node that is
  // down.
  void age(WorldState& state) const {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < state.flights; ++i) {
      const std::uint32_t code = state.flight[i];
      if (age_of(code) < delay_max_)
        state.flight[kept++] = code + 1;
      else if (state.local[index(to(code))] != kDown)
        state.flight[kept++] = code;
    }
    state.flights = kept;
  }
  // Drops the messages to nodes that will never run again.
  void drop_unheard(WorldState& state) const {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < state.flights; ++i)
      if (!will_never_run(state, to(state.flight[i]))) state.flight[kept++] = state.flight[i];
    state.flights = kept;
  }

  // An earlier message of the same lane is still under way.
  bool overtakes(const WorldState& state, std::uint32_t at) const {
    if (network_ == Network::bag || network_ == Network::set) return false;
    if (!in_lane(state.flight[at])) return false;
    for (std::uint32_t i = 0; i < at; ++i)
      if (in_lane(state.flight[i]) && lane_of(state.flight[i]) == lane_of(state.flight[at]))
        return true;
    return false;
  }
  // Returns the position of the inserted message.
  std::uint32_t insert(WorldState& state, std::uint32_t code) const {
    std::uint32_t at = state.flights++;
    for (; at > 0 && before(code, state.flight[at - 1]); --at)
      state.flight[at] = state.flight[at - 1];
    state.flight[at] = code;
    return at;
  }
  static void insert_at(WorldState& state, std::uint32_t at, std::uint32_t code) {
    for (std::uint32_t i = state.flights++; i > at; --i) state.flight[i] = state.flight[i - 1];
    state.flight[at] = code;
  }
  static void remove(WorldState& state, std::uint32_t at) {
    --state.flights;
    for (; at < state.flights; ++at) state.flight[at] = state.flight[at + 1];
  }
  void sort(WorldState& state) const {  // insertion sort: short and mostly sorted
    for (std::uint32_t i = 1; i < state.flights; ++i) {
      const std::uint32_t code = state.flight[i];
      std::uint32_t at = i;
      for (; at > 0 && before(code, state.flight[at - 1]); --at)
        state.flight[at] = state.flight[at - 1];
      state.flight[at] = code;
    }
  }

 private:
  NodeId to(std::uint32_t code) const { return parts_->flight(flight_of(code)).to; }
  std::uint64_t lane_of(std::uint32_t code) const {
    const auto& flight = parts_->flight(flight_of(code));
    if (network_ == Network::fifo)
      return std::uint64_t{index(flight.from)} << 32 | index(flight.to);
    return index(flight.to);
  }
  bool in_lane(std::uint32_t code) const {
    return network_ == Network::fifo ||
           (network_ == Network::ordered && parts_->flight(flight_of(code)).broadcast);
  }
  // Unordered networks sort by code, so that equal sets of messages are equal. Others sort by lane
  // and, within a lane, keep the order of transmission.
  bool before(std::uint32_t left, std::uint32_t right) const {
    if (network_ == Network::bag || network_ == Network::set) return left < right;
    const bool left_in = in_lane(left);
    const bool right_in = in_lane(right);
    if (left_in != right_in) return right_in;
    return left_in ? lane_of(left) < lane_of(right) : left < right;
  }

  const Parts<Model>* parts_;
  Network network_;
  bool bounded_;
  std::uint8_t delay_min_;
  std::uint8_t delay_max_;
  std::uint32_t age_bits_;
};

}  // namespace tempo::check
