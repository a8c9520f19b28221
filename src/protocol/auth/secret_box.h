// Encryption of short messages under a key: XChaCha20-Poly1305 (libsodium), with a random nonce.
//
// A box says nothing about its contents but their length, and only a holder of the key can make or
// open one. `context` is not in the box: both sides must name the same one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/auth/keyring.h"

namespace tempo::auth {

inline constexpr std::size_t kBoxBytes = 40;  // a box is longer than its contents by this

std::vector<std::byte> seal_box(const Key& key, std::string_view context,
                                std::span<const std::byte> contents);
// nullopt: not a box of this key and context.
std::optional<std::vector<std::byte>> open_box(const Key& key, std::string_view context,
                                               std::span<const std::byte> box);

void fill_random(std::span<std::byte> bytes);  // from the kernel's random number generator

// A key for one purpose, derived from `secret`, which has 16 random bytes or more.
Key derived_key(std::span<const std::byte> secret, std::string_view purpose);

}  // namespace tempo::auth
