#include "daemon/control/findings.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/control/daemon_view.h"

namespace tempo::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using ipc::Finding;

Observations healthy() {
  Observations seen;
  seen.shot.status = "synchronized";
  seen.shot.uptime_s = 3600;
  seen.shot.keys = 1;
  seen.shot.sealing_key = "aaaaaaaa";
  seen.shot.networks.emplace_back().kernel_stamps = true;
  for (const char* name : {"bow", "mast", "stern"}) {
    obs::MemberView& member = seen.shot.members.emplace_back();
    member.name = name;
    member.id = name;
    member.address = std::string("192.0.2.") + name[0];
    member.state = "up";
    member.profile = "lan";
    member.timers = "12345678";
    member.version = "1.0";
    member.revision = 2;
    member.expect = 3;
    member.lease_ms = member.lease_max_ms = 2000;
    member.hears = 2;
    member.uptime_s = 3600;
    member.seals = "aaaaaaaa";
    member.opens = {"aaaaaaaa"};
  }
  seen.shot.members[0].self = true;
  seen.locks = {
      .configured = true, .agreed = true, .voters = {{"bow", 1}, {"mast", 1}, {"stern", 1}}};
  return seen;
}

std::vector<std::string> codes(const Observations& seen) {
  std::vector<std::string> all;
  for (const Finding& finding : findings_in(seen)) {
    EXPECT_FALSE(finding.cure.empty()) << finding.what;
    all.push_back(finding.level + ' ' + finding.code);
  }
  return all;
}
std::string evidence(const Observations& seen) { return findings_in(seen).at(0).evidence; }

TEST(Findings, AHealthyClusterHasNone) { EXPECT_THAT(findings_in(healthy()), IsEmpty()); }

TEST(Findings, NoConfigurationIsNoProblem) {
  Observations seen = healthy();
  seen.key_warning = "no key: ...";
  seen.shot.warnings = {seen.key_warning};
  seen.shot.keys = 0;
  seen.locks = {};
  EXPECT_THAT(codes(seen), ElementsAre("note T017"));
  // One machine alone.
  seen.shot.members.resize(1);
  EXPECT_THAT(codes(seen), ElementsAre("note T010", "note T017"));
}

TEST(Findings, NameTheSilentMembers) {
  Observations seen = healthy();
  seen.shot.members[2].state = "silent";
  seen.shot.members[2].heard_ago_s = 12;
  EXPECT_THAT(codes(seen), ElementsAre("problem T011"));
  EXPECT_EQ(findings_in(seen)[0].what, "stern is silent");
  EXPECT_EQ(evidence(seen), "silent: stern for 12 s");
  seen.shot.members[1].state = "silent";
  EXPECT_THAT(codes(seen), ElementsAre("problem T009", "problem T024"));
  EXPECT_EQ(findings_in(seen)[1].evidence, "1 of 3 votes heard; missing: mast and stern");
  // A planned stop is no problem while the others have a majority.
  seen.shot.members[1].state = "up";
  seen.shot.members[2].state = "stopped";
  EXPECT_THAT(codes(seen), IsEmpty());
}

TEST(Findings, AMinorityIsAProblem) {
  Observations seen = healthy();
  seen.locks = {};
  for (int i = 0; i < 3; ++i) {
    obs::MemberView& member = seen.shot.members.emplace_back();
    member.name = member.id = "m" + std::to_string(i);
    member.state = "silent";
  }
  EXPECT_THAT(codes(seen), ElementsAre("problem T011")) << "half of the members";
  obs::MemberView& member = seen.shot.members.emplace_back();
  member.name = member.id = "m3";
  member.state = "silent";
  EXPECT_THAT(codes(seen), ElementsAre("problem T011", "problem T012"));
  EXPECT_EQ(findings_in(seen)[1].evidence, "3 of 7 members are heard");
}

TEST(Findings, SettingsThatDifferAreNamedWithBothValues) {
  Observations seen = healthy();
  seen.shot.members[1].profile = "fast";
  seen.shot.members[1].timers = "87654321";
  EXPECT_THAT(codes(seen), ElementsAre("problem T020"));
  EXPECT_EQ(evidence(seen), "mast has profile fast, this machine profile lan, timers 12345678");
  seen.shot.members[1].profile = "lan";
  EXPECT_THAT(codes(seen), ElementsAre("problem T020"));
  seen = healthy();
  seen.shot.members[1].expect = 5;
  EXPECT_THAT(codes(seen), ElementsAre("problem T021"));
  EXPECT_EQ(evidence(seen), "mast has 5, this machine has 3");
  seen = healthy();
  seen.shot.members[2].lease_ms = 1000;
  seen.shot.warnings = {lease_warning(seen.shot.members)};  // of the same fault
  EXPECT_THAT(codes(seen), ElementsAre("problem T022"));
  EXPECT_EQ(evidence(seen), "stern has 1000 and 2000 ms, this machine 2000 and 2000 ms");
  seen = healthy();
  seen.shot.members[2].version = "1.1";
  EXPECT_THAT(codes(seen), ElementsAre("note T023"));
  // A tempod that announces nothing is of an earlier version, and nothing is known about it.
  seen = healthy();
  seen.shot.members[2].profile = "";
  seen.shot.members[2].expect = 0;
  EXPECT_THAT(codes(seen), IsEmpty());
}

TEST(Findings, LinksInOneDirection) {
  Observations seen = healthy();
  seen.shot.members[1].misses_this_host_s = 9;
  EXPECT_THAT(codes(seen), ElementsAre("problem T008"));
  EXPECT_THAT(evidence(seen), HasSubstr("mast (for 9 s)"));
  seen = healthy();
  seen.shot.members[1].hears = 0;
  EXPECT_THAT(codes(seen), ElementsAre("problem T008"));
  seen = healthy();
  seen.refused = {{.address = "192.0.2.9", .reason = "not_live", .for_s = 6, .count = 4}};
  EXPECT_THAT(codes(seen), ElementsAre("problem T008"));
  EXPECT_EQ(evidence(seen), "no answer from 192.0.2.9 (for 6 s)");
}

// Two clusters may share a network, but a machine without other members is the wrong one.
TEST(Findings, RefusedMachines) {
  for (const auto& [reason, code] : {std::pair("other_cluster", "T013"),
                                     {"not_sealed", "T014"},
                                     {"unknown_key", "T015"},
                                     {"forged", "T016"}}) {
    Observations seen = healthy();
    seen.refused = {{.address = "192.0.2.9", .reason = reason, .for_s = 6, .count = 4}};
    EXPECT_THAT(codes(seen), ElementsAre(std::string("note ") + code));
    EXPECT_EQ(evidence(seen), "refused datagrams: 192.0.2.9 (4)");
    // It was a member.
    seen.shot.members[1].state = "silent";
    seen.shot.members[1].address = "192.0.2.9";
    EXPECT_THAT(codes(seen), ElementsAre("problem T011", std::string("problem ") + code));
    seen.shot.members.resize(1);
    seen.locks = {};
    EXPECT_THAT(codes(seen), ElementsAre("note T010", std::string("problem ") + code));
  }
}

TEST(Findings, Locks) {
  Observations seen = healthy();
  seen.locks.two_sets = "two voting sets";
  seen.shot.warnings = {"two voting sets"};
  EXPECT_THAT(codes(seen), ElementsAre("problem T025")) << "the warning has this code";
  seen = healthy();
  seen.locks.clone = seen.locks.retired = "two machines";
  EXPECT_THAT(codes(seen), ElementsAre("problem T027", "problem T027"));
  seen.duplicate_id = true;
  EXPECT_THAT(codes(seen), ElementsAre("problem T027")) << "it says the same";
  seen = healthy();
  seen.locks = {.configured = true, .found = 4, .expected = 2, .crowded = "four machines"};
  seen.shot.warnings = {"four machines"};
  EXPECT_THAT(codes(seen), ElementsAre("problem T043"));
  EXPECT_EQ(evidence(seen), "four machines");
  seen = healthy();
  seen.locks = {.configured = true, .record_lost = true, .found = 1, .expected = 3};
  EXPECT_THAT(codes(seen), ElementsAre("problem T026"));
  seen.locks.record_lost = false;
  EXPECT_THAT(codes(seen), ElementsAre("problem T024"));
  EXPECT_EQ(evidence(seen), "1 of 3 found");
  seen.shot.uptime_s = 3;
  EXPECT_THAT(codes(seen), ElementsAre("note T024")) << "it has just started";
  seen.shot.uptime_s = 3600;
  seen.locks = {.configured = true, .agreed = true, .voters = {{"bow", 1}, {"gone", 2}}};
  EXPECT_THAT(codes(seen), ElementsAre("problem T024"));
  EXPECT_EQ(evidence(seen), "1 of 3 votes heard; missing: gone");
  seen.locks.available = true;
  EXPECT_THAT(codes(seen), IsEmpty());
}

TEST(Findings, OfThisMachine) {
  const auto one = [](auto change) {
    Observations seen = healthy();
    change(seen);
    return codes(seen);
  };
  EXPECT_THAT(one([](auto& seen) { seen.duplicate_id = true; }), ElementsAre("problem T027"));
  EXPECT_THAT(one([](auto& seen) { seen.crowding = "x"; }), ElementsAre("problem T028"));
  EXPECT_THAT(one([](auto& seen) { seen.clock_error = "EPERM"; }), ElementsAre("problem T029"));
  EXPECT_THAT(one([](auto& seen) { seen.shot.status = "unsynchronized"; }),
              ElementsAre("problem T031"));
  EXPECT_THAT(one([](auto& seen) { seen.disk_error = "full"; }), ElementsAre("problem T033"));
  EXPECT_THAT(one([](auto& seen) { seen.shot.user = "root"; }), ElementsAre("note T034"));
  EXPECT_THAT(one([](auto& seen) { seen.network_error = "x"; }), ElementsAre("problem T035"));
  EXPECT_THAT(one([](auto& seen) { seen.shot.members[1].faulty = true; }),
              ElementsAre("problem T037"));
  EXPECT_THAT(one([](auto& seen) { seen.shot.members[1].name = "bow"; }),
              ElementsAre("problem T038"));
  EXPECT_THAT(one([](auto& seen) { seen.send_error = "EPERM"; }), ElementsAre("problem T039"));
  EXPECT_THAT(one([](auto& seen) { seen.incompatible_peer = "x"; }), ElementsAre("problem T023"));
  EXPECT_THAT(one([](auto& seen) { seen.shot.networks.clear(); }), ElementsAre("problem T003"));
  // A warning that another part adds is a problem too.
  EXPECT_THAT(one([](auto& seen) { seen.shot.warnings = {"something new"}; }),
              ElementsAre("problem T041"));
}

// A member of two whose new key opens since `seconds`.
Observations changing(double seconds) {
  Observations seen;
  obs::Snapshot& shot = seen.shot;
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
    member.id = name;
    member.seals = "aaaaaaaa";
    member.opens = {"aaaaaaaa"};
  }
  shot.members[0].opens.emplace_back("bbbbbbbb");
  shot.members[0].self = true;
  return seen;
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
  Observations seen = changing(7200);
  seen.shot.key_change.clear();
  seen.shot.opening_key.clear();
  seen.shot.members[0].opens.pop_back();
  EXPECT_TRUE(findings_in(seen).empty());
}

}  // namespace
}  // namespace tempo::daemon
