// Fuzzes the parser of the clock's state: any text has values in their ranges, and they, written
// again, read as the same.
#include "daemon/state.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

namespace tempo::daemon {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const State state = parse_state({reinterpret_cast<const char*>(data), size});
  CHECK(std::abs(state.rate) < 1e-3);
  const State again = parse_state(state_text(state));
  CHECK(again.incarnation == state.incarnation && std::abs(again.rate - state.rate) < 1e-12);
  return 0;
}

}  // namespace tempo::daemon
