// Lines of the log, as the journal and as a terminal get them.
#include "daemon/log.h"

#include <cstdio>
#include <memory>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tempo::daemon {
namespace {

// Restores the log of the other tests.
class Log : public testing::Test {
 protected:
  Log() : before_(spdlog::default_logger()) {}
  ~Log() override {
    open_log("tempod", false);
    spdlog::set_default_logger(before_);
  }

  static std::string lines(bool journal, const char* level) {
    testing::internal::CaptureStderr();
    open_log("tempod", journal);
    set_log_level(level);
    log_error("an error");
    log_warning("a warning");
    log_info("a line");
    log_debug("a detail");
    log_event("host-down", "bow is down");
    log_event("id-taken", "twins");
    log_event("became-master", "bow is master");
    return testing::internal::GetCapturedStderr();
  }

 private:
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(Log, HasPrioritiesInTheJournal) {
  EXPECT_EQ(lines(true, "debug"),
            "<3>an error\n<4>a warning\n<6>a line\n<7>a detail\n<4>host-down: bow is down\n"
            "<3>id-taken: twins\n<6>became-master: bow is master\n");
  EXPECT_EQ(lines(true, "warning"),
            "<3>an error\n<4>a warning\n<4>host-down: bow is down\n<3>id-taken: twins\n");
}

TEST_F(Log, HasTimesAndLevelsElsewhere) {
  const std::string text = lines(false, "error");
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_NE(text.find(" tempod error: an error\n"), std::string::npos);
  EXPECT_NE(text.find(" tempod error: id-taken: twins\n"), std::string::npos);
  EXPECT_EQ(text.find("a warning"), std::string::npos);
}

// A program that a service starts inherits JOURNAL_STREAM, also if it redirects standard error.
TEST_F(Log, IsForTheJournalOnlyOnItsStream) {
  struct stat here{};
  ASSERT_EQ(::fstat(STDERR_FILENO, &here), 0);
  EXPECT_TRUE(is_journal(fmt::format("{}:{}", here.st_dev, here.st_ino).c_str()));
  EXPECT_FALSE(is_journal(fmt::format("{}:{}", here.st_dev, here.st_ino + 1).c_str()));
  EXPECT_FALSE(is_journal("nonsense"));
  EXPECT_FALSE(is_journal(nullptr));
}

}  // namespace
}  // namespace tempo::daemon
