// FNV-1a (Fowler, Noll, Vo): a fast hash of bytes, the same on every machine. It is not
// cryptographic: collisions are easy to construct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tempo {

constexpr std::uint64_t fnv1a(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace tempo
