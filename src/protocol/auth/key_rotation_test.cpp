// Key changes: each step on each machine, in every order, and the mistakes that operators make.
#include "protocol/auth/key_rotation.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::auth {
namespace {

using testing::HasSubstr;

Key key_of(std::uint8_t first) {
  Key key{};
  key.fill(std::byte{first});
  return key;
}
const KeyLine kOldSeals{.key = key_of(1)};
const KeyLine kOldOpens{.key = key_of(1), .role = KeyRole::open};
const KeyLine kNewSeals{.key = key_of(2)};
const KeyLine kNewOpens{.key = key_of(2), .role = KeyRole::open};
const KeyLine kNoneSeals{};
const KeyLine kNoneOpens{.role = KeyRole::open};

bool understands(const KeyLines& receiver, const KeyLines& sender) {
  const Keyring to = receiver.empty() ? Keyring() : Keyring(receiver);
  const Keyring from = sender.empty() ? Keyring() : Keyring(sender);
  std::array<std::byte, 64> datagram{};
  const std::size_t size = from.seal(datagram, 40);
  return to.open(std::span(datagram).first(size), from.sealing_id()).has_value();
}

TEST(KeyRotation, TakesThreeSteps) {
  const KeyLines added = add_key({kOldSeals}, key_of(2)).value();
  EXPECT_EQ(added, (KeyLines{kOldSeals, kNewOpens}));
  const KeyLines promoted = promote_key(added).value();
  EXPECT_EQ(promoted, (KeyLines{kOldOpens, kNewSeals}));
  EXPECT_EQ(drop_key(promoted).value(), KeyLines{kNewSeals});
  EXPECT_EQ(withdraw_key(added).value(), KeyLines{kOldSeals});
}

TEST(KeyRotation, IntroducesTheFirstKeyByTheSameSteps) {
  const KeyLines added = add_key({}, key_of(2)).value();
  EXPECT_EQ(added, (KeyLines{kNoneSeals, kNewOpens}));
  const KeyLines promoted = promote_key(added).value();
  EXPECT_EQ(promoted, (KeyLines{kNoneOpens, kNewSeals}));
  EXPECT_EQ(drop_key(promoted).value(), KeyLines{kNewSeals});
  EXPECT_EQ(withdraw_key(added).value(), KeyLines{});
}

// The new key sealed at once: machines that did not have it yet formed a second network.
TEST(KeyRotation, KeepsMachinesThatAreOneStepApartTogether) {
  for (const KeyLines& before : {KeyLines{kOldSeals}, KeyLines{}}) {
    std::vector<KeyLines> states{before};
    states.push_back(add_key(states.back(), key_of(2)).value());
    states.push_back(promote_key(states.back()).value());
    states.push_back(drop_key(states.back()).value());
    for (std::size_t i = 0; i < states.size(); ++i)
      for (std::size_t j = i == 0 ? 0 : i - 1; j < std::min(i + 2, states.size()); ++j)
        EXPECT_TRUE(understands(states[i], states[j])) << i << " from " << j;
    EXPECT_FALSE(understands(states[0], states[2])) << "two steps apart";
    EXPECT_FALSE(understands(states[3], states[1]));
  }
}

TEST(KeyRotation, RefusesAStepOutOfOrderAndNamesTheNextOne) {
  const KeyLines one{kOldSeals};
  const KeyLines added{kOldSeals, kNewOpens};
  const KeyLines promoted{kOldOpens, kNewSeals};
  EXPECT_THAT(promote_key(one).error(), HasSubstr("is the only one; run 'tempo keygen --add'"));
  EXPECT_THAT(drop_key(one).error(), HasSubstr("is the only one and seals"));
  EXPECT_THAT(withdraw_key(one).error(), HasSubstr("is the only one; run 'tempo keygen --add'"));
  EXPECT_THAT(add_key(added, key_of(3)).error(), HasSubstr("run 'tempo keygen --promote'"));
  EXPECT_THAT(drop_key(added).error(),
              HasSubstr("still seals; run 'tempo keygen --promote' first"));
  EXPECT_THAT(add_key(promoted, key_of(3)).error(), HasSubstr("run 'tempo keygen --drop' first"));
  EXPECT_THAT(promote_key(promoted).error(), HasSubstr("seals already"));
  EXPECT_THAT(withdraw_key(promoted).error(), HasSubstr("is not taken back"));
}

TEST(KeyRotation, FindsTheKeyThatAMachineLacks) {
  EXPECT_EQ(missing_key({kOldSeals}, {kOldSeals, kNewOpens}).value(), key_of(2));
  EXPECT_EQ(missing_key({kOldSeals}, {kOldOpens, kNewSeals}).value(), key_of(2));
  EXPECT_EQ(missing_key({kOldSeals, kNewOpens}, {kOldSeals, kNewOpens}).value(), std::nullopt);
  EXPECT_EQ(missing_key({}, {kNoneSeals, kNewOpens}).value(), key_of(2));
  EXPECT_THAT(missing_key({KeyLine{.key = key_of(3)}}, {kOldSeals, kNewOpens}).error(),
              HasSubstr("both keys are unknown here"));
  EXPECT_THAT(missing_key({}, {kOldSeals}).error(), HasSubstr("demands a key already"))
      << "a machine without a key does not begin a mixed phase of its own";
}

TEST(KeyRotation, WritesAFileThatParses) {
  for (const KeyLines& lines : {KeyLines{kOldSeals, kNewOpens}, KeyLines{kNoneOpens, kNewSeals}})
    EXPECT_EQ(parse_keys(key_file_text(lines)).value(), lines);
}

}  // namespace
}  // namespace tempo::auth
