// Fuzzes the parsers of etcd's answers: any text is parsed or refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/etcd/etcd_api.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = tempo::Json::parse({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  (void)tempo::etcd::lease_of(*json);
  (void)tempo::etcd::term_of(*json);
  (void)tempo::etcd::queue_of(*json);
  (void)tempo::etcd::error_in(*json);
  const auto keys = tempo::etcd::changed_keys(*json);
  if (!keys) return 0;
  for (const std::string& key : *keys) (void)tempo::etcd::name_of("ship", key);
  return 0;
}
