#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "protocol/wire/tsp.h"

namespace tempo::wire::tsp {
namespace {

// Every datagram is parsed as it was written.
RC_GTEST_PROP(TspProperty, IsParsedAsWritten, (std::uint16_t sequence, const std::string& name)) {
  Datagram datagram{.type = Type{*rc::gen::inRange<std::uint8_t>(1, kLastType + 1)},
                    .sequence = sequence,
                    .name = Name(name)};
  const std::int64_t seconds = *rc::gen::inRange<std::int64_t>(
      std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  if (carries_time(datagram.type))
    datagram.micros = seconds * 1'000'000 + *rc::gen::inRange(0, 1'000'000);
  if (datagram.type == Type::loop) datagram.hops = *rc::gen::arbitrary<std::uint8_t>();
  RC_CLASSIFY(carries_time(datagram.type));
  std::array<std::byte, kBytes> bytes{};
  write(datagram, bytes);
  RC_ASSERT(parse(bytes).value() == datagram);
}

// Any bytes are parsed or refused with an Error.
RC_GTEST_PROP(TspProperty, SurvivesAnyBytes, (std::vector<std::uint8_t> noise)) {
  noise.resize(*rc::gen::inRange<std::size_t>(0, 400));
  if (noise.size() > 2) {
    noise[0] = static_cast<std::uint8_t>(noise[0] % 26);
    noise[1] = static_cast<std::uint8_t>(noise[1] % 3 == 0 ? 2 : 1);
  }
  const auto read = parse(std::as_bytes(std::span(noise)));
  RC_CLASSIFY(read.has_value());
  if (!read.has_value()) RC_ASSERT(read.error() < Error::count);
}

}  // namespace
}  // namespace tempo::wire::tsp
