// The page with the time in shared memory: one writer, readers that retry.
//
// The writer always writes and waits for nobody; a reader looks whether its reading overlapped a
// writing and then starts again (the optimistic readers of Spirakis & Tampakas). There are two
// copies, written in turn, and the sequence number says which one is at rest: so a reader never
// waits for a writer that was stopped or killed in the middle, and starts again only when a whole
// writing has passed. The daemon writes a few times a second, so no random wait between attempts
// is needed for a reader to come through.
//
// Every word is atomic, stored with release and loaded with acquire: whoever sees a word of a
// newer writing also sees that writing's sequence number. No fence, no system call.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "api/page_content.h"

namespace tempo::page {

inline constexpr std::uint64_t kMagic = 0x6567617020656d69;  // "ime page"
inline constexpr std::uint32_t kVersion = 1;                 // of all that follows
using BootId = std::array<std::uint8_t, 16>;

struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t size = 0;  // of the whole page
  BootId boot_id{};        // raw time begins anew with every boot
};

struct Page {
  static constexpr std::size_t kWords = 13;
  using Copy = std::array<std::atomic<std::uint64_t>, kWords>;
  using Words = std::array<std::uint64_t, kWords>;

  Header header;  // never changes
  alignas(64) std::atomic<std::uint64_t> sequence{0};
  alignas(64) Copy even{};  // at rest while the sequence is even
  alignas(64) Copy odd{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// By one thread of one process at a time. A new writer takes over first: the one before it may have
// been killed in the middle.
void take_over(Page& page);
void write(Page& page, const Content& content);

struct Loaded {
  std::uint64_t sequence = 0;  // two with the same number are the same
  Content content{};
};
// Nothing only when so many writings passed meanwhile that no daemon can be behind them.
inline std::optional<Loaded> load(const Page& page);

// --- inline with what it calls: this is what a reading costs ---

inline Page::Words words_of(const Page::Copy& copy) {
  Page::Words words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = copy[i].load(std::memory_order_acquire);
  return words;
}

inline Content unpack(const Page::Words& words) {
  const auto span = [](std::uint64_t word) { return Nanos{static_cast<std::int64_t>(word)}; };
  const auto hand = [&](std::uint64_t shows, std::uint64_t rate) {
    return Hand{.shows = WallTime{span(shows)}, .rate = std::bit_cast<double>(rate)};
  };
  return {.raw = Instant{span(words[0])},
          .boot = span(words[1]),
          .real = span(words[12]),
          .time = hand(words[2], words[3]),
          .earliest = hand(words[4], words[5]),
          .latest = hand(words[6], words[7]),
          .held_wander = std::bit_cast<double>(words[8]),
          .fresh = span(words[9]),
          .lasts = span(words[10]),
          .status = static_cast<Status>(words[11])};
}

inline std::optional<Loaded> load(const Page& page) {
  constexpr int kMaxAttempts = 1000;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const std::uint64_t before = page.sequence.load(std::memory_order_acquire);
    const Page::Words words = words_of((before & 1) == 0 ? page.even : page.odd);
    if (page.sequence.load(std::memory_order_relaxed) == before)
      return Loaded{.sequence = before, .content = unpack(words)};
  }
  return std::nullopt;
}

}  // namespace tempo::page
