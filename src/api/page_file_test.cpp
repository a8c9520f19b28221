// The page as a file: readers, refusals, and a new incarnation of the daemon.
#include "api/page_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tempo::page {
namespace {

using ::testing::HasSubstr;

class PageFile : public ::testing::Test {
 protected:
  PageFile() {
    char name[] = "/tmp/tempo_page_test_XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ / "tempod.page";
  }
  ~PageFile() override { std::filesystem::remove_all(directory_); }

  Writer writer() const {
    auto writer = Writer::open(path_);
    if (!writer) ADD_FAILURE() << writer.error();
    return *std::move(writer);
  }
  Reader reader() const {
    auto reader = Reader::open(path_);
    if (!reader) ADD_FAILURE() << reader.error();
    return *std::move(reader);
  }
  std::string refusal() const {
    const auto reader = Reader::open(path_);
    return reader ? "" : reader.error();
  }
  // One byte of the file changed.
  void corrupt(std::size_t at, char byte) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }

  std::filesystem::path directory_, path_;
};

Content fresh_content(WallTime shows) {
  const Moment moment = read_moment_closely();
  const ClockLine line{.shows = shows};
  return {.raw = moment.raw,
          .boot = moment.boot,
          .real = moment.real,
          .time = line,
          .earliest = line,
          .latest = line,
          .held_wander = 10e-6,
          .fresh = 1h,
          .lasts = 2h,
          .status = Status::synchronized};
}

TEST_F(PageFile, IsReadByOthers) {
  Writer page = writer();
  const Reader other = reader();
  EXPECT_EQ(other.now().status, Status::unsynchronized);  // nothing written yet
  page.write(fresh_content(WallTime{1000s}));
  const Reading now = other.now();
  EXPECT_EQ(now.status, Status::synchronized);
  EXPECT_GE(now.time, WallTime{1000s});
  EXPECT_EQ(::access(path_.c_str(), R_OK), 0);
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms{0644});
}

TEST_F(PageFile, ContinuesInTheNextIncarnation) {
  auto first = std::make_unique<Writer>(writer());
  const Reader other = reader();
  first->write(fresh_content(WallTime{1000s}));
  first.reset();
  EXPECT_EQ(other.now().status, Status::synchronized);
  Writer second = writer();
  second.write(fresh_content(WallTime{2000s}));
  EXPECT_GE(other.now().time, WallTime{2000s});
}

TEST_F(PageFile, IsInHoldoverWhenOrphaned) {
  Writer page = writer();
  const Reader other = reader();
  page.write(fresh_content(WallTime{1000s}));
  page.orphan();
  EXPECT_EQ(other.now().status, Status::holdover);
}

// A service manager empties the directory between stop and start.
TEST_F(PageFile, IsFoundAgainInANewFile) {
  Writer page = writer();
  const Reader other = reader();
  page.write(fresh_content(WallTime{1000s}));
  std::filesystem::remove(path_);
  Writer second = writer();
  second.write(fresh_content(WallTime{2000s}));
  EXPECT_LT(other.now().time, WallTime{2000s});  // its own page is still valid
  page.orphan();
  EXPECT_GE(other.now().time, WallTime{2000s});
}

TEST_F(PageFile, ReportsAMissingFile) {
  EXPECT_EQ(refusal(),
            "no time page at " + path_.string() + "; start tempod or give the path of its page");
}

TEST_F(PageFile, RefusesAnotherFile) {
  std::ofstream(path_) << std::string(4096, 'x');
  EXPECT_THAT(refusal(), HasSubstr("is not a time page"));
}

TEST_F(PageFile, RefusesAnotherVersion) {
  (void)writer();
  corrupt(8, 2);
  EXPECT_THAT(refusal(), HasSubstr("another version; use the libtempo that came with tempod"));
}

TEST_F(PageFile, RefusesATruncatedFile) {
  (void)writer();
  std::filesystem::resize_file(path_, sizeof(Page) - 1);
  EXPECT_THAT(refusal(), HasSubstr("is truncated; restart tempod"));
  std::filesystem::resize_file(path_, 7);
  EXPECT_THAT(refusal(), HasSubstr("is truncated"));
}

TEST_F(PageFile, RefusesAnEarlierBoot) {
  (void)writer();
  std::ifstream file(path_, std::ios::binary);
  file.seekg(16);
  const auto byte = static_cast<char>(file.get() ^ 1);
  corrupt(16, byte);
  EXPECT_THAT(refusal(), HasSubstr("from an earlier boot"));
}

// A daemon that starts replaces an unusable page.
TEST_F(PageFile, ReplacesAnUnusablePage) {
  (void)writer();
  const Reader old = reader();
  corrupt(8, 2);
  Writer page = writer();
  page.write(fresh_content(WallTime{1000s}));
  EXPECT_EQ(reader().now().status, Status::synchronized);
}

TEST_F(PageFile, NeedsItsDirectory) {
  const auto page = Writer::open(directory_ / "none" / "tempod.page");
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error(), HasSubstr("No such file"));
}

TEST(PagePath, IsNextToTheSocket) {
  EXPECT_EQ(path_for("/run/tempo/tempod.sock"), "/run/tempo/tempod.page");
  EXPECT_EQ(path_for("/tmp/t/control"), "/tmp/t/control.page");
  EXPECT_EQ(path_for("@tempod"), "");
}

}  // namespace
}  // namespace tempo::page
