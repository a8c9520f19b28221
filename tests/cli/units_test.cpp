// The units of the package, checked by systemd itself.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "api/settings.h"
#include "platform/time_daemons.h"
#include "program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;

constexpr const char* kAnalyze = "/usr/bin/systemd-analyze";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

// The user and the group of tempod's worker.
TEST(Units, CreateTheUser) {
  constexpr const char* kSysusers = "/usr/bin/systemd-sysusers";
  if (access(kSysusers, X_OK) != 0) GTEST_SKIP() << "needs systemd-sysusers";
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / fmt::format("tempo_sysusers_test_{}", getpid());
  std::filesystem::create_directories(root / "etc");
  const Ended ended = Child({fmt::format("--root={}", root.string()),
                             std::string(TEMPO_PACKAGING) + "/tempo.sysusers"},
                            kSysusers)
                          .wait();
  const auto text_of = [&](const char* name) {
    std::ostringstream text;
    text << std::ifstream(root / "etc" / name).rdbuf();
    return text.str();
  };
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::string user = config::Settings{}.user;
  EXPECT_EQ(count('\n' + text_of("passwd"), '\n' + user + ":"), 1U) << text_of("passwd");
  EXPECT_EQ(count('\n' + text_of("group"), '\n' + user + ":"), 1U) << text_of("group");
  std::filesystem::remove_all(root);
}

std::string unit(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::string(TEMPO_PACKAGING) + '/' + name).rdbuf();
  return text.str();
}

// Without UMask the worker could not read its lock record under a strict umask of the system, and a
// short watchdog killed a worker that had only stood still.
TEST(Units, Confine) {
  for (const char* name :
       {"tempod.service", "tempo-etcd.service", "tempo-ntp.service", "tempo-vip.service"}) {
    const std::string text = unit(name);
    EXPECT_THAT(text, HasSubstr("\nSystemCallFilter=@system-service")) << name;
    EXPECT_THAT(text, HasSubstr("\nUMask=0022\n")) << name;
    EXPECT_THAT(text, HasSubstr("\nLimitNOFILE=1024\n")) << name;
    EXPECT_THAT(text, HasSubstr("\nNoNewPrivileges=yes\n")) << name;
  }
  for (const char* name : {"tempo-etcd.service", "tempo-ntp.service", "tempo-vip.service"})
    EXPECT_THAT(unit(name), HasSubstr("\nSystemCallFilter=~@privileged @resources\n")) << name;
  EXPECT_THAT(unit("tempod.service"), HasSubstr("\nWatchdogSec=2min\n"));
  const auto longest = config::load_settings("", false, {"locks.lease-ms=60000"});
  ASSERT_TRUE(longest);
  EXPECT_LT(longest->lock_lease, 2min);
  EXPECT_FALSE(config::load_settings("", false, {"locks.lease-ms=60001"})) << "a longer lease";
}

// Two programs that start with the machine would both start, if tempod did not start after the
// other.
TEST(Units, StartAfterOtherTimeDaemons) {
  const std::string text = unit("tempod.service");
  for (const sys::TimeDaemon& known : sys::known_time_daemons())
    if (!known.unit.empty()) {
      EXPECT_THAT(text, ::testing::ContainsRegex(fmt::format("\nAfter=.*{}", known.unit)));
    }
}

TEST(Units, AreValid) {
  if (access(kAnalyze, X_OK) != 0) GTEST_SKIP() << "needs systemd-analyze";
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / fmt::format("tempo_units_test_{}", getpid());
  std::filesystem::create_directories(directory);
  Words words{"verify", "--man=no"};
  // The units name the installed programs; the test has the built ones.
  const auto add = [&](const char* name, std::string_view installed, std::string_view built) {
    std::ofstream(directory / name) << replaced(unit(name), installed, built);
    words.push_back((directory / name).string());
  };
  add("tempod.service", "/usr/sbin/tempod", TEMPO_TEMPOD);
  add("tempo-wait-sync.service", "/usr/bin/tempo", TEMPO_BINARY);
  add("tempo-elect@.service", "/usr/bin/tempo", TEMPO_BINARY);
  add("tempo-leader@.target", "", "");  // runs no program
  add("tempo-etcd.service", "/usr/sbin/tempo-etcd", TEMPO_TEMPOD);
  add("tempo-ntp.service", "/usr/sbin/tempo-ntp", TEMPO_TEMPOD);
  add("tempo-vip.service", "/usr/sbin/tempo-vip", TEMPO_TEMPOD);
  add("tempo-web.service", "/usr/sbin/tempo-web", TEMPO_TEMPOD);
  add("tempo-vip-sleep.service", "/usr/sbin/tempo-vip", TEMPO_TEMPOD);
  const Ended ended = Child(words, kAnalyze).wait();
  std::filesystem::remove_all(directory);
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  // systemd-analyze only warns about a misspelt key.
  EXPECT_EQ(count(ended.out + ended.err, "tempo"), 0U) << ended.out << ended.err;
}

}  // namespace
}  // namespace tempo
