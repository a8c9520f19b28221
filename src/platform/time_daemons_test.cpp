// Other time daemons, found in a directory that stands for /proc.
#include "platform/time_daemons.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tempo::sys {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TimeDaemons : public ::testing::Test {
 protected:
  ~TimeDaemons() override { std::filesystem::remove_all(proc_); }
  void process(const std::string& id, const std::string& comm,
               const std::string& status = "") const {
    std::filesystem::create_directories(proc_ / id);
    std::ofstream(proc_ / id / "comm") << comm << '\n';
    if (!status.empty()) std::ofstream(proc_ / id / "status") << status;
  }
  std::vector<std::string> found() const {
    std::vector<std::string> texts;
    for (const RunningTimeDaemon& one : running_time_daemons(proc_.string()))
      texts.push_back(one.process + ' ' + std::string(one.daemon.name) +
                      (one.steers_clock ? "" : " harmless"));
    return texts;
  }

 private:
  std::filesystem::path proc_ =
      std::filesystem::temp_directory_path() / ("tempo_time_daemons_" + std::to_string(getpid()));
};

TEST_F(TimeDaemons, AreFoundByTheirNames) {
  EXPECT_THAT(found(), IsEmpty()) << "no directory";
  process("1", "systemd");
  process("self", "chronyd");
  process("20", "ntpd-backup");
  EXPECT_THAT(found(), IsEmpty());
  process("31", "chronyd");
  process("32", "systemd-timesyn");
  EXPECT_THAT(found(), ElementsAre("31 chrony", "32 systemd-timesyncd"));
}

// CAP_SYS_TIME is bit 25. A chronyd in a container without it can only measure; one whose rights
// are unknown counts.
TEST_F(TimeDaemons, WithoutTheRightToSetTheClockAreHarmless) {
  process("31", "chronyd",
          "Name:\tchronyd\nCapPrm:\t0000000002000000\nCapEff:\t0000000000000000\n");
  process("32", "chronyd", "Name:\tchronyd\nCapEff:\t0000000002000400\n");
  process("33", "chronyd", "Name:\tchronyd\nCapEff:\tunreadable\n");
  process("34", "ptp4l", "Name:\tptp4l\nCapEff:\t000001ffffffffff\n");
  EXPECT_THAT(found(),
              ElementsAre("31 chrony harmless", "32 chrony", "33 chrony", "34 ptp4l harmless"));
}

TEST(KnownTimeDaemons, FitIntoTheNamesOfTheKernel) {
  for (const TimeDaemon& known : known_time_daemons()) {
    EXPECT_LE(known.program.size(), 15U) << known.program;
    EXPECT_TRUE(known.unit.empty() || known.unit.ends_with(".service")) << known.unit;
  }
}

}  // namespace
}  // namespace tempo::sys
