#include "base/display_text.h"

#include <array>

#include <fmt/core.h>

namespace tempo::report {
namespace {

struct Range {
  char32_t first, last;
};
constexpr std::array kCombining{Range{0x300, 0x36f},   Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff},
                                Range{0x200b, 0x200f}, Range{0x20d0, 0x20ff}, Range{0xfe00, 0xfe0f},
                                Range{0xfe20, 0xfe2f}};
constexpr std::array kWide{
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0xa4cf},
    Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe4f},
    Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},   Range{0x1f300, 0x1f64f},
    Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1faff}, Range{0x20000, 0x3fffd}};

template <std::size_t kCount>
bool among(const std::array<Range, kCount>& ranges, char32_t point) {
  for (const Range& range : ranges)
    if (point >= range.first && point <= range.last) return true;
  return false;
}

struct Character {
  std::size_t bytes;
  std::size_t width;
};

// The first code point of a text that is not empty.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (length == 1 || length > text.size()) return {1, 1};
  auto point = static_cast<char32_t>(lead & (0xff >> (length + 1)));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {1, 1};
    point = point << 6 | (byte(i) & 0x3fU);
  }
  if (among(kCombining, point)) return {length, 0};
  return {length, among(kWide, point) ? std::size_t{2} : std::size_t{1}};
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += character.width;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string clipped(std::string_view text, std::size_t width, std::string_view mark) {
  if (display_width(text) <= width) return std::string(text);
  const std::size_t mark_width = display_width(mark);
  if (mark_width > width) return {};
  std::size_t bytes = 0;
  std::size_t taken = 0;
  while (true) {
    const Character character = first_character(text.substr(bytes));
    if (taken + character.width + mark_width > width) break;
    taken += character.width;
    bytes += character.bytes;
  }
  return std::string(text.substr(0, bytes)) + std::string(mark);
}

std::string escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char character : text) {
    switch (character) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(character) < 0x20 || character == 0x7f)
          safe += ' ';
        else
          safe += character;
    }
  }
  return safe;
}

std::string brief_span(Nanos span) {
  if (span < Nanos{0}) return '-' + brief_span(-span);
  const auto nanos = static_cast<double>(span.count());
  struct Unit {
    const char* name;
    double nanos;
  };
  // 999.6us rounds to four digits, so it is shown in the next unit, as 1ms.
  for (const Unit unit : {Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}}) {
    const double value = nanos / unit.nanos;
    if (value >= 999.5 && unit.nanos < 1e9) continue;
    const int decimals = unit.nanos < 2 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (decimals > 0) {
      text.erase(text.find_last_not_of('0') + 1);
      if (text.ends_with('.')) text.pop_back();
    }
    return text + unit.name;
  }
  return {};
}

std::string grouped(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

}  // namespace tempo::report
