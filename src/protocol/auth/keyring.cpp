// Keys, authenticators and signatures with libsodium. Only secret_box.cpp includes it as well.
#include "protocol/auth/keyring.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <sodium.h>

#include "base/check.h"
#include "protocol/auth/node_keys.h"

namespace tempo::auth {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Error::count)> kErrorNames{
    "not_sealed", "unknown_key", "forged"};

// BLAKE2b personalization: under one key the two domains give independent hashes.
using Domain = std::array<char, crypto_generichash_blake2b_PERSONALBYTES>;
constexpr Domain kDatagramDomain{'t', 'e', 'm', 'p', 'o', '-', 'd', 'a',
                                 't', 'a', 'g', 'r', 'a', 'm', '-', '2'};
constexpr Domain kHashDomain{'t', 'e', 'm', 'p', 'o', '-', 'h', 'a', 's', 'h', '-', '2'};

constexpr std::string_view kKeyPrefix = "tempo-key-1";
constexpr std::string_view kNoKeyPrefix = "no-key";
constexpr std::string_view kSeal = "seal";
constexpr std::string_view kOpen = "open";
constexpr std::string_view kNodeKeyPrefix = "tempo-node-key-1";
constexpr std::string_view kNodeListPrefix = "tempo-node-1";
constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kBlank = " \t\r";

// Initializes the library on the first call; later calls cost nothing.
void initialize_library() {
  static const int status = sodium_init();
  CHECK(status >= 0);
}

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
const unsigned char* raw(const Domain& domain) {
  return reinterpret_cast<const unsigned char*>(domain.data());
}

bool all_zero(const Key& key) {
  return std::ranges::all_of(key, [](std::byte byte) { return byte == std::byte{0}; });
}

using Tag = std::array<unsigned char, kTagBytes>;
Tag tag_of(const Key& key, std::span<const std::byte> bytes) {
  Tag tag{};
  CHECK(crypto_generichash_blake2b_salt_personal(tag.data(), tag.size(), raw(bytes.data()),
                                                 bytes.size(), raw(key.data()), key.size(), nullptr,
                                                 raw(kDatagramDomain)) == 0);
  return tag;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}

std::optional<unsigned> digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

Result<Key> parse_digits(std::string_view digits) {
  if (digits.size() != 2 * kKeyBytes)
    return std::unexpected("a key must have " + std::to_string(2 * kKeyBytes) +
                           " hexadecimal digits; this one has " + std::to_string(digits.size()) +
                           " characters");
  Key key{};
  for (std::size_t i = 0; i < kKeyBytes; ++i) {
    const auto high = digit_of(digits[2 * i]);
    const auto low = digit_of(digits[2 * i + 1]);
    if (!high || !low)
      return std::unexpected(std::string("a key must contain only hexadecimal digits"));
    key[i] = static_cast<std::byte>(*high << 4U | *low);
  }
  if (all_zero(key))
    return std::unexpected(std::string("an all-zero key gives no protection; replace it"));
  return key;
}

// Splits off the first word.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of(kBlank), text.size());
  const std::string_view word = text.substr(0, end);
  text = trimmed(text.substr(end));
  return word;
}

Result<Key> parse_line(std::string_view line, std::string_view prefix) {
  if (take_word(line) != prefix)
    return std::unexpected("a key line must begin with '" + std::string(prefix) + "'");
  return parse_digits(line);
}

Result<KeyLine> parse_key_line(std::string_view line) {
  const std::string_view prefix = take_word(line);
  KeyLine parsed;
  if (prefix == kKeyPrefix) {
    TRY(key, parse_digits(take_word(line)));
    parsed.key = key;
    if (line.empty()) return parsed;
  } else if (prefix != kNoKeyPrefix) {
    return std::unexpected("a key line must begin with '" + std::string(kKeyPrefix) + "' or '" +
                           std::string(kNoKeyPrefix) + "'");
  }
  if (line != kSeal && line != kOpen)
    return std::unexpected("the role of a key must be 'seal' or 'open'");
  parsed.role = line == kSeal ? KeyRole::seal : KeyRole::open;
  return parsed;
}

// Calls `take` with the contents of each line that has any, until it returns an error; that error,
// with the number of its line.
template <class Take>
Result<void> for_each_line(std::string_view text, Take take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view content = trimmed(line.substr(0, line.find('#')));
    if (content.empty()) continue;
    if (const Result<void> taken = take(content); !taken)
      return std::unexpected("line " + std::to_string(number) + ": " + taken.error());
  }
  return {};
}

std::string too_many(std::string_view what, std::size_t most) {
  return "too many " + std::string(what) + "; at most " + std::to_string(most) +
         (most == 1 ? " is allowed" : " are allowed");
}

// Parses lines of a prefix and a key; at most `max_keys` keys.
Result<std::vector<Key>> parse_lines(std::string_view text, std::string_view prefix,
                                     std::size_t max_keys) {
  std::vector<Key> keys;
  const auto read = for_each_line(text, [&](std::string_view content) -> Result<void> {
    TRY(key, parse_line(content, prefix));
    if (keys.size() == max_keys) return std::unexpected(too_many("keys", max_keys));
    if (std::ranges::find(keys, key) != keys.end())
      return std::unexpected(std::string("duplicate key; remove this line"));
    keys.push_back(key);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  if (keys.empty()) return std::unexpected(std::string("contains no key"));
  return keys;
}

std::string line_of(std::string_view prefix, std::span<const std::byte> bytes) {
  std::string line = std::string(prefix) + ' ';
  for (const std::byte byte : bytes) {
    line += kHex[std::to_integer<std::size_t>(byte >> 4)];
    line += kHex[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return line;
}

}  // namespace

std::string_view name_of(Error error) {
  CHECK(error < Error::count);
  return kErrorNames[std::to_underlying(error)];
}

Result<std::vector<KeyLine>> parse_keys(std::string_view text) {
  std::vector<KeyLine> lines;
  const auto read = for_each_line(text, [&](std::string_view content) -> Result<void> {
    TRY(line, parse_key_line(content));
    if (lines.size() == kMaxKeys) return std::unexpected(too_many("keys", kMaxKeys));
    if (std::ranges::find(lines, line.key, &KeyLine::key) != lines.end())
      return std::unexpected(std::string("duplicate key; remove this line"));
    if (line.role == KeyRole::seal &&
        std::ranges::find(lines, KeyRole::seal, &KeyLine::role) != lines.end())
      return std::unexpected(std::string(
          "a second key that seals; write 'open' at the end of the line that only opens"));
    lines.push_back(line);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  if (std::ranges::all_of(lines, all_zero, &KeyLine::key))
    return std::unexpected(std::string("contains no key"));
  if (std::ranges::find(lines, KeyRole::seal, &KeyLine::role) == lines.end())
    return std::unexpected(
        std::string("no key seals; write 'seal' at the end of the line that every machine has"));
  return lines;
}

std::string text_of(const KeyLine& line) {
  const std::string_view role = line.role == KeyRole::seal ? kSeal : kOpen;
  return (all_zero(line.key) ? std::string(kNoKeyPrefix) : line_of(kKeyPrefix, line.key)) + ' ' +
         std::string(role);
}

Key new_key() {
  initialize_library();
  Key key{};
  randombytes_buf(key.data(), key.size());
  return key;
}

std::string key_name(const Key& key) { return key_name_of(key_id(key)); }

std::string key_name_of(std::uint32_t id) {
  if (id == 0) return "no key";
  std::string name;
  for (unsigned shift = 32; shift > 0; shift -= 4) name += kHex[id >> (shift - 4) & 15U];
  return name;
}

std::uint32_t key_id(const Key& key) {
  if (all_zero(key)) return 0;
  const auto id = static_cast<std::uint32_t>(keyed_hash(key, "key id", "") >> 32U);
  return id == 0 ? 1 : id;
}

std::uint64_t keyed_hash(const Key& key, std::string_view purpose, std::string_view text) {
  CHECK(purpose.size() <= std::numeric_limits<std::uint8_t>::max());
  initialize_library();
  const auto length = static_cast<unsigned char>(purpose.size());
  std::array<unsigned char, crypto_generichash_blake2b_BYTES_MIN> hash{};
  crypto_generichash_blake2b_state state;
  const bool done = crypto_generichash_blake2b_init_salt_personal(
                        &state, raw(key.data()), all_zero(key) ? 0 : key.size(), hash.size(),
                        nullptr, raw(kHashDomain)) == 0 &&
                    crypto_generichash_blake2b_update(&state, &length, 1) == 0 &&
                    crypto_generichash_blake2b_update(&state, raw(purpose), purpose.size()) == 0 &&
                    crypto_generichash_blake2b_update(&state, raw(text), text.size()) == 0 &&
                    crypto_generichash_blake2b_final(&state, hash.data(), hash.size()) == 0;
  CHECK(done);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i) value = value << 8U | hash[i];
  return value == 0 ? 1 : value;
}

Keyring::Keyring(const std::vector<KeyLine>& lines) : lines_(lines) {
  CHECK(lines_.size() <= kMaxKeys);
  CHECK(std::ranges::count(lines_, KeyRole::seal, &KeyLine::role) == 1);
  for (const KeyLine& line : lines_) ids_.push_back(key_id(line.key));
  const auto sealing = std::ranges::find(lines_, KeyRole::seal, &KeyLine::role);
  sealing_ = static_cast<std::size_t>(sealing - lines_.begin());
}

std::size_t Keyring::size() const {
  return lines_.size() - static_cast<std::size_t>(std::ranges::count(ids_, 0U));
}

bool Keyring::accepts_unsealed() const { return find(0) != nullptr; }

std::uint32_t Keyring::sealing_id() const { return ids_[sealing_]; }

std::uint32_t Keyring::other_id() const { return rotates() ? ids_[1 - sealing_] : 0; }

const KeyLine* Keyring::find(std::uint32_t id) const {
  for (std::size_t i = 0; i < ids_.size(); ++i)
    if (ids_[i] == id) return &lines_[i];
  return nullptr;
}

std::uint64_t Keyring::cluster_id(std::string_view name, std::uint32_t key) const {
  if (key == 0) return keyed_hash(Key{}, "cluster", name);
  const KeyLine* const named = find(key);
  CHECK(named != nullptr);
  return keyed_hash(named->key, "cluster", name);
}

std::size_t Keyring::seal(std::span<std::byte> buffer, std::size_t size) const {
  if (sealing_id() == 0) return size;
  CHECK(size <= buffer.size() && buffer.size() - size >= kTagBytes);
  const Tag tag = tag_of(lines_[sealing_].key, buffer.first(size));
  std::ranges::copy(std::as_bytes(std::span(tag)), buffer.subspan(size).begin());
  return size + kTagBytes;
}

Result<std::span<const std::byte>, Error> Keyring::open(std::span<const std::byte> datagram,
                                                        std::uint32_t key) const {
  const KeyLine* const named = find(key);
  if (named == nullptr) return std::unexpected(key == 0 ? Error::not_sealed : Error::unknown_key);
  if (key == 0) return datagram;
  if (datagram.size() < kTagBytes) return std::unexpected(Error::forged);
  const auto bytes = datagram.first(datagram.size() - kTagBytes);
  const Tag tag = tag_of(named->key, bytes);
  if (sodium_memcmp(tag.data(), datagram.last(kTagBytes).data(), kTagBytes) != 0)
    return std::unexpected(Error::forged);
  return bytes;
}

// --- signatures of members ---

PublicKey public_of(const Key& seed) {
  initialize_library();
  PublicKey public_key{};
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret{};
  CHECK(crypto_sign_seed_keypair(reinterpret_cast<unsigned char*>(public_key.data()), secret.data(),
                                 raw(seed.data())) == 0);
  return public_key;
}

Result<Key> parse_node_key(std::string_view text) {
  TRY(keys, parse_lines(text, kNodeKeyPrefix, 1));
  return keys.front();
}

Result<std::vector<PublicKey>> parse_node_list(std::string_view text) {
  return parse_lines(text, kNodeListPrefix, kMaxMembers);
}

std::string node_key_line(const Key& seed) { return line_of(kNodeKeyPrefix, seed); }
std::string node_list_line(const PublicKey& key) { return line_of(kNodeListPrefix, key); }

Result<NodeKeys> NodeKeys::make(const Key& seed, std::vector<PublicKey> list) {
  static_assert(kSecretBytes == crypto_sign_SECRETKEYBYTES &&
                kSignatureBytes == crypto_sign_BYTES && kPublicBytes == crypto_sign_PUBLICKEYBYTES);
  initialize_library();
  std::ranges::sort(list);
  NodeKeys keys;
  PublicKey public_key{};
  CHECK(crypto_sign_seed_keypair(reinterpret_cast<unsigned char*>(public_key.data()),
                                 reinterpret_cast<unsigned char*>(keys.secret_.data()),
                                 raw(seed.data())) == 0);
  const auto own = std::ranges::find(list, public_key);
  if (own == list.end())
    return std::unexpected("this machine's public key is not in the list; add the line '" +
                           node_list_line(public_key) + "' on every machine");
  keys.self_ = static_cast<std::uint32_t>(own - list.begin());
  std::string all;
  for (const PublicKey& key : list) all += node_list_line(key) + '\n';
  keys.list_id_ = keyed_hash(Key{}, "node list", all);
  keys.list_ = std::move(list);
  return keys;
}

Signature NodeKeys::sign(std::span<const std::byte> bytes) const {
  Signature signature{};
  CHECK(crypto_sign_detached(reinterpret_cast<unsigned char*>(signature.data()), nullptr,
                             raw(bytes.data()), bytes.size(), raw(secret_.data())) == 0);
  return signature;
}

bool NodeKeys::verifies(std::uint32_t member, std::span<const std::byte> bytes,
                        const Signature& signature) const {
  return member < list_.size() &&
         crypto_sign_verify_detached(raw(signature.data()), raw(bytes.data()), bytes.size(),
                                     raw(list_[member].data())) == 0;
}

}  // namespace tempo::auth
