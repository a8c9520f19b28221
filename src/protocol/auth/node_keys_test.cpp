#include "protocol/auth/node_keys.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hex.h"

namespace tempo::auth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Key seed(std::uint8_t first) {
  Key key{};
  key[0] = std::byte{first};
  key[31] = std::byte{1};
  return key;
}

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::vector<PublicKey> list_of_three() {
  return {public_of(seed(1)), public_of(seed(2)), public_of(seed(3))};
}

// RFC 8032, section 7.1, test 2.
TEST(NodeKeys, SignWithEd25519) {
  const auto key = parse_node_key(
      "tempo-node-key-1 4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb\n");
  ASSERT_TRUE(key) << key.error();
  EXPECT_EQ(hex(public_of(*key)),
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const auto keys = NodeKeys::make(*key, {public_of(*key)});
  ASSERT_TRUE(keys);
  EXPECT_EQ(hex(keys->sign(bytes("\x72"))),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(NodeKeys, VerifyTheSignerAndTheBytes) {
  const NodeKeys one = NodeKeys::make(seed(1), list_of_three()).value();
  const NodeKeys two = NodeKeys::make(seed(2), list_of_three()).value();
  Signature signature = one.sign(bytes("I bid 5"));
  EXPECT_TRUE(two.verifies(one.self(), bytes("I bid 5"), signature));
  EXPECT_FALSE(two.verifies(one.self(), bytes("I bid 6"), signature));
  EXPECT_FALSE(two.verifies(two.self(), bytes("I bid 5"), signature)) << "another member signed";
  EXPECT_FALSE(two.verifies(3, bytes("I bid 5"), signature)) << "no such member";
  signature[5] ^= std::byte{1};
  EXPECT_FALSE(two.verifies(one.self(), bytes("I bid 5"), signature));
}

TEST(NodeKeys, DoNotDependOnTheOrderOfTheList) {
  std::vector<PublicKey> list = list_of_three();
  const NodeKeys one = NodeKeys::make(seed(2), list).value();
  std::swap(list[0], list[2]);
  const NodeKeys same = NodeKeys::make(seed(2), list).value();
  EXPECT_EQ(one.self(), same.self());
  EXPECT_EQ(one.list_id(), same.list_id());
  list.pop_back();
  list.push_back(public_of(seed(4)));
  EXPECT_NE(NodeKeys::make(seed(2), list).value().list_id(), one.list_id());
}

TEST(NodeKeys, RequireTheOwnKeyInTheList) {
  const auto keys = NodeKeys::make(seed(4), list_of_three());
  ASSERT_FALSE(keys);
  EXPECT_THAT(keys.error(), HasSubstr("is not in the list; add the line 'tempo-node-1 " +
                                      hex(public_of(seed(4))) + "'"));
}

TEST(NodeKeys, RoundTripThroughText) {
  EXPECT_EQ(parse_node_key("# mine\n" + node_key_line(seed(7)) + "\n").value(), seed(7));
  std::string text;
  for (const PublicKey& key : list_of_three()) text += node_list_line(key) + "  # a name\n\n";
  EXPECT_EQ(parse_node_list(text).value(), list_of_three());
}

TEST(NodeKeys, ReportParseErrors) {
  EXPECT_THAT(parse_node_key("").error(), HasSubstr("contains no key"));
  EXPECT_THAT(parse_node_key(text_of({.key = seed(1)})).error(),
              HasSubstr("line 1: a key line must begin with 'tempo-node-key-1'"));
  const std::string twice = node_key_line(seed(1)) + '\n' + node_key_line(seed(2)) + '\n';
  EXPECT_THAT(parse_node_key(twice).error(),
              HasSubstr("line 2: too many keys; at most 1 is allowed"));
  EXPECT_THAT(parse_node_key(twice).error(), Not(HasSubstr(hex(seed(2)))));
  const std::string line = node_list_line(public_of(seed(1))) + '\n';
  EXPECT_THAT(parse_node_list(line + line).error(),
              HasSubstr("line 2: duplicate key; remove this line"));
  EXPECT_THAT(parse_node_list("tempo-node-1 12\n").error(), HasSubstr("64 hexadecimal digits"));
}

}  // namespace
}  // namespace tempo::auth
