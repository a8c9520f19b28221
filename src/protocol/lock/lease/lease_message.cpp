#include "protocol/lock/lease/lease_message.h"

#include <array>
#include <utility>

namespace tempo::lock::lease {

std::string_view name_of(Kind kind) {
  static constexpr std::array<std::string_view, kKinds> kNames{
      "ask", "grant", "refuse", "free", "pass", "query", "record", "propose", "accept", "resume"};
  return kNames[std::to_underlying(kind)];
}

std::string_view name_of(const Message& message) { return name_of(message.kind); }

std::string_view name_of(Why why) {
  static constexpr std::array<std::string_view, 6> kNames{"none",  "low",     "busy",
                                                          "queue", "abstain", "ended"};
  return kNames[std::to_underlying(why)];
}

}  // namespace tempo::lock::lease
