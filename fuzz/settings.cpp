// Fuzzes the configuration: any text gives settings or a list of errors.
#include "api/settings.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto settings = tempo::config::read_settings(text, "tempo.toml");
  if (!settings && settings.error().empty()) std::abort();
  (void)tempo::config::load_settings("/nonexistent", false, {text});
  return 0;
}
