// Fuzzes the parser of the membership record: a text is refused, or is a record that, written
// again, reads as the same.
#include "protocol/membership/membership_record.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

namespace tempo::membership {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto saved = parse_record({reinterpret_cast<const char*>(data), size});
  if (!saved) return 0;
  const auto again = parse_record(text_of(*saved));
  CHECK(again && *again == *saved);
  return 0;
}

}  // namespace tempo::membership
