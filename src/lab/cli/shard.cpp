#include "lab/cli/shard.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "base/number_text.h"

namespace tempo::cli {

Result<Shard> shard_of(const std::string& text) {
  if (text.empty()) return Shard{};
  constexpr std::uint64_t kMaxParts = 100'000;
  const std::string_view parts{text};
  const std::size_t slash = std::min(parts.find('/'), parts.size());
  const auto number = parse_number<std::uint64_t>(parts.substr(0, slash)).value_or(0);
  const auto of =
      parse_number<std::uint64_t>(parts.substr(std::min(slash + 1, parts.size()))).value_or(0);
  if (number < 1 || number > of || of > kMaxParts)
    return std::unexpected(
        fmt::format("--shard must be one part of several, such as 1/4 to 4/4, not '{}'", text));
  return Shard{.number = number, .of = of};
}

}  // namespace tempo::cli
