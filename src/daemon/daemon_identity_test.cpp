// Reading the cluster keys: nothing but an absent file at the default path means "no key". And the
// incarnations of a daemon whose state directory is not writable.
#include "daemon/daemon_identity.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/confinement.h"

namespace tempo::daemon {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class KeyFiles : public testing::Test {
 protected:
  KeyFiles() {
    std::string pattern = (fs::temp_directory_path() / "tempo-keys-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    settings_.key_file = directory_ + "/key";
  }
  ~KeyFiles() override { fs::remove_all(directory_); }

  void put(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(settings_.key_file) << text;
    ASSERT_EQ(::chmod(settings_.key_file.c_str(), mode), 0);
  }
  std::string error() const {
    const auto read = read_keys(settings_);
    return read ? "" : read.error();
  }

  const std::string key_ = "tempo-key-1 " + std::string(63, 'a') + "b\n";
  std::string directory_;
  config::Settings settings_;
};

TEST_F(KeyFiles, AreOptionalAtTheDefaultPath) {
  const auto none = read_keys(settings_);
  ASSERT_TRUE(none) << none.error();
  EXPECT_TRUE(none->keys.empty());
  settings_.key_file_given = true;
  EXPECT_THAT(error(), HasSubstr("key does not exist; create it with 'tempo keygen "));
  settings_.key_file.clear();
  EXPECT_TRUE(read_keys(settings_)->keys.empty());
}

TEST_F(KeyFiles, AreRead) {
  put(key_);
  const auto read = read_keys(settings_);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->keys.size(), 1U);
  EXPECT_EQ(read->text, key_);
}

// An empty or unreadable key file meant "no key": the daemon believed every sender.
TEST_F(KeyFiles, ThatCannotBeUsedAreErrors) {
  put("");
  EXPECT_THAT(error(), HasSubstr("contains no key; restore it"));
  put("# only a comment\n");
  EXPECT_THAT(error(), HasSubstr("contains no key"));
  put(key_, 0640);
  EXPECT_THAT(error(), HasSubstr("fix it with 'chmod 600 "));
  put(key_, 0604);
  EXPECT_THAT(error(), HasSubstr("fix it with 'chmod 600 "));
  put(key_ + std::string(5000, '#'));
  EXPECT_THAT(error(), HasSubstr("is larger than 4096 bytes"));
  fs::remove(settings_.key_file);
  fs::create_directory(settings_.key_file);
  EXPECT_THAT(error(), HasSubstr("is not a regular file"));
  fs::remove(settings_.key_file);
  fs::create_symlink(directory_ + "/gone", settings_.key_file);
  EXPECT_THAT(error(), HasSubstr("is a link to a file that does not exist"));
  fs::remove(settings_.key_file);
  fs::create_symlink(settings_.key_file, settings_.key_file);  // a loop: open() fails
  EXPECT_THAT(error(), HasSubstr("cannot read"));
}

TEST_F(KeyFiles, BelongToRootOrTheDaemon) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  put(key_);
  const auto daemon = sys::user_id("daemon");
  ASSERT_TRUE(daemon);
  ASSERT_EQ(::chown(settings_.key_file.c_str(), *daemon, 0), 0);
  EXPECT_THAT(error(), HasSubstr("fix it with 'chown root "));
  settings_.user = "daemon";
  EXPECT_EQ(error(), "");
}

// A reload with a lost key file turned authentication off.
TEST_F(KeyFiles, DoNotVanishInAReload) {
  put(key_);
  const auth::Keyring in_use = read_keys(settings_)->keys;
  EXPECT_TRUE(read_keys_again(settings_, in_use));
  fs::remove(settings_.key_file);
  const auto gone = read_keys_again(settings_, in_use);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error(), HasSubstr("restore the file, or restart tempod to run without a key"));
  settings_.key_file.clear();
  EXPECT_FALSE(read_keys_again(settings_, in_use));
  EXPECT_TRUE(read_keys_again(settings_, {})) << "there was none before";
}

TEST_F(KeyFiles, DoNotBeginToAcceptUnsealedDatagramsInAReload) {
  put("no-key open\n" + key_);
  EXPECT_TRUE(read_keys(settings_)->keys.accepts_unsealed()) << "at start the operator has decided";
  EXPECT_TRUE(read_keys_again(settings_, {})) << "the introduction of a first key";
  const auto again = read_keys_again(settings_, auth::Keyring(auth::new_key()));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error(), HasSubstr("remove the line 'no-key', or restart tempod"));
}

// A machine without a battery-backed clock boots in 1970; its clock starts at the last write.
TEST(FirstTime, IsNotBeforeTheLastWriteOfTheState) {
  DaemonIdentity identity;
  const WallTime written{1'800'000'000s};
  identity.clock_floor = written;
  identity.settings.clock = config::ClockKind::system;
  EXPECT_EQ(first_time(identity, WallTime{}), written);
  EXPECT_EQ(first_time(identity, written + 5s), written + 5s);
  for (const config::ClockKind clock : {config::ClockKind::none, config::ClockKind::software}) {
    identity.settings.clock = clock;
    EXPECT_EQ(first_time(identity, WallTime{}), WallTime{}) << "another program keeps this clock";
  }
}

// Two starts within a minute of such a boot: the second one knows the time of the last write too.
TEST(FirstTime, SurvivesAStartWithAClockThatWasReset) {
  std::string pattern = (fs::temp_directory_path() / "tempo-first-time-XXXXXX").string();
  const std::string directory = ::mkdtemp(pattern.data());
  const std::int64_t later = system_seconds() + 1'000'000;
  ASSERT_TRUE(write_state(directory, {.incarnation = 1, .written_s = later}));
  DaemonIdentity identity;
  identity.settings.state_dir = directory;
  identity.state = read_state(directory).state;
  EXPECT_TRUE(begin_incarnation(identity));
  EXPECT_EQ(read_state(directory).state.written_s, later);
  fs::remove_all(directory);
}

// A daemon that could not write its state chose the same incarnation when it was restarted within
// the same second.
TEST(Incarnations, AreNotRepeatedWithoutAWritableStateDirectory) {
  std::string pattern = (fs::temp_directory_path() / "tempo-incarnation-XXXXXX").string();
  const std::string directory = ::mkdtemp(pattern.data());
  DaemonIdentity first;
  first.settings.state_dir = directory;
  EXPECT_TRUE(begin_incarnation(first));
  DaemonIdentity next = first;
  next.state = read_state(directory).state;
  EXPECT_TRUE(begin_incarnation(next));
  EXPECT_LT(first.incarnation, next.incarnation) << "the record orders them";

  fs::remove_all(directory);
  std::set<Incarnation> seen;
  for (int start = 0; start < 20; ++start) {
    DaemonIdentity identity;
    identity.settings.state_dir = directory;
    const auto begun = begin_incarnation(identity);
    ASSERT_FALSE(begun);
    EXPECT_THAT(begun.error(), HasSubstr("make the state directory writable and restart tempod"));
    seen.insert(identity.incarnation);
  }
  EXPECT_EQ(seen.size(), 20U);
}

}  // namespace
}  // namespace tempo::daemon
