// Well-formed datagrams in a master's name, by one who has overheard it and has not its key.
//
// Traffic is not secret: who it is, which epoch it rules and which key it seals with are there to
// be read. What is made of that differs from the real thing by its seal alone.
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
  enum class What : std::uint8_t { shift, quit, masterup, settime, adjtime, masterdown };
  enum class Seal : std::uint8_t { none, foreign, wrong };
  static constexpr int kWhats = 6;
  static constexpr int kSeals = 3;

  // Nothing, unless this is a broadcast of a master.
  static std::optional<Forger> after(std::span<const std::byte> overheard);

  // The next one of this kind.
  Bytes forge(What what, Seal seal);

 private:
  explicit Forger(const wire::Datagram& overheard);

  wire::Datagram overheard_;
  auth::Keyring foreign_{{auth::new_key()}};
  std::uint64_t made_ = 0;
};

}  // namespace tempo::testbed
