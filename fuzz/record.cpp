// Fuzzes the parser of the lock record on disk, which may be damaged: any text is parsed or
// refused, and a parsed record, written again, parses as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "protocol/lock/lock_record.h"

namespace tempo::locks {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto record = parse_lock_record({reinterpret_cast<const char*>(data), size});
  if (record) CHECK(parse_lock_record(record->text()) == *record);
  return 0;
}

}  // namespace tempo::locks
