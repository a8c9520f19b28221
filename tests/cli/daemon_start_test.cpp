// Starts of tempod that must fail: nothing that protects the daemon is given up silently.
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <sys/stat.h>

#include "program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;

class DaemonStart : public testing::Test {
 protected:
  DaemonStart() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-start-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    for (const char* name : {"/one", "/two"}) std::filesystem::create_directory(directory_ + name);
  }
  ~DaemonStart() override {
    std::error_code ignored;  // a daemon that ends may remove its socket at the same time
    std::filesystem::remove_all(directory_, ignored);
  }

  // A daemon on the loopback interface; `more` overrides its settings.
  Words words(const std::string& state, const std::string& more = "") const {
    Words all = words_of(fmt::format(
        "--config /dev/null --cluster start-{0} --profile fast --port {1} --clock none "
        "--set state-dir={2}/{3} --set socket={2}/{3}/sock --set user=\"\" --set key-file=\"\" "
        "--set machine-id=\"{3}\" --set realtime=false --set bind=[\"127.{4}.11.{5}\"]",
        getpid(), 20'000 + getpid() % 10'000, directory_, state, 64 + getpid() % 128,
        state == "one" ? 1 : 2));
    for (const std::string& word : words_of(more)) all.push_back(word);
    return all;
  }
  static bool ready(Child& tempod) {
    return tempod.read_until(
        [&] { return tempod.err().find("became-master") != std::string::npos; });
  }
  std::string key() const { return directory_ + "/key"; }
  void put_key(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(key()) << text;
    ASSERT_EQ(chmod(key().c_str(), mode), 0);
  }
  const std::string good_key_ = "tempo-key-1 " + std::string(63, 'a') + "b\n";
  std::string directory_;
};

// An empty or unreadable key file meant "no key", at the start and in a reload.
TEST_F(DaemonStart, FailsWithoutAUsableKey) {
  const auto start = [&] {
    return Child(words("one", "--key-file " + key()), TEMPO_TEMPOD).wait();
  };
  Ended ended = start();
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("key does not exist; create it with 'tempo keygen"));
  put_key("");
  ended = start();
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("contains no key"));
  put_key(good_key_, 0644);
  ended = start();
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("'chmod 600 " + key()));
}

TEST_F(DaemonStart, RefusesClassicModeWithAKey) {
  put_key(good_key_);
  const Ended ended =
      Child(words("one", "--set mode=classic --key-file " + key()), TEMPO_TEMPOD).wait();
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("mode = \"classic\" and key-file exclude each other: TSP has "
                                   "no authentication"));
}

TEST_F(DaemonStart, KeepsItsKeysInAReload) {
  put_key(good_key_);
  Child tempod(words("one", "--key-file " + key()), TEMPO_TEMPOD);
  ASSERT_TRUE(ready(tempod)) << tempod.err();
  const auto reloads = [&](std::string_view expected) {
    const std::size_t before = tempod.err().size();
    kill(tempod.id(), SIGHUP);
    return tempod.read_until(
        [&] { return tempod.err().find(expected, before) != std::string::npos; });
  };
  EXPECT_TRUE(reloads("reloaded: 1 cluster key")) << tempod.err();
  put_key("");
  EXPECT_TRUE(reloads("contains no key")) << tempod.err();
  EXPECT_THAT(tempod.err(), HasSubstr("; nothing was changed"));
  put_key(good_key_, 0604);
  EXPECT_TRUE(reloads("'chmod 600 ")) << tempod.err();
  std::filesystem::remove(key());
  EXPECT_TRUE(reloads("key does not exist")) << tempod.err();
  const Ended status = Child({"status", "--json", "--socket", directory_ + "/one/sock"}).wait();
  EXPECT_EQ(data_of(status.out)["keys"], 1) << status.out << status.err;
}

// Two daemons with one state directory had one identity and overwrote each other's records.
TEST_F(DaemonStart, FailsIfAnotherDaemonUsesTheStateDirectory) {
  Child first(words("one"), TEMPO_TEMPOD);
  ASSERT_TRUE(ready(first)) << first.err();
  const std::string one = directory_ + "/one";
  const Ended second = Child(words("two", "--state-dir " + one), TEMPO_TEMPOD).wait();
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err, HasSubstr(one + " is in use by another process"));
  // The lock ends with its daemon, also if that is killed.
  kill(first.id(), SIGKILL);
  first.wait();
  Child third(words("one"), TEMPO_TEMPOD);
  EXPECT_TRUE(ready(third)) << third.err();
}

TEST_F(DaemonStart, FailsIfTheControlSocketIsInUse) {
  Child first(words("one"), TEMPO_TEMPOD);
  ASSERT_TRUE(ready(first)) << first.err();
  const Ended second =
      Child(words("two", fmt::format("--socket {}/one/sock", directory_)), TEMPO_TEMPOD).wait();
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err, HasSubstr("sock is in use: another process listens on it"));
  EXPECT_EQ(Child({"status", "--socket", directory_ + "/one/sock"}).wait().status, 0);
}

TEST_F(DaemonStart, FailsWithoutAStateDirectory) {
  const Ended ended = Child(words("one", "--state-dir /nonexistent/state"), TEMPO_TEMPOD).wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("cannot open the directory /nonexistent/state"));
}

// Without the user the daemon went on as root, with a warning.
TEST_F(DaemonStart, FailsWithoutItsUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const Ended ended = Child(words("one", "--user no-such-user"), TEMPO_TEMPOD).wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("user 'no-such-user' does not exist; create it"));
}

TEST_F(DaemonStart, FailsIfItsHookWouldRunAsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const Ended ended = Child(words("one", "--hook /bin/true"), TEMPO_TEMPOD).wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("the hook would run as root"));
  Child tempod(words("one", "--hook /bin/true --set hook-user=\"root\""), TEMPO_TEMPOD);
  EXPECT_TRUE(ready(tempod)) << tempod.err();
}

TEST_F(DaemonStart, ShowsItsConfinement) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  std::filesystem::permissions(directory_, std::filesystem::perms(0755));
  for (const bool filter : {true, false}) {
    Child tempod(words("one", fmt::format("--user daemon --set system-call-filter={}", filter)),
                 TEMPO_TEMPOD);
    ASSERT_TRUE(ready(tempod)) << tempod.err();
    const Ended status = Child({"status", "--json", "--socket", directory_ + "/one/sock"}).wait();
    const json shown = data_of(status.out);
    EXPECT_EQ(shown["user"], "daemon") << status.out;
    EXPECT_EQ(shown["capabilities"], json::array({"net_bind_service"}));
    EXPECT_EQ(shown["system_call_filter"], filter);
    kill(tempod.id(), SIGTERM);
    EXPECT_EQ(tempod.wait().status, 0);
  }
}

}  // namespace
}  // namespace tempo
