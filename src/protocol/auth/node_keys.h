// Signatures of members: Ed25519 (libsodium).
//
// With the cluster's shared key any member can impersonate another. A member with its own key signs
// its messages, and every machine with the list of public keys can verify the signer. The list is a
// file that the operator installs on every machine; no keys are learned from the network. A
// member's number is its index in the list sorted by key, so it does not depend on the order of the
// lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/auth/keyring.h"

namespace tempo::auth {

inline constexpr std::size_t kMaxMembers = 64;
inline constexpr std::size_t kPublicBytes = 32;
inline constexpr std::size_t kSignatureBytes = 64;

using PublicKey = std::array<std::byte, kPublicBytes>;
using Signature = std::array<std::byte, kSignatureBytes>;

// The public key for a member's secret. The secret is a seed made by new_key().
PublicKey public_of(const Key& seed);

// A node's key file has one line "tempo-node-key-1 <64 hexadecimal digits>". The list has lines
// "tempo-node-1 <64 hexadecimal digits>". '#' begins a comment. Error messages never contain a
// secret.
Result<Key> parse_node_key(std::string_view text);
Result<std::vector<PublicKey>> parse_node_list(std::string_view text);
std::string node_key_line(const Key& seed);
std::string node_list_line(const PublicKey& key);

class NodeKeys {
 public:
  // Fails if the public key of `seed` is not in the list.
  static Result<NodeKeys> make(const Key& seed, std::vector<PublicKey> list);

  std::uint32_t members() const { return static_cast<std::uint32_t>(list_.size()); }
  std::uint32_t self() const { return self_; }        // this machine's member number
  std::uint64_t list_id() const { return list_id_; }  // a hash of the list
  Signature sign(std::span<const std::byte> bytes) const;
  bool verifies(std::uint32_t member, std::span<const std::byte> bytes,
                const Signature& signature) const;

 private:
  static constexpr std::size_t kSecretBytes = 64;

  std::array<std::byte, kSecretBytes> secret_{};
  std::vector<PublicKey> list_;  // ascending, without duplicates, at most kMaxMembers
  std::uint32_t self_ = 0;
  std::uint64_t list_id_ = 0;
};

}  // namespace tempo::auth
