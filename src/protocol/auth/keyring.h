// Keys and the authentication of datagrams: keyed BLAKE2b (libsodium) over the whole datagram.
//
// A cluster has one key, or two while it is being changed: the first seals, each opens. The new key
// is added behind the old one on every machine, then put before it, then the old one goes: at no
// time are there two machines that do not understand each other. A Keyring without a key seals and
// checks nothing; who has one drops whatever is not sealed with one of its keys. The cluster's id
// is derived from its name and the key that seals, so that two clusters on one wire with different
// keys never mix; without a key it comes from the name alone.
//
// It does not know what was seen before: that is for a ReplayWindow (replay_window.h) to say.
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
  not_sealed,   // we have a key, it has none
  unknown_key,  // sealed with a key that is not ours
  forged,       // the authenticator is wrong
  count
};
std::string_view name_of(Error error);

using Key = std::array<std::byte, kKeyBytes>;

// The text of a key file: one or two lines "tempo-key-1 <64 hexadecimal digits>"; '#' begins a
// comment. The sentence says what is wrong, with the line, and never shows the key.
Result<std::vector<Key>> parse_keys(std::string_view text);
std::string key_line(const Key& key);
Key new_key();  // from the kernel's randomness

// The number under which a key is named on the wire: a hash, never 0.
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
  std::uint32_t sealing_id() const;  // 0 without a key

  // The id of the cluster `name` in a datagram whose header states `key`: 0, or one of ours.
  std::uint64_t cluster_id(std::string_view name, std::uint32_t key) const;

  // Writes the authenticator of buffer[0, size) behind it and gives the new size. Without a key:
  // size, nothing written. `buffer` must have room for kTagBytes more.
  std::size_t seal(std::span<std::byte> buffer, std::size_t size) const;

  // The datagram without its authenticator, if it is right. `key` is the id its header states; what
  // states none passes whole where there is no key.
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
