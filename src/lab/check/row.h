// A state of the world, and its encoding as a row of bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "lab/check/model.h"

namespace tempo::check {

inline constexpr std::uint32_t kDown = 0xffffffff;
inline constexpr std::uint32_t kMaxFlights = 64;  // a multiple of 4

// Local states and messages under way by their numbers (parts.h). Entries of `flight` after the
// last one are uninitialized: states are created and copied by the million.
struct WorldState {
  std::array<std::uint32_t, kMaxNodes> local{};
  std::array<std::uint8_t, kMaxNodes> incarnations{};
  std::array<std::uint8_t, kMaxNodes> pause{};  // 0: running; otherwise ticks so far plus 1
  std::array<Memory, kMaxNodes> memory{};
  std::array<std::uint8_t, kMaxNodes> wait{};  // ticks until the first start plus 1; 0: started
  Budget left{};
  std::uint16_t given = 0;  // commands given so far, one bit each
  std::uint8_t turn = 0;    // nodes before this one have had their turn in this tick
  std::uint8_t cut = 0;     // ticks until the network is whole
  std::uint32_t flights = 0;
  std::array<std::uint32_t, kMaxFlights> flight;  // number and age; see Mail::code_of

  WorldState() = default;
  WorldState(const WorldState& other) { *this = other; }
  WorldState& operator=(const WorldState& other) {
    // NOLINTNEXTLINE(bugprone-undefined-memory-manipulation): plain numbers
    std::memcpy(static_cast<void*>(this), &other, offsetof(WorldState, flight));
    for (std::uint32_t i = 0; i < other.flights; i += 4)
      std::memcpy(&flight[i], &other.flight[i], 4 * sizeof(std::uint32_t));
    return *this;
  }
};

// Encodes states as rows: equal rows, equal states. Fields that are constant in this world are
// omitted.
class Rows {
 public:
  static constexpr std::size_t kMaxBytes =
      (std::size_t{kMaxNodes} * 12) + (std::size_t{kMaxFlights} * 5) + 16;

  Rows(const Freedom& freedom, bool remembers, bool commanded)
      : freedom_(freedom), remembers_(remembers), commanded_(commanded) {
    staggered_ = std::ranges::any_of(freedom.starts, [](std::uint8_t at) { return at != 0; });
    bare_ = !remembers && !staggered_ && !bounded() && !commanded && freedom.cut_until == 0 &&
            freedom.budget.restarts == 0 && freedom.budget.pauses == 0;
    each_budget([this](std::uint8_t Budget::*) { bare_ = false; });
  }

  // Returns the size of the row in bytes; `to` must hold kMaxBytes.
  std::size_t write(const WorldState& state, char* to) const {
    Row row{to};
    put_head(state, row);
    for (std::uint32_t i = 0; i < state.flights; ++i) row.put(state.flight[i]);
    return row.end();
  }
  // The same without the flights. No head is a prefix of a different head.
  std::size_t write_head(const WorldState& state, char* to) const {
    Row row{to};
    put_head(state, row);
    return row.end();
  }

  WorldState read(std::string_view bytes) const {
    WorldState state;
    std::size_t at = 0;
    const auto get = [&] {
      std::uint32_t value = 0;
      for (unsigned shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        value |= (byte & 0x7fU) << shift;
        if (byte < 0x80) return value;
      }
    };
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i) {
      state.local[i] = get() - 1;  // 0 becomes kDown
      state.incarnations[i] = 1;
      if (freedom_.budget.restarts != 0) state.incarnations[i] = static_cast<std::uint8_t>(get());
      if (freedom_.budget.pauses != 0) state.pause[i] = static_cast<std::uint8_t>(get());
      if (remembers_) state.memory[i] = static_cast<Memory>(get());
      if (staggered_) state.wait[i] = static_cast<std::uint8_t>(get());
    }
    each_budget([&](std::uint8_t Budget::* member) {
      state.left.*member = static_cast<std::uint8_t>(get());
    });
    if (freedom_.budget.losses == Budget::kAnyNumber) state.left.losses = Budget::kAnyNumber;
    if (freedom_.budget.duplicates == Budget::kAnyNumber)
      state.left.duplicates = Budget::kAnyNumber;
    if (commanded_) state.given = static_cast<std::uint16_t>(get());
    if (bounded()) state.turn = static_cast<std::uint8_t>(get());
    if (freedom_.cut_until != 0) state.cut = static_cast<std::uint8_t>(get());
    while (at < bytes.size()) state.flight[state.flights++] = get();
    return state;
  }

 private:
  // Appends small numbers. It stores eight bytes at once: the next reader loads eight bytes, which
  // would stall on single-byte stores.
  class Row {
   public:
    explicit Row(char* at) : begin_(at), at_(at) {}
    void put(std::uint32_t value) {
      for (; value >= 0x80; value >>= 7) byte(value | 0x80);
      byte(value);
    }
    std::size_t end() {
      std::memcpy(at_, &word_, sizeof word_);
      return static_cast<std::size_t>(at_ - begin_) + filled_ / 8;
    }

   private:
    void byte(std::uint32_t value) {
      word_ |= std::uint64_t{value & 0xff} << filled_;
      filled_ += 8;
      if (filled_ != 64) return;
      std::memcpy(at_, &word_, sizeof word_);
      at_ += sizeof word_;
      word_ = 0;
      filled_ = 0;
    }

    char* begin_;
    char* at_;
    std::uint64_t word_ = 0;
    unsigned filled_ = 0;  // bits
  };

  void put_head(const WorldState& state, Row& row) const {
    if (bare_) {
      for (std::uint32_t i = 0; i < freedom_.nodes; ++i) row.put(state.local[i] + 1);
      return;
    }
    for (std::uint32_t i = 0; i < freedom_.nodes; ++i) {
      row.put(state.local[i] + 1);  // kDown becomes 0
      if (freedom_.budget.restarts != 0) row.put(state.incarnations[i]);
      if (freedom_.budget.pauses != 0) row.put(state.pause[i]);
      if (remembers_) row.put(state.memory[i]);
      if (staggered_) row.put(state.wait[i]);
    }
    each_budget([&](std::uint8_t Budget::* member) { row.put(state.left.*member); });
    if (commanded_) row.put(state.given);
    if (bounded()) row.put(state.turn);
    if (freedom_.cut_until != 0) row.put(state.cut);
  }

  template <class Each>
  void each_budget(Each each) const {
    for (std::uint8_t Budget::* member : {&Budget::losses, &Budget::duplicates, &Budget::crashes,
                                          &Budget::restarts, &Budget::pauses, &Budget::drifts})
      if (freedom_.budget.*member != 0 && freedom_.budget.*member != Budget::kAnyNumber)
        each(member);
  }

  bool bounded() const { return freedom_.timing == Timing::bounded; }

  Freedom freedom_;
  bool remembers_;
  bool commanded_;
  bool staggered_ = false;
  bool bare_ = false;  // a state consists only of local states and flights
};

}  // namespace tempo::check
