// Fuzzes the parser of TSP version 1: any bytes are parsed or refused with a named Error, and a
// parsed datagram, written again, parses as the same.
#include "protocol/wire/tsp.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"

namespace tempo::wire::tsp {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto datagram = parse(std::as_bytes(std::span(data, size)));
  if (!datagram) {
    CHECK(!name_of(datagram.error()).empty());
    return 0;
  }
  CHECK(!name_of(datagram->type).empty());
  std::array<std::byte, kBytes> buffer{};
  write(*datagram, buffer);
  CHECK(parse(buffer) == *datagram);
  return 0;
}

}  // namespace tempo::wire::tsp
