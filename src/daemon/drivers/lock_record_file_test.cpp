#include "daemon/drivers/lock_record_file.h"

#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/drivers/membership_file.h"
#include "platform/host.h"
#include "platform/whole_file.h"

namespace tempo::daemon {
namespace {

constexpr const char* kHere = "b1.0 m1";

TEST(LockRecordFile, IsReadByItsHostAndLossIsNoticed) {
  const std::string directory =
      std::filesystem::temp_directory_path() / ("tempo-locks-" + std::to_string(::getpid()));
  EXPECT_FALSE(read_lock_record(directory, HostId{0xabc}, kHere).record) << "there is none";
  ASSERT_TRUE(std::filesystem::create_directory(directory));
  const locks::LockRecord record{.host = HostId{0xabc},
                                 .place = kHere,
                                 .stage = locks::LockRecord::Stage::ready,
                                 .number = 1,
                                 .above = 77,
                                 .voters = {HostId{0xabc}}};
  ASSERT_TRUE(sys::write_record(lock_record_path(directory), record.text()));
  EXPECT_EQ(read_lock_record(directory, HostId{0xabc}, kHere).record, record);
  const SavedLocks of_other = read_lock_record(directory, HostId{0xabd}, kHere);
  EXPECT_FALSE(of_other.record);
  EXPECT_NE(of_other.lost.find("is the record of another machine"), std::string::npos)
      << "it may have replaced a record with votes";
  const SavedLocks copy = read_lock_record(directory, HostId{0xabc}, "b2.0 -");
  EXPECT_FALSE(copy.record);
  EXPECT_NE(copy.lost.find("is a copy"), std::string::npos) << copy.lost;
  EXPECT_EQ(copy.highest, 77U);
  EXPECT_EQ(highest_count_on_disk(directory, HostId{0xabc}), 77U);
  // A damaged record must not look like one that was never written: its host may have voted.
  ASSERT_TRUE(sys::replace_file(lock_record_path(directory), "tempo"));
  const SavedLocks damaged = read_lock_record(directory, HostId{0xabc}, kHere);
  EXPECT_FALSE(damaged.record);
  EXPECT_NE(damaged.lost, "");
  std::filesystem::remove_all(directory);
}

// Nothing here is exact about the place but that a copy of the directory is elsewhere.
TEST(LockRecordFile, ACopiedDirectoryIsAnotherPlace) {
  namespace fs = std::filesystem;
  const fs::path directory =
      fs::temp_directory_path() / ("tempo-place-" + std::to_string(::getpid()));
  const fs::path copy = directory.string() + "-copy";
  ASSERT_TRUE(fs::create_directory(directory));
  const std::string place = sys::place_of(directory);
  // The kernel's clock for files ticks seldom: directories of one tick have one birth time.
  for (int i = 0; i < 100'000 && (!fs::exists(copy) || sys::place_of(copy) == place); ++i) {
    fs::remove_all(copy);
    fs::copy(directory, copy, fs::copy_options::recursive);
  }
  fs::rename(directory, directory.string() + "-moved");
  EXPECT_TRUE(locks::same_place(place, sys::place_of(directory.string() + "-moved")))
      << "it was only renamed";
  EXPECT_FALSE(locks::same_place(place, sys::place_of(copy))) << place;
  fs::remove_all(directory.string() + "-moved");
  fs::remove_all(copy);
}

TEST(LockRecordFile, NoCountAndNoBootIsTakenBack) {
  using lock::lease::Boot;
  const auto record = [](std::uint32_t boot, std::uint64_t reserve) {
    return locks::LockRecord{.host = HostId{1},
                             .lease = locks::Saved{.boot = Boot{boot}, .reserve = reserve}};
  };
  EXPECT_EQ(regression(record(2, 10), record(2, 10)), "");
  EXPECT_EQ(regression(record(2, 10), record(3, 11)), "");
  EXPECT_NE(regression(record(2, 10), record(1, 11)), "");
  EXPECT_NE(regression(record(2, 10), record(3, 9)), "");
  EXPECT_NE(regression(record(2, 10), {.host = HostId{1}}), "");
  EXPECT_NE(regression(record(2, 10), {.host = HostId{2}, .lease = record(3, 11).lease}), "");
  EXPECT_EQ(regression({.host = HostId{1}}, record(1, 1)), "");
}

// --- the membership record, written in the same way ---

constexpr HostId kMember{7};

class MembershipFile : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "membership_file_test";
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static membership::Record record(std::uint64_t round) {
    membership::Record record{.self = membership::MemberId{3}};
    record.promised = {.round = round, .master = membership::MemberId{3}};
    return record;
  }
  Result<membership::Record> write(const membership::Record& record,
                                   const std::optional<membership::Record>& last = {}) {
    return write_membership(directory_, kMember, last,
                            membership_text(directory_, kMember, record));
  }

  std::string directory_;
};

TEST_F(MembershipFile, IsReadAsItWasWritten) {
  EXPECT_FALSE(read_membership(directory_, kMember).record);
  EXPECT_EQ(read_membership(directory_, kMember).lost, "");
  ASSERT_TRUE(write(record(5)));
  EXPECT_EQ(read_membership(directory_, kMember).record, record(5));
}

TEST_F(MembershipFile, IsLostOnAnotherMachine) {
  ASSERT_TRUE(write(record(5)));
  EXPECT_FALSE(read_membership(directory_, HostId{8}).record);
  EXPECT_NE(read_membership(directory_, HostId{8}).lost, "");
}

TEST_F(MembershipFile, IsLostInACopyOfTheDirectory) {
  ASSERT_TRUE(write(record(5)));
  const std::string copy = directory_ + "/copy";
  std::filesystem::create_directory(copy);
  // Two directories made in one tick of the kernel's clock have one time of birth.
  while (sys::place_of(copy) == sys::place_of(directory_)) {
    std::filesystem::remove(copy);
    std::filesystem::create_directory(copy);
  }
  std::filesystem::copy_file(membership_path(directory_), membership_path(copy));
  EXPECT_NE(read_membership(copy, kMember).lost, "");
}

TEST_F(MembershipFile, TakesNoPromiseBack) {
  EXPECT_FALSE(write(record(4), record(5)));
  EXPECT_FALSE(write_membership(directory_, kMember, std::nullopt, "nonsense"));
  EXPECT_FALSE(read_membership(directory_, kMember).record);
}

host::Records numbered(std::uint32_t locks, std::uint32_t membership) {
  return {.locks_number = locks, .membership_number = membership};
}

TEST(WritesInProgress, AreDoneWhenBothPartsAreWritten) {
  WritesInProgress writes;
  writes.begin(1, numbered(1, 0));
  writes.begin(2, numbered(1, 1));
  writes.begin(2, numbered(1, 1));  // repeated
  writes.begin(3, numbered(2, 1));
  EXPECT_EQ(writes.finish(0, 1), 0U);
  EXPECT_EQ(writes.finish(1, 1), 2U);
  EXPECT_EQ(writes.finish(1, 1), 0U);
  EXPECT_EQ(writes.finish(2, 1), 3U);
  EXPECT_TRUE(writes.empty());
}

// A disk that is full for a long time: the newest write stays.
TEST(WritesInProgress, AreBounded) {
  WritesInProgress writes;
  for (std::uint32_t i = 1; i <= 1000; ++i) writes.begin(i, numbered(i, 0));
  EXPECT_EQ(writes.finish(999, 0), 31U);
  EXPECT_EQ(writes.finish(1000, 0), 1000U);
}

}  // namespace
}  // namespace tempo::daemon
