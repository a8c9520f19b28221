#include "platform/directory_lock.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tempo::sys {
namespace {

using testing::HasSubstr;

TEST(DirectoryLock, IsExclusive) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "tempo-directory-XXXXXX").string();
  const std::string path = ::mkdtemp(pattern.data());
  {
    const auto first = lock_directory(path, 0s);
    ASSERT_TRUE(first) << first.error();
    const auto second = lock_directory(path, 0s);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error(), HasSubstr(path + " is in use by another process; stop it"));
  }
  EXPECT_TRUE(lock_directory(path, 0s)) << "the lock ends with its descriptor";
  EXPECT_TRUE(std::filesystem::is_empty(path));
  std::filesystem::remove(path);
  const auto none = lock_directory(path, 0s);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error(), HasSubstr("No such file or directory; create it"));
}

}  // namespace
}  // namespace tempo::sys
