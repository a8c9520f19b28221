// What is on disk may have been damaged: whatever the text, it is a record or none, and a record,
// written again, says the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "daemon/lock_record.h"

namespace tempo::daemon {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto record = parse_lock_record({reinterpret_cast<const char*>(data), size});
  if (record) CHECK(parse_lock_record(record->text()) == *record);
  return 0;
}

}  // namespace tempo::daemon
