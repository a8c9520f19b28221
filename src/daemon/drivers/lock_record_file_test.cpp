#include "daemon/drivers/lock_record_file.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "platform/whole_file.h"

namespace tempo::daemon {
namespace {

TEST(LockRecordFile, IsReadOnlyByItsHost) {
  const std::string directory =
      std::filesystem::temp_directory_path() / ("tempo-locks-" + std::to_string(::getpid()));
  EXPECT_FALSE(read_lock_record(directory, HostId{0xabc})) << "there is none";
  ASSERT_TRUE(std::filesystem::create_directory(directory));
  const locks::LockRecord record{
      .host = HostId{0xabc}, .stage = locks::LockRecord::Stage::ready, .voters = {HostId{0xabc}}};
  ASSERT_TRUE(sys::replace_file(lock_record_path(directory), record.text()));
  EXPECT_EQ(read_lock_record(directory, HostId{0xabc}), record);
  EXPECT_FALSE(read_lock_record(directory, HostId{0xabd}));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tempo::daemon
