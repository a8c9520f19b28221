// Fuzzes the parser of datagrams: any bytes are parsed or refused with a named Error, and a parsed
// datagram, written again, parses as the same.
#include "protocol/wire/datagram.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"

namespace tempo::wire {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)parse_header(bytes);
  const auto datagram = parse(bytes);
  if (!datagram) {
    CHECK(!name_of(datagram.error()).empty());
    return 0;
  }
  std::array<std::byte, kMaxBytes> buffer{};
  const std::size_t written = write(*datagram, buffer);
  CHECK(parse(std::span(buffer).first(written)) == *datagram);
  return 0;
}

}  // namespace tempo::wire
