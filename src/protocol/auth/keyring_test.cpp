#include "protocol/auth/keyring.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hex.h"

namespace tempo::auth {
namespace {

using testing::HasSubstr;
using testing::Not;

using Bytes = std::vector<std::byte>;

// first, first + 1, ...
Key key_from(std::uint8_t first) {
  Key key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(first + i);
  return key;
}

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Bytes sealed(const Keyring& ring, std::string_view text) {
  Bytes buffer = bytes_of(text);
  const std::size_t size = buffer.size();
  buffer.resize(size + kTagBytes);
  buffer.resize(ring.seal(buffer, size));
  return buffer;
}

Error error_of(const Keyring& ring, std::span<const std::byte> datagram, std::uint32_t key) {
  const auto opened = ring.open(datagram, key);
  return opened ? Error::count : opened.error();
}

constexpr std::string_view kText = "what one daemon says to another";

// The expected values of these two tests come from another implementation of BLAKE2b, Python's
// hashlib.blake2b(text, digest_size=16, key=bytes(range(1, 33)), person=b"tempo-datagram-2").
TEST(Keyring, TagIsPersonalizedKeyedBlake2b) {
  const Bytes datagram = sealed(Keyring(key_from(1)), kText);
  EXPECT_EQ(hex(std::span(datagram).last(kTagBytes)), "455918f9252a10177b8f118b029abe24");
}
TEST(Keyring, HashIsPersonalizedBlake2b) {
  EXPECT_EQ(keyed_hash(key_from(1), "cluster", "lab"), 0xb651ffd061bec5af);
  EXPECT_EQ(keyed_hash(Key{}, "cluster", "lab"), 0x3e1cf29f4c663a07);
  EXPECT_EQ(key_id(key_from(1)), 0xd9d0f181);
}

TEST(Keyring, HashesOfDifferentPurposesDiffer) {
  const std::set<std::uint64_t> hashes{
      keyed_hash(key_from(1), "ab", "c"), keyed_hash(key_from(1), "a", "bc"),
      keyed_hash(key_from(1), "", "abc"), keyed_hash(key_from(2), "ab", "c"),
      keyed_hash(Key{}, "ab", "c")};
  EXPECT_EQ(hashes.size(), 5);
}

TEST(Keyring, OpensASealedDatagram) {
  const Keyring ring(key_from(1));
  const Bytes datagram = sealed(ring, kText);
  EXPECT_EQ(datagram.size(), kText.size() + kTagBytes);
  const auto opened = ring.open(datagram, ring.sealing_id());
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(std::ranges::equal(*opened, bytes_of(kText)));
}

TEST(Keyring, DetectsEveryChangedBit) {
  const Keyring ring(key_from(1));
  Bytes datagram = sealed(ring, kText);
  for (std::size_t i = 0; i < 8 * datagram.size(); ++i) {
    const std::byte bit{static_cast<std::uint8_t>(1U << (i % 8))};
    datagram[i / 8] ^= bit;
    EXPECT_EQ(error_of(ring, datagram, ring.sealing_id()), Error::forged) << i;
    datagram[i / 8] ^= bit;
  }
  EXPECT_EQ(error_of(ring, datagram, ring.sealing_id()), Error::count);
}

TEST(Keyring, DetectsTruncation) {
  const Keyring ring(key_from(1));
  const Bytes datagram = sealed(ring, kText);
  for (std::size_t size = 0; size < datagram.size(); ++size)
    EXPECT_EQ(error_of(ring, std::span(datagram).first(size), ring.sealing_id()), Error::forged);
}

TEST(Keyring, RefusesUnsealedDatagrams) {
  EXPECT_EQ(error_of(Keyring(key_from(1)), bytes_of(kText), 0), Error::not_sealed);
}

TEST(Keyring, RefusesOtherKeys) {
  const Keyring ours(key_from(1));
  const Keyring theirs(key_from(2));
  const Bytes datagram = sealed(theirs, kText);
  EXPECT_EQ(error_of(ours, datagram, theirs.sealing_id()), Error::unknown_key);
  EXPECT_EQ(error_of(ours, datagram, ours.sealing_id()), Error::forged) << "with a false key id";
}

TEST(Keyring, ClustersDifferByNameAndByKey) {
  const Keyring one(key_from(1));
  const Keyring other(key_from(2));
  EXPECT_EQ(one.cluster_id("lab", one.sealing_id()), 0xb651ffd061bec5af);
  EXPECT_EQ(Keyring().cluster_id("lab", 0), 0x3e1cf29f4c663a07);
  EXPECT_NE(one.cluster_id("lab", one.sealing_id()), one.cluster_id("bal", one.sealing_id()));
  EXPECT_NE(one.cluster_id("lab", one.sealing_id()), other.cluster_id("lab", other.sealing_id()));
  EXPECT_DEATH((void)one.cluster_id("lab", other.sealing_id()), "named");
}

TEST(Keyring, NeitherSealsNorChecksWithoutAKey) {
  const Keyring none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.sealing_id(), 0);
  const Bytes datagram = sealed(none, kText);
  EXPECT_EQ(datagram, bytes_of(kText));
  EXPECT_TRUE(std::ranges::equal(none.open(datagram, 0).value(), datagram));
  EXPECT_EQ(error_of(none, datagram, 7), Error::unknown_key);
}

// A cluster that introduces its first key, before the new key seals and after.
TEST(Keyring, AcceptsUnsealedDatagramsOnlyWithALineThatSaysSo) {
  const KeyLine first{.key = key_from(1), .role = KeyRole::open};
  const Keyring before({KeyLine{}, first});
  EXPECT_EQ(before.sealing_id(), 0);
  EXPECT_EQ(before.other_id(), key_id(key_from(1)));
  EXPECT_TRUE(before.accepts_unsealed());
  EXPECT_EQ(before.size(), 1);
  EXPECT_EQ(sealed(before, kText), bytes_of(kText));
  const Keyring after({KeyLine{.role = KeyRole::open}, KeyLine{.key = key_from(1)}});
  EXPECT_EQ(after.sealing_id(), key_id(key_from(1)));
  EXPECT_EQ(after.other_id(), 0);
  EXPECT_TRUE(after.accepts_unsealed() && after.rotates());
  for (const Keyring& ring : {before, after}) {
    EXPECT_EQ(error_of(ring, bytes_of(kText), 0), Error::count);
    EXPECT_EQ(error_of(ring, sealed(after, kText), after.sealing_id()), Error::count);
    EXPECT_EQ(error_of(ring, bytes_of(kText), after.sealing_id()), Error::forged);
  }
  const Keyring done(key_from(1));
  EXPECT_FALSE(done.accepts_unsealed() || done.rotates());
}

TEST(KeyringDeathTest, NeedsSpaceForTheTag) {
  const Keyring ring(key_from(1));
  Bytes buffer(kTagBytes + 9);
  EXPECT_EQ(ring.seal(buffer, 9), buffer.size());
  EXPECT_DEATH((void)ring.seal(buffer, 10), "kTagBytes");
  EXPECT_DEATH((void)ring.seal(buffer, buffer.size() + 1), "kTagBytes");
  const KeyLine open{.key = key_from(2), .role = KeyRole::open};
  EXPECT_DEATH(Keyring(std::vector{open, open, KeyLine{}}), "kMaxKeys");
  EXPECT_DEATH(Keyring(std::vector{open}), "seal");
}

TEST(Keys, NewKeysDiffer) {
  const Key one = new_key();
  EXPECT_NE(one, new_key());
  EXPECT_NE(one, Key{});
  EXPECT_EQ(parse_keys(text_of({.key = one})).value(), std::vector{KeyLine{.key = one}});
}

const std::string kSealing = text_of({.key = key_from(1)});
const std::string kOne = kSealing.substr(0, kSealing.size() - 5);  // without its role
const std::string kTwo = text_of({.key = key_from(2), .role = KeyRole::open});

TEST(Keys, AreWrittenAsHexadecimalDigits) {
  EXPECT_EQ(kSealing,
            "tempo-key-1 0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20 seal");
  EXPECT_EQ(text_of({.role = KeyRole::open}), "no-key open");
}

TEST(Keys, HaveNamesForUsers) {
  EXPECT_EQ(key_name(key_from(1)), "d9d0f181");
  EXPECT_EQ(key_name_of(0x00000012), "00000012");
  EXPECT_EQ(key_name(Key{}), "no key");
}

TEST(Keys, AreParsedWithCommentsAndBlanks) {
  const std::vector<KeyLine> both{{.key = key_from(1)},
                                  {.key = key_from(2), .role = KeyRole::open}};
  EXPECT_EQ(parse_keys(kOne + "\n" + kTwo + "\n").value(), both);
  EXPECT_EQ(parse_keys(kOne + "\r\n" + kTwo + "\r\n").value(), both);
  EXPECT_EQ(parse_keys("# of the lab\n\n  " + kOne + " # new\r\n\t" + kTwo).value(), both);
  std::string capitals = kOne;
  std::ranges::transform(capitals.begin() + 12, capitals.end(), capitals.begin() + 12,
                         [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  ASSERT_NE(capitals, kOne);
  EXPECT_EQ(parse_keys(capitals).value(), std::vector{KeyLine{.key = key_from(1)}});
  EXPECT_EQ(parse_keys(kSealing + '\n' + kTwo).value(), both);
  const std::vector<KeyLine> mixed{{.role = KeyRole::open}, {.key = key_from(1)}};
  EXPECT_EQ(parse_keys("no-key\topen\n" + kOne).value(), mixed);
}

TEST(Keys, ParseErrorsNameTheLineAndHideTheKey) {
  const auto error_text = [](const std::string& text) {
    const auto keys = parse_keys(text);
    EXPECT_FALSE(keys.has_value()) << text;
    return keys ? std::string() : keys.error();
  };
  EXPECT_EQ(error_text(""), "contains no key");
  EXPECT_EQ(error_text("# only a comment\n"), "contains no key");
  EXPECT_EQ(error_text("\n" + kOne.substr(12)),
            "line 2: a key line must begin with 'tempo-key-1' or 'no-key'");
  EXPECT_EQ(error_text("tempo-key-2 00"),
            "line 1: a key line must begin with 'tempo-key-1' or 'no-key'");
  EXPECT_EQ(error_text("tempo-key-1"),
            "line 1: a key must have 64 hexadecimal digits; this one has 0 characters");
  EXPECT_EQ(error_text(kOne + "0"),
            "line 1: a key must have 64 hexadecimal digits; this one has 65 characters");
  EXPECT_EQ(error_text(kTwo + "\n" + kOne.substr(0, kOne.size() - 1) + "g"),
            "line 2: a key must contain only hexadecimal digits");
  EXPECT_EQ(error_text("tempo-key-1 " + std::string(64, '0')),
            "line 1: an all-zero key gives no protection; replace it");
  EXPECT_EQ(error_text(kOne + "\n" + kOne), "line 2: duplicate key; remove this line");
  EXPECT_EQ(error_text(kOne + "\n" + kTwo + "\nno-key open"),
            "line 3: too many keys; at most 2 are allowed");
  EXPECT_EQ(error_text(kOne + "\n" + kTwo.substr(0, kTwo.size() - 5)),
            "line 2: a second key that seals; write 'open' at the end of the line that only opens");
  EXPECT_EQ(error_text(kTwo),
            "no key seals; write 'seal' at the end of the line that every machine has");
  EXPECT_EQ(error_text("no-key seal"), "contains no key");
  EXPECT_EQ(error_text("no-key\n" + kOne), "line 1: the role of a key must be 'seal' or 'open'")
      << "nothing is accepted unsealed without a word that says so";
  EXPECT_EQ(error_text(kOne + " opens"), "line 1: the role of a key must be 'seal' or 'open'");
  EXPECT_THAT(error_text(kOne + "0"), Not(HasSubstr("0102")));
}

TEST(Keys, ErrorsHaveNames) {
  EXPECT_EQ(name_of(Error::not_sealed), "not_sealed");
  EXPECT_EQ(name_of(Error::unknown_key), "unknown_key");
  EXPECT_EQ(name_of(Error::forged), "forged");
}

}  // namespace
}  // namespace tempo::auth
