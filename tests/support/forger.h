// Well-formed datagrams in the name of a master, made by an attacker who captured its traffic but
// lacks the key.
//
// Traffic is not secret: sender, epoch and key id are readable. The forgeries differ from real
// datagrams only by the seal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/auth/keyring.h"
#include "protocol/wire/datagram.h"

namespace tempo::testbed {

using Bytes = std::vector<std::byte>;

class Forger {
 public:
  enum class What : std::uint8_t { set_offset, quit, masterup, settime, adjtime, masterdown };
  enum class Seal : std::uint8_t { none, foreign, wrong };
  static constexpr int kWhats = 6;
  static constexpr int kSeals = 3;

  // Unset unless this is a broadcast of a master.
  static std::optional<Forger> after(std::span<const std::byte> captured);

  // Makes the next datagram of this kind.
  Bytes forge(What what, Seal seal);

 private:
  explicit Forger(const wire::Datagram& captured);

  wire::Datagram captured_;
  auth::Keyring foreign_{auth::new_key()};
  std::uint64_t made_ = 0;
};

}  // namespace tempo::testbed
