// Fuzzes the samples of chrony's SOCK reference clock, which local programs send to tempod: any
// bytes are read or refused, and the sources of UTC that get them keep finite readings.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "api/sock_sample.h"
#include "base/check.h"
#include "protocol/clock/utc_sources.h"

namespace tempo {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  clock::UtcSources sources(std::vector<clock::UtcSources::Source>(2));
  auto input = std::as_bytes(std::span{data, size});
  Nanos time = 1s;
  // A byte for the source and the time since the last sample precedes each sample.
  while (!input.empty()) {
    const auto first = std::to_integer<std::uint8_t>(input[0]);
    input = input.subspan(1);
    const auto bytes = input.first(std::min(input.size(), doors::kSockBytes));
    input = input.subspan(bytes.size());
    time += (first >> 1) * 100ms;
    const auto sample = doors::decode(bytes);
    if (!sample || sample->leap == 3) continue;
    const auto again = doors::decode(doors::encode(*sample));
    CHECK(again && again->leap == sample->leap && again->pulse == sample->pulse);
    sources.add(first & 1,
                {.at = Instant{time},
                 .utc = sample->at + Nanos{static_cast<std::int64_t>(sample->offset * 1e9)},
                 .leap = static_cast<clock::UtcSources::Leap>(sample->leap)});
    if (const auto reading = sources.read(Instant{time})) CHECK(reading->bound > Nanos{0});
  }
  return 0;
}

}  // namespace tempo
