// With keyring.cpp the only file that includes libsodium.
#include "protocol/auth/secret_box.h"

#include <array>

#include <sodium.h>

#include "base/check.h"

namespace tempo::auth {
namespace {

constexpr std::size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
static_assert(kBoxBytes == kNonceBytes + crypto_aead_xchacha20poly1305_ietf_ABYTES);
static_assert(kKeyBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

constexpr std::array<unsigned char, crypto_generichash_blake2b_PERSONALBYTES> kDerivedDomain{
    't', 'e', 'm', 'p', 'o', '-', 'd', 'e', 'r', 'i', 'v', 'e', 'd', '-', '2'};

void initialize_library() {
  static const int status = sodium_init();
  CHECK(status >= 0);
}

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::vector<std::byte> seal_box(const Key& key, std::string_view context,
                                std::span<const std::byte> contents) {
  std::vector<std::byte> box(contents.size() + kBoxBytes);
  fill_random(std::span(box).first(kNonceBytes));
  CHECK(crypto_aead_xchacha20poly1305_ietf_encrypt(
            raw(box.data() + kNonceBytes), nullptr, raw(contents.data()), contents.size(),
            raw(context), context.size(), nullptr, raw(box.data()), raw(key.data())) == 0);
  return box;
}

std::optional<std::vector<std::byte>> open_box(const Key& key, std::string_view context,
                                               std::span<const std::byte> box) {
  initialize_library();
  if (box.size() < kBoxBytes) return std::nullopt;
  std::vector<std::byte> contents(box.size() - kBoxBytes);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          raw(contents.data()), nullptr, nullptr, raw(box.data() + kNonceBytes),
          box.size() - kNonceBytes, raw(context), context.size(), raw(box.data()),
          raw(key.data())) != 0)
    return std::nullopt;
  return contents;
}

void fill_random(std::span<std::byte> bytes) {
  initialize_library();
  randombytes_buf(bytes.data(), bytes.size());
}

Key derived_key(std::span<const std::byte> secret, std::string_view purpose) {
  CHECK(secret.size() >= crypto_generichash_blake2b_KEYBYTES_MIN &&
        secret.size() <= crypto_generichash_blake2b_KEYBYTES_MAX);
  initialize_library();
  Key key{};
  CHECK(crypto_generichash_blake2b_salt_personal(raw(key.data()), key.size(), raw(purpose),
                                                 purpose.size(), raw(secret.data()), secret.size(),
                                                 nullptr, kDerivedDomain.data()) == 0);
  return key;
}

}  // namespace tempo::auth
