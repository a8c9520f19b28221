// The time page in shared memory: one writer, readers that retry.
//
// The writer never waits. A reader that finds that a write overlapped its reading starts again (the
// optimistic readers of Spirakis & Tampakas). Two copies are written in turn, and the sequence
// number says which one is at rest: a reader never waits for a writer that was stopped or killed in
// the middle, and starts again only after a complete write. The daemon writes a few times a second,
// so readers need no random wait between attempts.
//
// Every word is atomic, stored with release and loaded with acquire: a reader that sees a word of a
// newer write also sees the sequence number of that write. No fence, no system call.
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
inline constexpr std::uint32_t kVersion = 1;                 // of the layout below
using BootId = std::array<std::uint8_t, 16>;

struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t size = 0;  // of the whole page, in bytes
  BootId boot_id{};        // raw time restarts with every boot
};

struct Page {
  static constexpr std::size_t kWords = 15;
  using Copy = std::array<std::atomic<std::uint64_t>, kWords>;
  using Words = std::array<std::uint64_t, kWords>;

  Header header;  // never changes
  alignas(64) std::atomic<std::uint64_t> sequence{0};
  alignas(64) Copy even{};  // at rest while the sequence is even
  alignas(64) Copy odd{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// For one thread of one process at a time. A new writer calls `take_over` first: the previous one
// may have been killed in the middle of a write.
void take_over(Page& page);
void write(Page& page, const Content& content);

struct Loaded {
  std::uint64_t sequence = 0;  // equal numbers: equal content
  Content content{};
};
// Returns nullopt only if more writes happened meanwhile than a daemon can make.
inline std::optional<Loaded> load(const Page& page);

// --- inline, for the speed of a reading ---

inline Page::Words words_of(const Page::Copy& copy) {
  Page::Words words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = copy[i].load(std::memory_order_acquire);
  return words;
}

inline Content unpack(const Page::Words& words) {
  const auto span = [](std::uint64_t word) { return Nanos{static_cast<std::int64_t>(word)}; };
  const auto line = [&](std::uint64_t shows, std::uint64_t rate) {
    return ClockLine{.shows = WallTime{span(shows)}, .rate = std::bit_cast<double>(rate)};
  };
  return {.raw = Instant{span(words[0])},
          .boot = span(words[1]),
          .real = span(words[12]),
          .time = line(words[2], words[3]),
          .earliest = line(words[4], words[5]),
          .latest = line(words[6], words[7]),
          .held_wander = std::bit_cast<double>(words[8]),
          .fresh = span(words[9]),
          .lasts = span(words[10]),
          .status = static_cast<Status>(words[11]),
          // An earlier tempod leaves the last two words 0.
          .main_until = words[13] == 0 ? Instant{kNever} : Instant{span(words[13])},
          .generation = static_cast<std::uint32_t>(words[14])};
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
