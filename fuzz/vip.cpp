// Frames that tempo-vip receives, addresses that it is configured with, and requests of local users.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "services/vip/address_prefix.h"
#include "services/vip/neighbour_frame.h"
#include "services/vip/status.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace vip = tempo::vip;
  const auto bytes = std::as_bytes(std::span{data, size});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto claim = vip::read_claim(bytes)) {
    // What is announced again is read as the same claim.
    const auto again = vip::read_claim(vip::announcement(claim->address, claim->mac));
    if (!again || again->address.bytes != claim->address.bytes) std::abort();
  }
  if (const auto address = vip::AddressPrefix::parse(text))
    if (vip::AddressPrefix::parse(address->text_with_prefix()) != *address) std::abort();
  (void)vip::request_in(text);
  (void)vip::data_in(text);
  return 0;
}
