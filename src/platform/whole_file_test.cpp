#include "platform/whole_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tempo::sys {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WholeFile : public testing::Test {
 protected:
  WholeFile() {
    std::string pattern = (fs::temp_directory_path() / "tempo-file-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    path_ = directory_ + "/record";
  }
  ~WholeFile() override { fs::remove_all(directory_); }

  void put(const std::string& path, const std::string& text) const { std::ofstream(path) << text; }
  std::string bytes_of(const std::string& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static mode_t mode_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777U;
  }

  std::string directory_;
  std::string path_;
};

TEST_F(WholeFile, ReadsHaveThreeAnswers) {
  EXPECT_EQ(read_file(path_, 10).state, FileState::absent);
  put(path_, "0123456789");
  EXPECT_EQ(read_file(path_, 10).state, FileState::good);
  EXPECT_EQ(read_file(path_, 10).text, "0123456789");
  EXPECT_EQ(read_file(path_, 9).state, FileState::lost);
  EXPECT_THAT(read_file(path_, 9).error, HasSubstr("is larger than 9 bytes"));
  EXPECT_EQ(read_file(directory_, 10).state, FileState::lost);
  EXPECT_EQ(read_file(path_ + "/below", 10).state, FileState::lost) << "the path is broken";
  fs::create_symlink(directory_ + "/nothing", directory_ + "/link");
  EXPECT_EQ(read_file(directory_ + "/link", 10).state, FileState::lost) << "the link is broken";
  put(path_, "");
  EXPECT_EQ(read_file(path_, 10).state, FileState::good);
}

// A reader that opens a FIFO would wait for a writer.
TEST_F(WholeFile, DoesNotWaitForAFifo) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(read_file(path_, 10).error, HasSubstr("is not a regular file"));
  EXPECT_THAT(read_secret(path_, 10, {}).error, HasSubstr("is not a regular file"));
}

TEST_F(WholeFile, ReadsSecretsOnlyOfTrustedOwners) {
  EXPECT_EQ(read_secret(path_, 10, {}).state, FileState::absent);
  put(path_, "key");
  const uid_t self = ::geteuid();
  const uid_t stranger = 4711;
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  EXPECT_EQ(read_secret(path_, 10, {&self, 1}).text, "key");
  for (const mode_t mode : {0640U, 0604U, 0620U, 0601U}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    EXPECT_EQ(read_secret(path_, 10, {&self, 1}).state, FileState::lost) << mode;
    EXPECT_THAT(read_secret(path_, 10, {&self, 1}).error, HasSubstr("chmod 600 " + path_));
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  if (self != 0) GTEST_SKIP() << "needs root to give a file away";
  ASSERT_EQ(::chown(path_.c_str(), stranger, 0), 0);
  EXPECT_EQ(read_secret(path_, 10, {&self, 1}).state, FileState::lost);
  EXPECT_THAT(read_secret(path_, 10, {&self, 1}).error, HasSubstr("belongs to user 4711"));
  EXPECT_EQ(read_secret(path_, 10, {&stranger, 1}).state, FileState::good);
}

// A planted link PATH.new would have made root overwrite the file that it points to.
TEST_F(WholeFile, DoesNotFollowALinkInPlaceOfTheNewFile) {
  const std::string victim = directory_ + "/victim";
  put(victim, "precious");
  fs::create_symlink(victim, path_ + ".new");
  ASSERT_TRUE(replace_file(path_, "text"));
  EXPECT_EQ(bytes_of(victim), "precious");
  EXPECT_FALSE(fs::is_symlink(path_));
  EXPECT_EQ(bytes_of(path_), "text");
  fs::create_symlink(victim, path_ + ".new");
  ASSERT_TRUE(write_record(path_, "text"));
  EXPECT_EQ(bytes_of(victim), "precious");
}

// With umask 077 the worker, which has another user, could not read what its parent had written.
TEST_F(WholeFile, DoesNotDependOnTheUmask) {
  const mode_t before = ::umask(077);
  const bool written = replace_file(path_, "a") && write_record(directory_ + "/other", "b");
  ::umask(before);
  ASSERT_TRUE(written);
  EXPECT_EQ(mode_of(path_), 0644U);
  EXPECT_EQ(mode_of(directory_ + "/other"), 0644U);
}

TEST_F(WholeFile, WritesSecretsForTheirOwnerOnly) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(write_secret(path_, "one", WriteMode::create));
  ::umask(before);
  EXPECT_EQ(mode_of(path_), 0600U);
  const auto again = write_secret(path_, "two", WriteMode::create);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error(), HasSubstr("it exists and was not changed"));
  EXPECT_EQ(bytes_of(path_), "one");
  ASSERT_TRUE(write_secret(path_, "two", WriteMode::replace));
  EXPECT_EQ(bytes_of(path_), "two");
  EXPECT_EQ(mode_of(path_), 0600U);
  EXPECT_FALSE(fs::exists(path_ + ".new"));
  ASSERT_TRUE(remove_file(path_));
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_FALSE(remove_file(path_));
}

TEST_F(WholeFile, LeavesNothingBehindIfItCannotWrite) {
  const auto written = replace_file("/nonexistent/record", "text");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error(), HasSubstr("cannot write /nonexistent/record.new"));
  fs::create_directory(path_);  // a file cannot replace it
  EXPECT_FALSE(replace_file(path_, "text"));
}

// --- records ---

TEST_F(WholeFile, RecordsRoundTrip) {
  EXPECT_EQ(read_record(path_, 100).state, FileState::absent);
  for (const std::string text : {"first\n", "", "third, without a newline", "fourth\n"}) {
    ASSERT_TRUE(write_record(path_, text));
    const Record record = read_record(path_, 100);
    EXPECT_EQ(record.state, FileState::good);
    EXPECT_EQ(record.text, text);
  }
  EXPECT_FALSE(fs::exists(path_ + ".new"));
}

// One changed digit in the record of a lock voter made it vote with an older token.
TEST_F(WholeFile, EveryChangedByteLosesARecord) {
  ASSERT_TRUE(write_record(path_, "token 7696614948869\n"));
  const std::string good = bytes_of(path_);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    put(path_, bad);
    EXPECT_EQ(read_record(path_, 100).state, FileState::lost) << i;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    put(path_, good.substr(0, size));
    EXPECT_EQ(read_record(path_, 100).state, FileState::lost) << "cut after " << size;
  }
  put(path_, good + "x");
  EXPECT_EQ(read_record(path_, 100).state, FileState::lost);
  put(path_, good);
  EXPECT_EQ(read_record(path_, 100).state, FileState::good);
}

TEST_F(WholeFile, ALostRecordHasItsPredecessor) {
  ASSERT_TRUE(write_record(path_, "one"));
  ASSERT_TRUE(write_record(path_, "two"));
  ASSERT_TRUE(write_record(path_, "three"));
  put(path_, "damaged");
  const Record record = read_record(path_, 100);
  EXPECT_EQ(record.state, FileState::lost);
  EXPECT_EQ(record.previous, "two");
  EXPECT_THAT(record.error, HasSubstr("record is damaged"));
}

// Removing one of the files must not look like a first start.
TEST_F(WholeFile, ARecordIsAbsentOnlyWithoutBothFiles) {
  ASSERT_TRUE(write_record(path_, "one"));
  ASSERT_TRUE(write_record(path_, "two"));
  fs::remove(path_);
  Record record = read_record(path_, 100);
  EXPECT_EQ(record.state, FileState::lost);
  EXPECT_EQ(record.previous, "one");
  EXPECT_THAT(record.error, HasSubstr("record is missing, but"));
  put(path_ + ".old", "damaged");
  record = read_record(path_, 100);
  EXPECT_EQ(record.state, FileState::lost);
  EXPECT_EQ(record.previous, std::nullopt);
  fs::remove(path_ + ".old");
  EXPECT_EQ(read_record(path_, 100).state, FileState::absent);
}

// A copy from a backup in the place of the record was taken for the newest one, although it was
// older than its predecessor.
TEST_F(WholeFile, AnOldCopyIsLost) {
  std::vector<std::string> copies;
  for (const char* text : {"one", "two", "three", "four"}) {
    ASSERT_TRUE(write_record(path_, text));
    copies.push_back(bytes_of(path_));
  }
  const std::string previous = bytes_of(path_ + ".old");
  for (std::size_t i = 0; i < 3; ++i) {
    put(path_, copies[i]);
    const Record record = read_record(path_, 100);
    EXPECT_EQ(record.state, FileState::lost) << i;
    EXPECT_EQ(record.previous, "three");
    EXPECT_THAT(record.error, HasSubstr("is an old copy"));
  }
  ASSERT_TRUE(write_record(path_, "five"));
  EXPECT_EQ(read_record(path_, 100).text, "five");
  EXPECT_EQ(bytes_of(path_ + ".old"), previous) << "an old copy replaces nothing";
}

TEST_F(WholeFile, AWriterThatDiedBetweenItsRenamesLosesNothing) {
  ASSERT_TRUE(write_record(path_, "one"));
  ASSERT_TRUE(write_record(path_, "two"));
  ASSERT_TRUE(write_record(path_, "three"));
  fs::rename(path_, path_ + ".new");
  EXPECT_EQ(read_record(path_, 100).text, "three");
  ASSERT_TRUE(write_record(path_, "four"));
  EXPECT_EQ(read_record(path_, 100).text, "four");
  put(path_, "damaged");
  EXPECT_EQ(read_record(path_, 100).previous, "three");
  // A file that a writer left behind earlier is not the next generation.
  fs::remove(path_);
  put(path_ + ".new", generation_text("nine", 9));
  EXPECT_EQ(read_record(path_, 100).state, FileState::lost);
}

TEST_F(WholeFile, ADamagedGenerationDoesNotReplaceAnIntactOne) {
  ASSERT_TRUE(write_record(path_, "one"));
  ASSERT_TRUE(write_record(path_, "two"));
  put(path_, "damaged");
  ASSERT_TRUE(write_record(path_, "three"));
  EXPECT_EQ(read_record(path_, 100).text, "three");
  put(path_, "damaged");
  EXPECT_EQ(read_record(path_, 100).previous, "one");
}

TEST(SpaceError, IsEmptyWhereFilesCanBeWritten) {
  EXPECT_EQ(space_error(std::filesystem::temp_directory_path().string()), "");
  EXPECT_EQ(space_error("/nonexistent"), "");
}

// /proc has no space at all, and says so with a size of zero.
TEST(SpaceError, AFileSystemWithoutASizeIsNotFull) { EXPECT_EQ(space_error("/proc"), ""); }

}  // namespace
}  // namespace tempo::sys
