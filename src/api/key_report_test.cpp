#include "api/key_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::obs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MemberView member(const std::string& name, const std::string& seals, const std::string& other) {
  MemberView view;
  view.name = name;
  view.seals = seals;
  view.opens = {seals};
  if (!other.empty()) view.opens.push_back(other);
  return view;
}

Snapshot added() {
  Snapshot snapshot;
  snapshot.keys = 2;
  snapshot.sealing_key = "aaaaaaaa";
  snapshot.opening_key = "bbbbbbbb";
  snapshot.key_change = "added";
  snapshot.members = {member("bow", "aaaaaaaa", "bbbbbbbb"),
                      member("stern", "aaaaaaaa", "bbbbbbbb")};
  return snapshot;
}

TEST(KeyReport, OfASettledCluster) {
  Snapshot snapshot = added();
  snapshot.key_change.clear();
  snapshot.opening_key.clear();
  snapshot.members = {member("bow", "aaaaaaaa", ""), member("stern", "aaaaaaaa", "")};
  const KeyReport report = key_report(snapshot, 5);
  EXPECT_EQ(report.next, KeyStep::none);
  EXPECT_TRUE(report.safe);
  EXPECT_EQ(report.text, "all 2 members seal with key aaaaaaaa; no key change is in progress");
  snapshot.members[1].opens.push_back("bbbb");
  EXPECT_EQ(key_report(snapshot, 5).next, KeyStep::add);
  EXPECT_THAT(key_report(snapshot, 5).text, HasSubstr("stern also opens key bbbb"));
}

TEST(KeyReport, PromoteIsSafeWhenAllOpenTheNewKey) {
  Snapshot snapshot = added();
  EXPECT_EQ(key_report(snapshot, 5).next, KeyStep::promote);
  EXPECT_TRUE(key_report(snapshot, 5).safe);
  EXPECT_EQ(key_report(snapshot, 5).text,
            "all 2 members open key bbbbbbbb: it is safe to run 'tempo keygen --promote' on each");
  snapshot.members.push_back(member("mast", "aaaaaaaa", ""));
  const KeyReport report = key_report(snapshot, 5);
  EXPECT_FALSE(report.safe);
  EXPECT_THAT(report.lacking, ElementsAre("mast"));
  EXPECT_THAT(report.text, HasSubstr("mast does not open key bbbbbbbb"));
}

TEST(KeyReport, DropIsSafeWhenAllSealWithTheNewKey) {
  Snapshot snapshot = added();
  snapshot.sealing_key = "bbbbbbbb";
  snapshot.opening_key = kNoKeyName;
  snapshot.key_change = "promoted";
  snapshot.members = {member("bow", "bbbbbbbb", "no key"), member("stern", "no key", "bbbbbbbb"),
                      member("mast", "no key", "bbbbbbbb")};
  EXPECT_EQ(key_report(snapshot, 5).next, KeyStep::drop);
  EXPECT_THAT(key_report(snapshot, 5).text,
              HasSubstr("stern, mast do not seal with key bbbbbbbb; run 'tempo keygen --promote'"));
  snapshot.members = {member("bow", "bbbbbbbb", "no key"), member("stern", "bbbbbbbb", "")};
  EXPECT_TRUE(key_report(snapshot, 5).safe);
}

TEST(KeyReport, NamesSilentMembers) {
  Snapshot snapshot = added();
  snapshot.members[1].heard_ago_s = 60;
  EXPECT_FALSE(key_report(snapshot, 5).safe);
  EXPECT_THAT(key_report(snapshot, 5).silent, ElementsAre("stern"));
  EXPECT_THAT(key_report(snapshot, 5).text, HasSubstr("stern did not answer"));
  EXPECT_TRUE(key_report(snapshot, std::nullopt).safe);
}

TEST(KeyReport, ListsMembers) {
  EXPECT_THAT(keys_text(added()), HasSubstr("stern   aaaaaaaa    bbbbbbbb"));
}

}  // namespace
}  // namespace tempo::obs
