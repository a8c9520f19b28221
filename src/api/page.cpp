#include "api/page.h"

#include <bit>

namespace tempo::page {
namespace {

using Words = Page::Words;

Words pack(const Content& content) {
  const auto whole = [](Nanos span) { return static_cast<std::uint64_t>(span.count()); };
  const auto wall = [&](const ClockLine& line) { return whole(line.shows.time_since_epoch()); };
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  return {whole(content.raw.time_since_epoch()),
          whole(content.boot),
          wall(content.time),
          bits(content.time.rate),
          wall(content.earliest),
          bits(content.earliest.rate),
          wall(content.latest),
          bits(content.latest.rate),
          bits(content.held_wander),
          whole(content.fresh),
          whole(content.lasts),
          static_cast<std::uint64_t>(content.status),
          whole(content.real),
          content.main_until == kNever ? 0 : whole(content.main_until.time_since_epoch()),
          content.generation};
}

void store(Page::Copy& copy, const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) copy[i].store(words[i], std::memory_order_release);
}

}  // namespace

// The copy that readers do not use may be half written, and the next write sends readers to it.
void take_over(Page& page) {
  const std::uint64_t sequence = page.sequence.load(std::memory_order_acquire);
  const bool even = (sequence & 1) == 0;
  store(even ? page.odd : page.even, words_of(even ? page.even : page.odd));
}

void write(Page& page, const Content& content) {
  const Words words = pack(content);
  const std::uint64_t odd = page.sequence.load(std::memory_order_relaxed) | 1;
  page.sequence.store(odd, std::memory_order_release);
  store(page.even, words);
  page.sequence.store(odd + 1, std::memory_order_release);
  store(page.odd, words);
}

}  // namespace tempo::page
