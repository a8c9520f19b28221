// The table of statuses, and its copy in the manual.
#include "api/door_status.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace tempo::doors {
namespace {

using page::Status;

constexpr Status kStatuses[] = {Status::unsynchronized, Status::holdover, Status::synchronized,
                                Status::leads,          Status::minority, Status::alone};

std::string documented_row(Status status) {
  const DoorStatus door = door_status(status, 1us, 1s);
  const char* const kernel = door.claims ? "bound" : "`STA_UNSYNC`, 16 s";
  const char* const clockbound = door.clockbound == ClockBound::synchronized   ? "1, synchronized"
                                 : door.clockbound == ClockBound::free_running ? "2, free running"
                                                                               : "0, unknown";
  return fmt::format("| `{}` | {} | {} | {} | {} |", name_of(status), kernel, int{door.stratum},
                     static_cast<int>(door.leap), clockbound);
}

TEST(DoorStatus, IsTheTableOfTheManual) {
  const auto here = std::filesystem::path(TEMPO_TESTDATA).parent_path();
  std::ifstream page(here / "../../doc/reference/time.md");
  ASSERT_TRUE(page) << "doc/reference/time.md is missing";
  std::set<std::string> lines;
  for (std::string line; std::getline(page, line);) lines.insert(line);
  for (const Status status : kStatuses)
    EXPECT_TRUE(lines.contains(documented_row(status))) << documented_row(status);
}

TEST(DoorStatus, ClaimsNothingBeyondTheLimit) {
  for (const Status status : kStatuses) {
    const bool claims = status != Status::unsynchronized && status != Status::alone;
    EXPECT_EQ(door_status(status, 1s, 1s).claims, claims);
    EXPECT_EQ(door_status(status, 1s + 1ns, 1s), DoorStatus{});
  }
}

TEST(DoorStatus, TakesTheWiderHalfOfTheInterval) {
  EXPECT_EQ(bound_of({}), Nanos::max());
  const page::Reading reading{.time = WallTime{10us},
                              .earliest = WallTime{7us},
                              .latest = WallTime{11us},
                              .status = Status::synchronized};
  EXPECT_EQ(bound_of(reading), 3us);
}

}  // namespace
}  // namespace tempo::doors
