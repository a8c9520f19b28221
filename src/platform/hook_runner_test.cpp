#include "platform/hook_runner.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/confinement.h"

namespace tempo::sys {
namespace {

using testing::HasSubstr;
using testing::Not;

class Hooks : public testing::Test {
 protected:
  Hooks() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-hook-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    std::filesystem::permissions(directory_, std::filesystem::perms::all);
    hook_.program = directory_ + "/hook";
    std::ofstream(hook_.program) << "#!/bin/sh\n"
                                 << "{ env; id -u; echo \"arguments: $#\"; } > " << directory_
                                 << "/called\n";
    EXPECT_EQ(::chmod(hook_.program.c_str(), 0755), 0);
  }
  ~Hooks() override { std::filesystem::remove_all(directory_); }

  // Runs the hook to its end; returns its exit status, or -1 if it was not started.
  int run(const std::string& event, std::string_view text) {
    if (runner_.run(hook_, Instant{}, event, text) != HookRunner::Outcome::started) return -1;
    int status = 0;
    EXPECT_GT(::wait(&status), 0);
    runner_.ended();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string called() const {
    std::ostringstream text;
    text << std::ifstream(directory_ + "/called").rdbuf();
    return text.str();
  }

  std::string directory_;
  Hook hook_;
  HookRunner runner_{[] {}};
};

// The event came as arguments, so that a compromised worker could write on root's command line.
TEST_F(Hooks, GetTheEventInTheEnvironmentOnly) {
  ::setenv("SECRET_OF_THE_PARENT", "1", 1);
  ASSERT_EQ(run("became-master", "eth0: this machine\n is master, $(id) \x1b[2J\xc3\xa9"), 0);
  EXPECT_THAT(called(), HasSubstr("TEMPO_EVENT=became-master\n"));
  EXPECT_THAT(called(),
              HasSubstr("TEMPO_EVENT_TEXT=eth0: this machine  is master, $(id)  [2J\xc3\xa9\n"));
  EXPECT_THAT(called(), HasSubstr("arguments: 0\n"));
  EXPECT_THAT(called(), Not(HasSubstr("SECRET_OF_THE_PARENT")));
  ::unsetenv("SECRET_OF_THE_PARENT");
}

TEST_F(Hooks, RunOnlyForNamesOfEvents) {
  for (const char* name : {"", "Became", "a b", "x=y", "../x", "a\n", "e1"})
    EXPECT_EQ(runner_.run(hook_, Instant{}, name, "text"), HookRunner::Outcome::bad_event) << name;
  EXPECT_EQ(runner_.run(hook_, Instant{}, std::string(33, 'a'), ""),
            HookRunner::Outcome::bad_event);
}

TEST_F(Hooks, HaveTextsOfBoundedLength) {
  ASSERT_EQ(run("slept", std::string(100'000, 'x')), 0);
  EXPECT_THAT(called(), HasSubstr("TEXT=" + std::string(HookRunner::kMaxText, 'x') + "\n"));
}

// A compromised worker made the parent run the hook as root.
TEST_F(Hooks, RunAsTheirUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  hook_.user = "daemon";
  ASSERT_EQ(run("slept", ""), 0);
  EXPECT_THAT(called(), HasSubstr(std::to_string(*user_id("daemon")) + "\n"));
  hook_.user = "no-such-user";
  EXPECT_EQ(run("slept", ""), HookRunner::kNotSwitched);
  hook_.user = "daemon";
  hook_.program = directory_ + "/missing";
  EXPECT_EQ(run("slept", ""), HookRunner::kNotRun);
}

TEST_F(Hooks, AreLimited) {
  hook_.program = "/bin/true";
  int started = 0;
  for (int i = 0; i < 100; ++i)
    started += runner_.run(hook_, Instant{}, "slept", "") == HookRunner::Outcome::started ? 1 : 0;
  EXPECT_EQ(started, HookRunner::kMaxRunning);
  while (::wait(nullptr) > 0) runner_.ended();
  for (int i = 0; i < 100; ++i) started += run("slept", "") >= 0 ? 1 : 0;
  EXPECT_EQ(started, HookRunner::kBurst);
}

TEST(HookUser, IsNeverRootByDefault) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(user_of_hooks("", "daemon"), "daemon");
  EXPECT_EQ(user_of_hooks("nobody", "daemon"), "nobody");
  EXPECT_EQ(user_of_hooks("root", ""), "root");
  EXPECT_THAT(user_of_hooks("", "").error(), HasSubstr("the hook would run as root"));
  EXPECT_THAT(user_of_hooks("no-such-user", "").error(), HasSubstr("does not exist; create it"));
  EXPECT_FALSE(user_of_hooks("", "no-such-user"));
}

TEST(RateLimit, RefillsOneUsePerInterval) {
  RateLimit limit(3, 1s);
  const Instant start{1h};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.admit(start));
  EXPECT_FALSE(limit.admit(start));
  EXPECT_FALSE(limit.admit(start + 999ms));
  EXPECT_TRUE(limit.admit(start + 1s));
  EXPECT_FALSE(limit.admit(start + 1999ms));
  EXPECT_TRUE(limit.admit(start + 2s));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.admit(start + 1h));
  EXPECT_FALSE(limit.admit(start + 1h));
}

}  // namespace
}  // namespace tempo::sys
