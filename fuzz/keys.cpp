// Fuzzes the parser of key files: any text is parsed or refused with an error message, the lines of
// the parsed keys parse as the same keys, and every step of a key change leaves a valid file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "protocol/auth/key_rotation.h"

namespace tempo::auth {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto lines = parse_keys({reinterpret_cast<const char*>(data), size});
  if (!lines) {
    CHECK(!lines.error().empty());
    return 0;
  }
  CHECK(!lines->empty() && lines->size() <= kMaxKeys);
  CHECK(!Keyring(*lines).empty());
  CHECK(parse_keys(key_file_text(*lines)) == *lines);
  for (const auto step : {promote_key, drop_key, withdraw_key})
    if (const auto next = step(*lines); next && !next->empty())
      CHECK(parse_keys(key_file_text(*next)) == *next);
  return 0;
}

}  // namespace tempo::auth
