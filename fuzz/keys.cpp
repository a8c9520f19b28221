// Fuzzes the parser of key files: any text is parsed or refused with an error message, and the
// lines of the parsed keys parse as the same keys.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "protocol/auth/keyring.h"

namespace tempo::auth {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto keys = parse_keys({reinterpret_cast<const char*>(data), size});
  if (!keys) {
    CHECK(!keys.error().empty());
    return 0;
  }
  CHECK(!keys->empty() && keys->size() <= kMaxKeys);
  std::string lines;
  for (const Key& key : *keys) lines += key_line(key) + '\n';
  CHECK(parse_keys(lines) == *keys);
  return 0;
}

}  // namespace tempo::auth
