#include "api/sock_sample.h"

#include <cstring>

namespace tempo::doors {
namespace {

constexpr std::int32_t kMagic = 0x534f434b;                 // "SOCK"
constexpr std::int64_t kMaxSeconds = 136LL * 365 * 86400;  // since 1970, of both times

struct Layout {
  std::int64_t seconds = 0;
  std::int64_t microseconds = 0;
  double offset = 0;
  std::int32_t pulse = 0;
  std::int32_t leap = 0;
  std::int32_t padding = 0;
  std::int32_t magic = kMagic;
};
static_assert(sizeof(Layout) == kSockBytes);

}  // namespace

std::array<std::byte, kSockBytes> encode(const SockSample& sample) {
  const Nanos whole = std::chrono::floor<std::chrono::microseconds>(sample.at);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(whole);
  const Layout layout{.seconds = seconds.count(),
                      .microseconds = (whole - seconds) / 1us,
                      // The reading has whole microseconds.
                      .offset = sample.offset + in_seconds(sample.at - whole),
                      .pulse = sample.pulse ? 1 : 0,
                      .leap = sample.leap};
  std::array<std::byte, kSockBytes> bytes{};
  std::memcpy(bytes.data(), &layout, sizeof layout);
  return bytes;
}

std::optional<SockSample> decode(std::span<const std::byte> bytes) {
  if (bytes.size() != kSockBytes) return std::nullopt;
  Layout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  // Not a number fails every comparison.
  const double truth = static_cast<double>(layout.seconds) + layout.offset;
  const bool valid = layout.magic == kMagic && layout.seconds >= 0 &&
                     layout.seconds <= kMaxSeconds && layout.microseconds >= 0 &&
                     layout.microseconds < 1'000'000 && layout.leap >= 0 && layout.leap <= 3 &&
                     truth >= 0 && truth <= static_cast<double>(kMaxSeconds);
  if (!valid) return std::nullopt;
  return SockSample{
      .at = std::chrono::seconds{layout.seconds} + std::chrono::microseconds{layout.microseconds},
      .offset = layout.offset,
      .pulse = layout.pulse != 0,
      .leap = layout.leap};
}

}  // namespace tempo::doors
