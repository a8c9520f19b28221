// Screen and lines of `tempo watch`, without a terminal.
#include "cli/time/watch_view.h"

#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

obs::Snapshot ship(std::size_t others, double offset_us) {
  obs::Snapshot snapshot;
  snapshot.name = "bow";
  snapshot.status = "synchronized";
  snapshot.time_ns = 1'700'000'000'123'456'789;
  snapshot.earliest_ns = snapshot.time_ns - 12'300;
  snapshot.latest_ns = snapshot.time_ns + 12'300;
  snapshot.offset_us = offset_us;
  obs::NetworkView& network = snapshot.networks.emplace_back();
  network.name = "eth0";
  network.state = "follower";
  network.master = "m0";
  network.epoch_round = 7;
  network.heir = "m1";
  obs::MemberView& self = snapshot.members.emplace_back();
  self.name = "bow";
  self.id = "b";
  self.role = "follower";
  self.self = true;
  self.bound_us = 12.3;
  for (std::size_t i = 0; i < others; ++i) {
    obs::MemberView& member = snapshot.members.emplace_back();
    member.name = fmt::format("m{}", i);
    member.id = member.name;
    member.role = i == 0 ? "master" : "follower";
  }
  return snapshot;
}

std::vector<std::string> texts(const std::vector<ScreenLine>& lines) {
  std::vector<std::string> all;
  for (const ScreenLine& line : lines) all.push_back(line.text);
  return all;
}

std::string sparkline(const std::vector<double>& values, std::size_t width, bool unicode) {
  OffsetHistory history;
  for (const double value : values) history.add(value);
  return history.sparkline(width, unicode);
}

TEST(Sparkline, SpansTheSmallestAndTheLargest) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8, true), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({-4, 0, 4}, 8, false), "_=#");
  EXPECT_EQ(sparkline({5, 5}, 4, false), "__");
  EXPECT_EQ(sparkline({}, 4, true), "");
  EXPECT_EQ(sparkline({1}, 0, true), "");
}

TEST(Sparkline, KeepsItsScaleWhenAnExtremeLeavesTheLine) {
  EXPECT_EQ(sparkline({8, 0, 4}, 2, false), "_=");
}

TEST(Sparkline, NarrowsItsScaleWhenAFullHistoryNeedsLittleOfIt) {
  OffsetHistory history;
  history.add(1000);
  for (std::size_t i = 1; i < OffsetHistory::kSize; ++i) history.add(i % 2 == 0 ? 1.0 : 0.0);
  EXPECT_EQ(history.sparkline(2, false), "__");
  history.add(1);  // the first value leaves the history
  EXPECT_EQ(history.sparkline(3, false), "#_#");
}

TEST(WatchLine, IsOneLine) {
  EXPECT_EQ(watch_line(ship(1, -1.5)),
            "22:13:20.123  bow  synchronized, within 12.3 us  offset -1.5 us  members 2  "
            "eth0=follower,m0,7");
}

TEST(ChangeKey, ComparesStateMembersAndTheRoundedOffset) {
  const std::string key = change_key(ship(1, 12.3));
  EXPECT_EQ(change_key(ship(1, 10.1)), key);
  EXPECT_NE(change_key(ship(1, 22)), key);
  EXPECT_NE(change_key(ship(1, -12.3)), key);
  EXPECT_NE(change_key(ship(2, 12.3)), key);
  EXPECT_EQ(change_key(ship(1, 0.9)), change_key(ship(1, -0.4)));
  obs::Snapshot other = ship(1, 12.3);
  other.time_ns += 1'000'000'000;
  EXPECT_EQ(change_key(other), key);
  other.status = "holdover";
  EXPECT_NE(change_key(other), key);
  other = ship(1, 12.3);
  other.networks[0].master = "m1";
  EXPECT_NE(change_key(other), key);
}

TEST(WatchScreen, ShowsClocksRolesAndEvents) {
  WatchView view;
  EXPECT_THAT(texts(view.screen(80, 24, true)), ElementsAre("waiting for tempod"));
  view.take(ship(1, 1));
  view.take(ship(1, 2));
  view.take(ipc::Event{"lost-master", 1'700'000'000'000'000'000, "m9 is gone"});
  EXPECT_THAT(texts(view.screen(80, 24, true)),
              ElementsAre("bow  synchronized, within 12.3 us  2023-11-14 22:13:20.123 UTC",
                          "eth0  follower  master m0  epoch 7  heir m1", "",
                          "    name  role              offset     bound  history",
                          "  * bow   follower            2 us   12.3 us  ▁█",
                          "    m0    master                 -         -  ", "",
                          "22:13:20.000  m9 is gone", "q quits"));
  view.set_unreachable(3'700ms);
  EXPECT_EQ(view.screen(80, 24, true)[1].text, "tempod has not been reachable for 3 s; retrying");
  view.take(ship(1, 2));
  EXPECT_THAT(view.screen(80, 24, true)[1].text, HasSubstr("eth0"));
}

TEST(WatchScreen, FitsEverySize) {
  WatchView view;
  view.take(ship(100, 1));
  for (int i = 0; i < 300; ++i)
    view.take(ipc::Event{"e", i * 1'000'000'000LL, fmt::format("event number {}", i)});
  for (std::size_t height = 1; height < 130; ++height)
    for (const std::size_t width : {1U, 20U, 80U}) {
      const auto lines = view.screen(width, height, false);
      EXPECT_LE(lines.size(), height);
      for (const ScreenLine& line : lines) EXPECT_LE(line.text.size(), width);
    }
  const auto lines = texts(view.screen(80, 24, false));
  EXPECT_EQ(lines.back(), "q quits");
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("more; see 'tempo members'")));
  EXPECT_THAT(lines[lines.size() - 2], HasSubstr("event number 299"));
}

TEST(WatchScreen, DropsTheHistoryOfAMemberThatLeft) {
  WatchView view;
  obs::Snapshot snapshot = ship(1, 1);
  snapshot.members[1].offset_us = 5;
  view.take(snapshot);
  view.take(ship(0, 1));
  snapshot.members[1].offset_us = 6;
  view.take(snapshot);
  EXPECT_THAT(view.screen(80, 24, false)[5].text, ::testing::EndsWith("  _"));
}

}  // namespace
}  // namespace tempo::cli
