// Fuzzes the parsers of faults and delays in scripts and on the command line: any text is parsed or
// refused with an error message.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lab/sim/delay.h"
#include "lab/studies/election/fault.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)tempo::sim::election::parse_fault(text, 9);
  (void)tempo::sim::Delay::parse(text);
  return 0;
}
