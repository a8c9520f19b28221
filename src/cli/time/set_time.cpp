#include "cli/time/set_time.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "base/span_text.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "cli/operations/requests.h"

namespace tempo::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Takes exactly `digits` digits from the front.
std::optional<int> take(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  const char* end = text.data() + digits;
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end || text.front() == '-') return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool skip(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// ".123" in nanoseconds; 0 without a fraction.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (!skip(text, ".")) return 0;
  std::int64_t nanos = 0, unit = kSecond;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (unit == 1) return std::nullopt;
    unit /= 10;
    nanos += (text.front() - '0') * unit;
    text.remove_prefix(1);
  }
  return unit == kSecond ? std::nullopt : std::optional(nanos);
}

std::optional<std::int64_t> calendar_time(std::string_view text) {
  namespace chrono = std::chrono;
  const auto y = take(text, 4);
  if (!y || !skip(text, "-")) return std::nullopt;
  const auto m = take(text, 2);
  if (!m || !skip(text, "-")) return std::nullopt;
  const auto d = take(text, 2);
  if (!d || !skip(text, " T")) return std::nullopt;
  const auto hour = take(text, 2);
  if (!hour || !skip(text, ":")) return std::nullopt;
  const auto minute = take(text, 2);
  if (!minute || !skip(text, ":")) return std::nullopt;
  const auto second = take(text, 2);
  if (!second) return std::nullopt;
  const auto fraction = take_fraction(text);
  skip(text, "Z");
  const chrono::year_month_day date{chrono::year{*y}, chrono::month{static_cast<unsigned>(*m)},
                                    chrono::day{static_cast<unsigned>(*d)}};
  // 64 bits of nanoseconds hold these years.
  if (!fraction || !text.empty() || !date.ok() || *y < 1970 || *y > 2200 || *hour > 23 ||
      *minute > 59 || *second > 59)
    return std::nullopt;
  const chrono::seconds since = chrono::sys_days{date}.time_since_epoch() + chrono::hours{*hour} +
                                chrono::minutes{*minute} + chrono::seconds{*second};
  return since.count() * kSecond + *fraction;
}

std::optional<std::int64_t> unix_time(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || seconds < 0 || seconds > 7'000'000'000) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  const auto fraction = take_fraction(text);
  if (!fraction || !text.empty()) return std::nullopt;
  return seconds * kSecond + *fraction;
}

constexpr std::int64_t kWorthAQuestion = 60 * kSecond;

// Asks on a terminal whether network time is to move this far. nullopt: yes; else the exit status.
std::optional<int> refused(const SetTimeArguments& arguments, bool by, std::int64_t value) {
  const bool asks =
      !arguments.yes && !arguments.daemon.json && stdin_is_terminal() && stdout_is_terminal();
  if (!asks) return std::nullopt;
  std::int64_t move = value;
  if (!by) {
    const auto snapshot = ask_status(arguments.daemon);
    if (!snapshot) return snapshot.error();
    move -= snapshot->time_ns;
  }
  if (std::abs(move) <= kWorthAQuestion) return std::nullopt;
  print("This moves network time by {}{} on every machine of the cluster. Continue? [y/N] ",
        move < 0 ? "-" : "+", obs::uptime_text(static_cast<double>(std::abs(move)) * 1e-9));
  const std::string answer = read_line();
  if (answer == "y" || answer == "Y" || answer == "yes") return std::nullopt;
  print("Network time is unchanged.\n");
  return kViolation;
}

}  // namespace

Result<std::int64_t> parse_set_offset(const std::string& text) {
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  TRY(span, parse_span(has_sign ? text.substr(1) : text));
  return text.starts_with('-') ? -span.count() : span.count();
}

Result<std::int64_t> parse_utc(const std::string& text) {
  const auto at =
      text.starts_with('@') ? unix_time(std::string_view(text).substr(1)) : calendar_time(text);
  if (at) return *at;
  return std::unexpected(fmt::format(
      "'{}' is not a time; write UTC as \"2026-11-16 04:38:02\", or @ and seconds since 1970",
      text));
}

int set_time(const SetTimeArguments& arguments) {
  if (arguments.by.empty() == arguments.to.empty())
    return print_error(kBadUsage,
                       "give --by, e.g. --by -250ms, or --to, e.g. --to \"2026-11-16 04:38:02\"");
  ipc::Request request = request_of(ipc::Verb::set_time);
  const bool by = !arguments.by.empty();
  const auto value = by ? parse_set_offset(arguments.by) : parse_utc(arguments.to);
  if (!value)
    return print_error(kBadUsage, fmt::format("{}: {}", by ? "--by" : "--to", value.error()));
  (by ? request.by_ns : request.to_ns) = *value;
  if (const auto status = refused(arguments, by, *value)) return *status;
  return send_order(
      arguments.daemon, request,
      by ? fmt::format("tempod adds {}{} to the network time.", *value < 0 ? "-" : "+",
                       span_text(Nanos{std::abs(*value)}))
         : fmt::format("tempod sets the network time to {} UTC.", obs::utc_text(*value)),
      "tempo now");
}

}  // namespace tempo::cli
