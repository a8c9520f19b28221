// UTC as this host carries it: the last CarryUtc, valid for a few seconds.
#pragma once

#include <optional>

#include "base/units.h"
#include "protocol/sync/sync_messages.h"
#include "protocol/sync/sync_step.h"

namespace tempo::node {

class UtcSource {
 public:
  struct Claim {
    Nanos gap{0};    // UTC minus network time
    Nanos bound{0};  // error bound of UTC
  };

  void carry(const CarryUtc& utc) { last_ = utc; }

  // UTC against `network`, the network time now; nullopt: this host carries no UTC now.
  std::optional<Claim> claim(Instant now, WallTime network) const {
    const Nanos age = now - last_.at;
    if (last_.bound <= Nanos{0} || age > kLifetime) return std::nullopt;
    return Claim{.gap = last_.utc + age - network.time_since_epoch(),
                 .bound = last_.bound + share_of(age, kRawRate)};
  }

 private:
  static constexpr Nanos kLifetime = 5s;      // of a CarryUtc
  static constexpr double kRawRate = 200e-6;  // largest rate error of a raw clock

  CarryUtc last_{};  // bound 0: none yet
};

}  // namespace tempo::node
