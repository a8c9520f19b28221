// Keys and the authentication of datagrams: keyed BLAKE2b (libsodium) over the whole datagram.
//
// A cluster has one key, or two during a key rotation: datagrams are sealed with the first and
// accepted under either. To rotate, the operator adds the new key after the old one on every
// machine, then moves it to the front, then removes the old one; at every step all machines accept
// each other's datagrams. A Keyring without a key neither seals nor checks; one with a key refuses
// datagrams that are not sealed with one of its keys. The cluster id is a hash of the cluster's
// name under the sealing key, so that two clusters with different keys on one network never mix;
// without a key it is a hash of the name alone.
//
// A Keyring does not detect replayed datagrams; ReplayWindow (replay_window.h) does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tempo::auth {

inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kTagBytes = 16;
inline constexpr std::size_t kMaxKeys = 2;

enum class Error : std::uint8_t {
  not_sealed,   // the datagram has no key id, the keyring has a key
  unknown_key,  // the datagram names a key that is not in the keyring
  forged,       // the authenticator is wrong
  count
};
std::string_view name_of(Error error);

using Key = std::array<std::byte, kKeyBytes>;

// Parses a key file: one or two lines "tempo-key-1 <64 hexadecimal digits>"; '#' begins a comment.
// The error message names the line and never contains the key.
Result<std::vector<Key>> parse_keys(std::string_view text);
std::string key_line(const Key& key);
Key new_key();  // from the kernel's random number generator

// The id of a key on the wire: a hash, never 0.
std::uint32_t key_id(const Key& key);

// A 64-bit hash of `text` under the domain `purpose`, keyed with `key` (all zero: unkeyed); never
// 0.
std::uint64_t keyed_hash(const Key& key, std::string_view purpose, std::string_view text);

class Keyring {
 public:
  Keyring() = default;                             // no key
  explicit Keyring(const std::vector<Key>& keys);  // at most kMaxKeys

  bool empty() const { return keys_.empty(); }
  std::size_t size() const { return keys_.size(); }
  std::uint32_t sealing_id() const;  // id of the key that seals; 0: no key

  // The id of the cluster `name` under the key with this id. `key` must be 0 (no key) or the id of
  // a key of this keyring.
  std::uint64_t cluster_id(std::string_view name, std::uint32_t key) const;

  // Appends the authenticator of buffer[0, size) and returns the new size. Without a key it writes
  // nothing and returns `size`. `buffer` must have space for kTagBytes more.
  std::size_t seal(std::span<std::byte> buffer, std::size_t size) const;

  // Checks the authenticator and returns the datagram without it. `key` is the key id in the
  // datagram's header; 0: not sealed, which only a keyring without keys accepts.
  Result<std::span<const std::byte>, Error> open(std::span<const std::byte> datagram,
                                                 std::uint32_t key) const;

 private:
  struct Named {
    Key key{};
    std::uint32_t id = 0;
  };
  std::vector<Named> keys_;
};

}  // namespace tempo::auth
