// Historical datagrams come from anybody: whatever the bytes, they are read or refused by name, and
// what was read is written so that it is read again as the same.
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
