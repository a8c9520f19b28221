// Signatures of single machines: Ed25519 (libsodium).
//
// Under the cluster's one key any member can speak for another. A machine that has a key of its own
// signs what it says, and whoever has the list of all machines' public keys can tell who said it.
// The list is a file, the same on every machine: whose keys are in it is the operator's word, and
// nothing is learned from the network. A member is its place in the list, which is kept in the
// order of the keys; so that all find the same places, whatever the order of the lines.
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

// The secret of one machine is a seed, as new_key() makes it.
PublicKey public_of(const Key& seed);

// The text of a node's key file: one line "tempo-node-key-1 <64 hexadecimal digits>"; of the list:
// lines "tempo-node-1 <64 hexadecimal digits>"; '#' begins a comment. A sentence says what is wrong
// and never shows a secret.
Result<Key> parse_node_key(std::string_view text);
Result<std::vector<PublicKey>> parse_node_list(std::string_view text);
std::string node_key_line(const Key& seed);
std::string node_list_line(const PublicKey& key);

class NodeKeys {
 public:
  // A sentence says why there are none: our own key is not in the list.
  static Result<NodeKeys> make(const Key& seed, std::vector<PublicKey> list);

  std::uint32_t members() const { return static_cast<std::uint32_t>(list_.size()); }
  std::uint32_t self() const { return self_; }
  std::uint64_t list_id() const { return list_id_; }  // a hash of the list
  Signature sign(std::span<const std::byte> bytes) const;
  bool verifies(std::uint32_t member, std::span<const std::byte> bytes,
                const Signature& signature) const;

 private:
  static constexpr std::size_t kSecretBytes = 64;

  std::array<std::byte, kSecretBytes> secret_{};
  std::vector<PublicKey> list_;  // ascending, none twice, at most kMaxMembers
  std::uint32_t self_ = 0;
  std::uint64_t list_id_ = 0;
};

}  // namespace tempo::auth
