#include "daemon/control/findings.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A member of two whose new key opens since `seconds`.
obs::Snapshot changing(double seconds) {
  obs::Snapshot shot;
  shot.status = "synchronized";
  shot.networks.emplace_back().kernel_stamps = true;
  shot.keys = 2;
  shot.sealing_key = "aaaaaaaa";
  shot.opening_key = "bbbbbbbb";
  shot.key_change = "added";
  shot.keys_since_s = seconds;
  for (const char* name : {"bow", "stern"}) {
    obs::MemberView& member = shot.members.emplace_back();
    member.name = name;
    member.seals = "aaaaaaaa";
    member.opens = {"aaaaaaaa"};
  }
  shot.members[0].opens.emplace_back("bbbbbbbb");
  return shot;
}

TEST(Findings, AKeyChangeIsANoteUntilItIsStuck) {
  const auto noted = findings_in(changing(60));
  ASSERT_EQ(noted.size(), 1U);
  EXPECT_EQ(noted[0].level, "note");
  EXPECT_THAT(noted[0].what, StartsWith("a key change is in progress: not yet safe to promote"));
  const auto stuck = findings_in(changing(7200));
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck[0].level, "problem");
  EXPECT_THAT(stuck[0].what, StartsWith("a key change is stuck half way for 2 h"));
  EXPECT_THAT(stuck[0].what, HasSubstr("stern does not open key bbbbbbbb"));
}

TEST(Findings, ASettledClusterHasNone) {
  obs::Snapshot shot = changing(7200);
  shot.key_change.clear();
  shot.opening_key.clear();
  shot.members[0].opens.pop_back();
  EXPECT_TRUE(findings_in(shot).empty());
}

}  // namespace
}  // namespace tempo::daemon
