// Invitations: a token gives the keys of a cluster once, within ten minutes, and nothing else does.
#include "protocol/auth/invitation.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/auth/secret_box.h"

namespace tempo::auth {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr BootTime kNow{1000s};

Key key_of(std::uint8_t first) {
  Key key{};
  key.fill(std::byte{first});
  return key;
}

Membership ours() {
  return {.cluster = "lab",
          .port = 525,
          .member = "bow",
          .keys = {{.key = key_of(1)}, {.key = key_of(2), .role = KeyRole::open}}};
}

Token token_of(std::uint8_t first) {
  Token token{};
  token.fill(std::byte{first});
  return token;
}

// --- boxes ---

TEST(SecretBox, OpensOnlyWithItsKeyAndContext) {
  const Bytes contents(20, std::byte{7});
  const Bytes box = seal_box(key_of(1), "here", contents);
  EXPECT_EQ(box.size(), contents.size() + kBoxBytes);
  EXPECT_EQ(open_box(key_of(1), "here", box), contents);
  EXPECT_EQ(open_box(key_of(2), "here", box), std::nullopt);
  EXPECT_EQ(open_box(key_of(1), "there", box), std::nullopt);
  for (std::size_t i = 0; i < box.size(); ++i) {
    Bytes changed = box;
    changed[i] ^= std::byte{1};
    EXPECT_EQ(open_box(key_of(1), "here", changed), std::nullopt) << i;
    EXPECT_EQ(open_box(key_of(1), "here", std::span(box).first(i)), std::nullopt) << i;
  }
  EXPECT_NE(seal_box(key_of(1), "here", contents), box) << "a new nonce for each box";
}

TEST(SecretBox, DerivesAKeyForEachPurpose) {
  EXPECT_EQ(derived_key(token_of(1), "a"), derived_key(token_of(1), "a"));
  EXPECT_NE(derived_key(token_of(1), "a"), derived_key(token_of(1), "b"));
  EXPECT_NE(derived_key(token_of(1), "a"), derived_key(token_of(2), "a"));
}

// --- tokens ---

TEST(Token, IsWrittenInGroupsAndParsed) {
  const std::string text = token_text(token_of(0xa5));
  EXPECT_EQ(text.size(), 39U);
  EXPECT_EQ(text.substr(0, 5), "mpjt-");
  EXPECT_EQ(parse_token(text), token_of(0xa5));
  std::string typed = " " + text + "\n";
  for (char& c : typed) c = c == '-' ? ' ' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  EXPECT_EQ(parse_token(typed), token_of(0xa5));
}

TEST(Token, AMistypedOneIsFoundHere) {
  const std::string text = token_text(token_of(0x5a));
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '-') continue;
    std::string typed = text;
    typed[i] = typed[i] == 'z' ? 'y' : 'z';
    ASSERT_FALSE(parse_token(typed)) << typed;
    EXPECT_THAT(parse_token(typed).error(), HasSubstr("its checksum is wrong"));
  }
  EXPECT_THAT(parse_token(text.substr(1)).error(), HasSubstr("this one has 31"));
  EXPECT_THAT(parse_token(text + "a").error(), HasSubstr("has more"));
  EXPECT_THAT(parse_token("what?").error(), HasSubstr("only letters, digits"));
  EXPECT_FALSE(parse_token(""));
}

TEST(Token, CarriesTheAddressesOfItsMember) {
  const AddressedToken alone{.token = token_of(0xa5)};
  EXPECT_EQ(addressed_token_text(alone), token_text(alone.token));
  EXPECT_EQ(parse_addressed_token(token_text(alone.token)), alone);
  const AddressedToken two{.token = token_of(0xa5),
                           .addresses = {"192.0.2.7", "[2001:db8::1]:526"}};
  EXPECT_EQ(addressed_token_text(two), token_text(two.token) + "@192.0.2.7,[2001:db8::1]:526");
  EXPECT_EQ(parse_addressed_token(addressed_token_text(two)), two);
  EXPECT_EQ(parse_addressed_token(token_text(two.token) + " @ 192.0.2.7 , [2001:db8::1]:526\n"),
            two);
  EXPECT_FALSE(parse_addressed_token("@192.0.2.7"));
  for (const std::string more : {"@", "@,", "@192.0.2.7,", "@1,2,3,4,5,6,7,8,9"})
    EXPECT_THAT(parse_addressed_token(token_text(two.token) + more).error(), HasSubstr("1 to 8"))
        << more;
  EXPECT_THAT(parse_addressed_token(std::string(513, 'a')).error(), HasSubstr("too long"));
}

// --- joining ---

TEST(Invitation, GivesANewcomerTheMembership) {
  Invitations member;
  const Token token = member.invite(kNow).value();
  const JoinAttempt newcomer(token, "stern");
  const auto joined = member.receive(kNow + 1s, newcomer.request(), ours());
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->name, "stern");
  EXPECT_TRUE(joined->first);
  EXPECT_EQ(newcomer.open(joined->answer), ours());
  EXPECT_LE(joined->answer.size(), newcomer.request().size()) << "nothing is amplified";
  EXPECT_EQ(newcomer.request().size(), kJoinBytes);
  EXPECT_EQ(member.joined(), 1U);
  EXPECT_EQ(member.refused(), 0U);
}

TEST(Invitation, AnswersARepeatedRequestButNoSecondNewcomer) {
  Invitations member;
  const Token token = member.invite(kNow).value();
  const JoinAttempt newcomer(token, "stern");
  ASSERT_TRUE(member.receive(kNow, newcomer.request(), ours()));
  const auto again = member.receive(kNow + 1s, newcomer.request(), ours());
  ASSERT_TRUE(again) << "the first answer may have been lost";
  EXPECT_FALSE(again->first);
  EXPECT_EQ(newcomer.open(again->answer), ours());
  const JoinAttempt thief(token, "stern");
  EXPECT_FALSE(member.receive(kNow + 2s, thief.request(), ours())) << "one use";
  EXPECT_FALSE(thief.open(again->answer)) << "the answer is for the first one";
  EXPECT_EQ(member.joined(), 1U);
  EXPECT_EQ(member.refused(), 1U);
}

TEST(Invitation, ExpiresAfterTenMinutes) {
  Invitations member;
  const Token token = member.invite(kNow).value();
  const JoinAttempt newcomer(token, "stern");
  EXPECT_FALSE(member.receive(kNow + Invitations::kValidFor, newcomer.request(), ours()));
  EXPECT_TRUE(member.receive(kNow + Invitations::kValidFor - 1ns, newcomer.request(), ours()));
}

TEST(Invitation, IsSilentWithoutTheToken) {
  Invitations member;
  const JoinAttempt stranger(token_of(1), "stranger");
  EXPECT_FALSE(member.receive(kNow, stranger.request(), ours()));
  const Token token = member.invite(kNow).value();
  EXPECT_FALSE(member.receive(kNow, stranger.request(), ours()));
  // The id of the token is in clear; the rest needs the token.
  const JoinAttempt newcomer(token, "stern");
  Bytes forged = stranger.request();
  std::copy_n(newcomer.request().begin(), 12, forged.begin());
  EXPECT_FALSE(member.receive(kNow, forged, ours()));
  EXPECT_EQ(member.refused(), 3U);
  EXPECT_EQ(member.joined(), 0U);
  EXPECT_TRUE(member.receive(kNow, newcomer.request(), ours())) << "it is not used up";
}

TEST(Invitation, OpensFewRequestsInASecond) {
  Invitations member;
  const Token token = member.invite(kNow).value();
  const JoinAttempt newcomer(token, "stern");
  Bytes forged = newcomer.request();
  forged.back() ^= std::byte{1};
  for (std::uint32_t i = 0; i < Invitations::kMaxPerSecond; ++i)
    EXPECT_FALSE(member.receive(kNow, forged, ours()));
  EXPECT_FALSE(member.receive(kNow, newcomer.request(), ours())) << "it was flooded";
  EXPECT_TRUE(member.receive(kNow + 1s, newcomer.request(), ours()));
}

TEST(Invitation, ThereAreAtMostSixteen) {
  Invitations member;
  for (std::size_t i = 0; i < Invitations::kMax; ++i) EXPECT_TRUE(member.invite(kNow)) << i;
  EXPECT_FALSE(member.invite(kNow));
  EXPECT_TRUE(member.invite(kNow + Invitations::kValidFor));
}

TEST(Invitation, RefusesWhatIsNotAnAnswer) {
  Invitations member;
  const Token token = member.invite(kNow).value();
  const JoinAttempt newcomer(token, "stern");
  EXPECT_FALSE(newcomer.open(newcomer.request()));
  EXPECT_FALSE(newcomer.open({}));
  Membership odd = ours();
  odd.cluster = "two\nlines";
  const auto joined = member.receive(kNow, newcomer.request(), odd);
  ASSERT_TRUE(joined);
  EXPECT_FALSE(newcomer.open(joined->answer));
}

}  // namespace
}  // namespace tempo::auth
