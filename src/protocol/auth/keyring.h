// Keys and the authentication of datagrams: keyed BLAKE2b (libsodium) over the whole datagram.
//
// A Keyring is the key file of one machine: one key, or two lines while the cluster changes its key
// (key_rotation.h). One line seals: datagrams are sent with it. Every line opens: datagrams are
// accepted under it. A line may be "no key" instead of a key, while a cluster introduces its first
// one; only such a line, or a Keyring without any, sends or accepts datagrams that are not sealed.
//
// The cluster id is a hash of the cluster's name under the key of the datagram, so that two
// clusters with different keys on one network never mix; without a key it is a hash of the name
// alone. A Keyring does not detect replayed datagrams; ReplayWindow (replay_window.h) does.
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
inline constexpr std::size_t kMaxKeys = 2;  // lines of a key file

enum class Error : std::uint8_t {
  not_sealed,   // the datagram has no key id, the keyring demands a key
  unknown_key,  // the datagram names a key that is not in the keyring
  forged,       // the authenticator is wrong
  count
};
std::string_view name_of(Error error);

using Key = std::array<std::byte, kKeyBytes>;

enum class KeyRole : std::uint8_t {
  seal,  // datagrams are sent with this key; it opens too
  open   // datagrams are accepted under this key
};

// A line of a key file.
struct KeyLine {
  Key key{};  // all zero: no key, for datagrams that are not sealed
  KeyRole role = KeyRole::seal;

  bool operator==(const KeyLine&) const = default;
};

// Parses a key file: one or two lines, the oldest first; '#' begins a comment.
//   tempo-key-1 <64 hexadecimal digits> [seal|open]      without a word it seals
//   no-key seal|open
// There is at least one key, and exactly one line seals. The error message names the line and never
// contains a key.
Result<std::vector<KeyLine>> parse_keys(std::string_view text);
std::string text_of(const KeyLine& line);
Key new_key();  // from the kernel's random number generator

// The id of a key on the wire: a hash; 0 only for an all-zero key, which means no key.
std::uint32_t key_id(const Key& key);
std::string key_name(const Key& key);       // the id for users: 8 hexadecimal digits, or "no key"
std::string key_name_of(std::uint32_t id);  // the same

// A 64-bit hash of `text` under the domain `purpose`, keyed with `key` (all zero: unkeyed); never
// 0.
std::uint64_t keyed_hash(const Key& key, std::string_view purpose, std::string_view text);

class Keyring {
 public:
  Keyring() : Keyring(Key{}) {}  // no key
  explicit Keyring(const Key& key) : Keyring(std::vector{KeyLine{.key = key}}) {}
  explicit Keyring(const std::vector<KeyLine>& lines);  // at most kMaxKeys; exactly one seals

  std::size_t size() const;  // number of keys
  bool empty() const { return size() == 0; }
  bool accepts_unsealed() const;     // no key is needed: any sender can be believed
  std::uint32_t sealing_id() const;  // id of the key that seals; 0: no key
  std::uint32_t other_id() const;    // id of the line that only opens; 0 also if there is none
  bool rotates() const { return lines_.size() > 1; }  // there is a line that only opens
  const std::vector<KeyLine>& lines() const { return lines_; }

  // The id of the cluster `name` under the key with this id. `key` must be 0 (no key) or the id of
  // a key of this keyring.
  std::uint64_t cluster_id(std::string_view name, std::uint32_t key) const;

  // Appends the authenticator of buffer[0, size) and returns the new size. If no key seals it
  // writes nothing and returns `size`. `buffer` must have space for kTagBytes more.
  std::size_t seal(std::span<std::byte> buffer, std::size_t size) const;

  // Checks the authenticator and returns the datagram without it. `key` is the key id in the
  // datagram's header; 0: not sealed, which only a keyring that `accepts_unsealed` opens.
  Result<std::span<const std::byte>, Error> open(std::span<const std::byte> datagram,
                                                 std::uint32_t key) const;

 private:
  const KeyLine* find(std::uint32_t id) const;  // null: no such line

  std::vector<KeyLine> lines_;
  std::vector<std::uint32_t> ids_;  // of the lines
  std::size_t sealing_ = 0;         // index of the line that seals
};

}  // namespace tempo::auth
