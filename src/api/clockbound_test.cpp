// ClockBound's segment, read as its layout says and not by the code that writes it.
#include "api/clockbound.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tempo::doors {
namespace {

class TemporarySegment {
 public:
  TemporarySegment()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("tempo_clockbound_test_{}", ::getpid())) {
    std::filesystem::remove(path_);
  }
  ~TemporarySegment() { std::filesystem::remove(path_); }
  TemporarySegment(const TemporarySegment&) = delete;
  TemporarySegment& operator=(const TemporarySegment&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// The reader of ClockBound's clients: generation, copy, generation.
class Reader {
 public:
  explicit Reader(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* const memory = ::mmap(nullptr, 80, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) std::abort();
    memory_ = static_cast<unsigned char*>(memory);
  }
  ~Reader() { ::munmap(memory_, 80); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // False: a write was under way.
  bool read() {
    const std::uint16_t before = generation();
    for (std::size_t i = 0; i < copy_.size(); i += 8) {
      const auto word = std::atomic_ref<std::uint64_t>(
                            *reinterpret_cast<std::uint64_t*>(memory_ + i))  // mapped read-only
                            .load(std::memory_order_acquire);
      std::memcpy(copy_.data() + i, &word, sizeof word);
    }
    return before % 2 == 0 && before != 0 && generation() == before;
  }
  template <class T>
  T at(std::size_t offset) const {
    T value;
    std::memcpy(&value, copy_.data() + offset, sizeof value);
    return value;
  }
  std::uint16_t generation() const {
    return std::atomic_ref<std::uint16_t>(*reinterpret_cast<std::uint16_t*>(memory_ + 14))
        .load(std::memory_order_acquire);
  }

 private:
  unsigned char* memory_ = nullptr;
  std::array<unsigned char, 80> copy_{};
};

TEST(ClockBoundSegment, HasTheLayoutOfVersion2) {
  const TemporarySegment file;
  auto writer = ClockBoundWriter::open(file.path());
  ASSERT_TRUE(writer) << writer.error();
  writer->write({.as_of = 5s + 7ns,
                 .void_after = 1005s + 7ns,
                 .bound = 1234ns,
                 .max_drift_ppb = 50'000,
                 .status = ClockBound::synchronized});
  ASSERT_EQ(std::filesystem::file_size(file.path()), 80U);
  Reader reader(file.path());
  ASSERT_TRUE(reader.read());
  const unsigned char magic[] = {0x41, 0x4d, 0x5a, 0x4e, 0x43, 0x42, 0x02, 0x00};
  for (std::size_t i = 0; i < sizeof magic; ++i) EXPECT_EQ(reader.at<unsigned char>(i), magic[i]);
  EXPECT_EQ(reader.at<std::uint32_t>(8), 80U);
  EXPECT_EQ(reader.at<std::uint16_t>(12), 2U);
  EXPECT_EQ(reader.at<std::int64_t>(16), 5);
  EXPECT_EQ(reader.at<std::int64_t>(24), 7);
  EXPECT_EQ(reader.at<std::int64_t>(32), 1005);
  EXPECT_EQ(reader.at<std::int64_t>(40), 7);
  EXPECT_EQ(reader.at<std::int64_t>(48), 1234);
  EXPECT_EQ(reader.at<std::uint64_t>(56), 0U);
  EXPECT_EQ(reader.at<std::uint32_t>(64), 50'000U);
  EXPECT_EQ(reader.at<std::int32_t>(68), 1);
  EXPECT_EQ(reader.at<std::uint8_t>(72), 0U);
}

TEST(ClockBoundSegment, IsUnknownBeforeAndAfterItsWriter) {
  const TemporarySegment file;
  {
    auto writer = ClockBoundWriter::open(file.path());
    ASSERT_TRUE(writer) << writer.error();
    Reader reader(file.path());
    ASSERT_TRUE(reader.read());
    EXPECT_EQ(reader.at<std::int32_t>(68), 0);
    writer->write({.status = ClockBound::free_running});
    ASSERT_TRUE(reader.read());
    EXPECT_EQ(reader.at<std::int32_t>(68), 2);
  }
  Reader reader(file.path());
  ASSERT_TRUE(reader.read());
  EXPECT_EQ(reader.at<std::int32_t>(68), 0);
}

// Clients keep their mapping when tempod restarts; a writer that was killed left an odd generation.
TEST(ClockBoundSegment, IsContinuedByTheNextWriter) {
  const TemporarySegment file;
  {
    ASSERT_TRUE(ClockBoundWriter::open(file.path()));
  }
  Reader reader(file.path());
  {
    std::fstream broken(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    broken.seekp(14);
    const std::uint16_t odd = 7;
    broken.write(reinterpret_cast<const char*>(&odd), sizeof odd);
  }
  EXPECT_FALSE(reader.read());
  auto writer = ClockBoundWriter::open(file.path());
  ASSERT_TRUE(writer) << writer.error();
  EXPECT_TRUE(reader.read());
  EXPECT_EQ(reader.generation(), 8U);
}

TEST(ClockBoundSegment, WrapsItsGenerationTo2) {
  const TemporarySegment file;
  auto writer = ClockBoundWriter::open(file.path());
  ASSERT_TRUE(writer) << writer.error();
  const Reader reader(file.path());
  ASSERT_EQ(reader.generation(), 2U);
  for (int i = 0; i < 32766; ++i) writer->write({});
  EXPECT_EQ(reader.generation(), 65534U);
  writer->write({});
  EXPECT_EQ(reader.generation(), 2U);
}

TEST(ClockBoundSegment, NamesADirectoryThatIsMissing) {
  const auto writer = ClockBoundWriter::open("/nonexistent/shm0");
  ASSERT_FALSE(writer);
  EXPECT_EQ(
      writer.error(),
      "cannot write ClockBound's segment /nonexistent/shm0 (No such file or directory); create "
      "its directory and let tempod write it, or remove doors.clockbound");
}

// Every state that is written has equal numbers; a torn copy would mix two of them.
TEST(ClockBoundSegment, IsNeverTornInAMillionWrites) {
  constexpr std::int64_t kWrites = 1'000'000;
  const TemporarySegment file;
  auto writer = ClockBoundWriter::open(file.path());
  ASSERT_TRUE(writer) << writer.error();
  std::atomic<bool> done{false};
  std::int64_t reads = 0, torn = 0, last = 0, back = 0;
  std::thread other([&] {
    Reader reader(file.path());
    while (!done.load()) {
      if (!reader.read()) continue;
      ++reads;
      const auto number = reader.at<std::int64_t>(16);
      const bool equal = reader.at<std::int64_t>(24) == number % 1'000'000'000 &&
                         reader.at<std::int64_t>(32) == number &&
                         reader.at<std::int64_t>(48) == number &&
                         reader.at<std::uint32_t>(64) == static_cast<std::uint32_t>(number);
      torn += equal ? 0 : 1;
      back += number < last ? 1 : 0;
      last = number;
    }
  });
  for (std::int64_t i = 0; i < kWrites; ++i) {
    const Nanos time = std::chrono::seconds{i} + Nanos{i};
    writer->write({.as_of = time,
                   .void_after = time,
                   .bound = Nanos{i},
                   .max_drift_ppb = static_cast<std::uint32_t>(i),
                   .status = ClockBound::synchronized});
  }
  done = true;
  other.join();
  EXPECT_GT(reads, 100);
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(back, 0);
}

}  // namespace
}  // namespace tempo::doors
