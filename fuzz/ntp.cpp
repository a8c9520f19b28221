// Fuzzes the NTP server with sequences of datagrams: no datagram gets a longer answer, and every
// answer is one of a server. Each datagram follows a byte with its length and a byte with its
// sender and the time since the last one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "services/ntp/server.h"

namespace {

using namespace tempo;  // NOLINT(google-build-using-namespace)

void serve(std::span<const std::byte> input) {
  static ntp::Server server(7, {});
  static Nanos time = 1h;
  while (input.size() >= 2) {
    const auto length = std::to_integer<std::size_t>(input[0]);
    const auto sender = std::to_integer<std::uint8_t>(input[1]);
    input = input.subspan(2);
    const auto datagram = input.first(std::min(length, input.size()));
    input = input.subspan(datagram.size());
    time += sender * 1ms;
    ntp::Client client{};
    client.back() = static_cast<std::byte>(sender & 3);
    const auto answer =
        server.answer({.bytes = datagram, .from = client, .at = Instant{time}},
                      {.raw = Instant{time + 5us},
                       .time = WallTime{24h * 20000 + time},
                       .bound = 3us,
                       .status = doors::door_status(page::Status::synchronized, 3us, 1s),
                       .updated = WallTime{24h * 20000}});
    if (!answer) continue;
    CHECK(answer->bytes.size() <= datagram.size());
    const auto packet = ntp::decode(answer->bytes);
    CHECK(packet && packet->mode == 4);
    server.on_departure(answer->receive, WallTime{24h * 20000 + time});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  serve(std::as_bytes(std::span{data, size}));
  return 0;
}
