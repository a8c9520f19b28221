#include "daemon/control/sessions.h"

#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/core.h>

namespace tempo::daemon {
namespace {

constexpr std::size_t kPart = 16;  // hexadecimal digits of the number and of the origin

std::optional<std::uint64_t> hex_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string session_text(const SessionText& session) {
  return fmt::format("{:016x}{:016x}", session.number, std::to_underlying(session.origin));
}

std::optional<SessionText> session_of(std::string_view text) {
  if (text.size() != 2 * kPart) return std::nullopt;
  const auto number = hex_number(text.substr(0, kPart));
  const auto origin = hex_number(text.substr(kPart));
  if (!number || !origin || *number == 0) return std::nullopt;
  return SessionText{*number, HostId{*origin}};
}

}  // namespace tempo::daemon
