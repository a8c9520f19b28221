// `tempo adopt` with a systemctl that keeps its units in files, and tempod beside another time
// daemon.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "platform/time_daemons.h"
#include "program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;

// The file DIRECTORY/UNIT has the words "active", "enabled" and "masked", as far as they apply.
// `failing` has a command that fails. The file `log` has the commands that change something.
constexpr const char* kSystemctl = R"sh(#!/bin/sh
directory=$(dirname "$0")
verb=$1; shift
[ "$1" = --now ] && { now=yes; shift; }
unit=$directory/$1
has() { grep -qw "$1" "$unit" 2>/dev/null; }
case $verb in
  is-active) has active; exit ;;
  is-enabled) has enabled && ! has masked; exit ;;
esac
echo "$verb${now:+ --now} $1" >>"$directory/log"
if [ "$(cat "$directory/failing" 2>/dev/null)" = "$verb $1" ]; then echo "Job failed."; exit 1; fi
case $verb in
  stop) sed -i 's/\<active//' "$unit" ;;
  start) has masked && exit 1; echo active >>"$unit" ;;
  mask) echo masked >>"$unit" ;;
  unmask) sed -i '/masked/d' "$unit" ;;
esac
)sh";

class Adopt : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "skipped: only root may switch time daemons";
    for (const sys::RunningTimeDaemon& other : sys::running_time_daemons("/proc"))
      if (other.steers_clock)
        GTEST_SKIP() << "skipped: " << other.daemon.name << " runs on this machine";
    std::filesystem::create_directories(directory_);
    ASSERT_TRUE(std::freopen("/dev/null", "r", stdin));  // nobody can be asked
    put("systemctl", kSystemctl);
    std::filesystem::permissions(directory_ / "systemctl", std::filesystem::perms(0755));
    path_ = std::getenv("PATH");
    setenv("PATH", (directory_.string() + ":" + path_).c_str(), 1);
  }
  void TearDown() override {
    if (!path_.empty()) setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(directory_);
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }
  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(directory_ / name).rdbuf();
    return text.str();
  }
  Ended adopt(const std::string& options) const {
    return tempo("adopt --state-dir " + directory_.string() + ' ' + options);
  }

 private:
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / fmt::format("tempo_adopt_test_{}", getpid());
  std::string path_;
};

TEST_F(Adopt, SwitchesAndTakesItBack) {
  put("chrony.service", "active enabled\n");
  put("systemd-timesyncd.service", "enabled\n");

  const Ended check = adopt("--check");
  EXPECT_EQ(check.status, 1);
  EXPECT_EQ(check.out, "chrony.service (running, enabled)\nsystemd-timesyncd.service (enabled)\n");

  const Ended unasked = adopt("");
  EXPECT_EQ(unasked.status, 2);
  EXPECT_THAT(unasked.err, HasSubstr("nothing was changed; add --yes"));
  EXPECT_EQ(text_of("log"), "");

  const Ended done = adopt("--yes");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("'tempo adopt --undo' takes this back"));
  EXPECT_EQ(text_of("log"),
            "stop chrony.service\nmask chrony.service\n"
            "stop systemd-timesyncd.service\nmask systemd-timesyncd.service\n"
            "enable --now tempod.service\n");
  EXPECT_EQ(text_of("adopted"), "chrony.service active\nsystemd-timesyncd.service inactive\n");
  EXPECT_EQ(adopt("--check").status, 0);
  // A second time there is nothing to stop, and the first one can still be taken back.
  EXPECT_EQ(adopt("--yes").status, 0);
  EXPECT_EQ(text_of("adopted"), "chrony.service active\nsystemd-timesyncd.service inactive\n");

  put("log", "");
  const Ended undone = adopt("--undo --yes");
  EXPECT_EQ(undone.status, 0) << undone.err;
  EXPECT_EQ(text_of("log"),
            "disable --now tempod.service\nunmask chrony.service\nstart chrony.service\n"
            "unmask systemd-timesyncd.service\n");
  EXPECT_EQ(adopt("--check").status, 1);
  const Ended again = adopt("--undo --yes");
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("nothing to undo"));
}

TEST_F(Adopt, ReportsAFailedStepAndCanTakeItBack) {
  put("chrony.service", "active enabled\n");
  put("failing", "mask chrony.service");
  const Ended failed = adopt("--yes");
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.err, HasSubstr("'systemctl mask chrony.service' failed: Job failed."));
  EXPECT_THAT(text_of("log"), ::testing::Not(HasSubstr("tempod.service")));
  EXPECT_EQ(adopt("--undo --yes").status, 0);
  EXPECT_THAT(text_of("chrony.service"), HasSubstr("active"));
}

// A damaged file must not be taken for one without units: their masks would stay.
TEST_F(Adopt, RefusesADamagedRecord) {
  put("adopted", "chrony.service active\nrm -rf\n");
  const Ended refused = adopt("--undo --yes");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("cannot read the line 'rm -rf'"));
  EXPECT_EQ(text_of("log"), "");
}

TEST_F(Adopt, RefusesContradictingOptions) { EXPECT_EQ(adopt("--check --undo").status, 2); }

// tempod steered the clock beside chronyd, and its unit stopped chronyd without asking. The tempod
// of this test has no right to set the clock, in case that it starts.
TEST(OneTimeDaemon, MaySteerTheClock) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / fmt::format("tempo_one_daemon_{}", getpid());
  std::filesystem::create_directories(directory);
  std::filesystem::copy_file("/bin/sleep", directory / "chronyd");
  const auto start = [&](const std::string& clock) {
    return Child({"--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                  fmt::format("\"$0/chronyd\" 60 & exec timeout 2 setpriv --bounding-set -sys_time "
                              "{} --config /dev/null "
                              "--clock {} --state-dir \"$0\" --socket \"$0/sock\" --key-file '' "
                              "--user '' --port 5252 "
                              "--set 'bind=[\"127.77.1.1\"]'",
                              TEMPO_TEMPOD, clock),
                  directory.string()},
                 "/usr/bin/unshare")
        .wait();
  };
  const Ended refused = start("system");
  if (refused.status == 1 && refused.err.starts_with("unshare:"))
    GTEST_SKIP() << "skipped: no namespaces";
  EXPECT_EQ(refused.status, 3) << refused.err;
  EXPECT_THAT(refused.err,
              ::testing::ContainsRegex("chrony \\(process [0-9]+\\) already steers the clock"));
  EXPECT_THAT(refused.err, HasSubstr("sudo tempo adopt"));
  const Ended measures = start("none");
  EXPECT_THAT(measures.err, ::testing::Not(HasSubstr("already steers the clock")))
      << measures.status;
  EXPECT_NE(measures.status, 3);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tempo
