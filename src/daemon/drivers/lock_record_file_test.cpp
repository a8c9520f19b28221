#include "daemon/drivers/lock_record_file.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "platform/whole_file.h"

namespace tempo::daemon {
namespace {

TEST(LockRecordFile, IsReadByItsHostAndLossIsNoticed) {
  const std::string directory =
      std::filesystem::temp_directory_path() / ("tempo-locks-" + std::to_string(::getpid()));
  EXPECT_FALSE(read_lock_record(directory, HostId{0xabc}).record) << "there is none";
  ASSERT_TRUE(std::filesystem::create_directory(directory));
  const locks::LockRecord record{
      .host = HostId{0xabc}, .stage = locks::LockRecord::Stage::ready, .voters = {HostId{0xabc}}};
  ASSERT_TRUE(sys::write_record(lock_record_path(directory), record.text()));
  EXPECT_EQ(read_lock_record(directory, HostId{0xabc}).record, record);
  const SavedLocks of_other = read_lock_record(directory, HostId{0xabd});
  EXPECT_FALSE(of_other.record);
  EXPECT_NE(of_other.lost.find("is the record of another machine"), std::string::npos)
      << "it may have replaced a record with votes";
  // A damaged record must not look like one that was never written: its host may have voted.
  ASSERT_TRUE(sys::replace_file(lock_record_path(directory), "tempo"));
  const SavedLocks damaged = read_lock_record(directory, HostId{0xabc});
  EXPECT_FALSE(damaged.record);
  EXPECT_NE(damaged.lost, "");
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tempo::daemon
