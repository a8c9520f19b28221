#include "platform/host.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace tempo::sys {
namespace {

constexpr const char* kId = "0123456789abcdef0123456789abcdef";

class Host : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tempo-host-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream{path} << text;
    return path;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator{directory_}, {}));
  }

  std::string directory_;
};

TEST_F(Host, UsesTheMachineId) {
  const MachineId id = machine_id({.machine_id = file("etc", std::string{kId} + "\n")});
  EXPECT_EQ(id.text, kId);
  EXPECT_EQ(id.source, MachineId::Source::machine_id);
}

TEST_F(Host, GeneratesAnIdOnce) {
  const MachineIdOptions options{.machine_id = directory_ + "/missing",
                                 .state_directory = directory_};
  const MachineId first = machine_id(options);
  EXPECT_EQ(first.source, MachineId::Source::state_file);
  EXPECT_EQ(first.text.size(), 32U);
  EXPECT_EQ(machine_id(options).text, first.text);
  EXPECT_EQ(files(), 1U);
}

TEST_F(Host, IgnoresIdsOfDiskImages) {
  for (const char* text : {"", "uninitialized\n", "00000000000000000000000000000000\n",
                           "0123456789ABCDEF0123456789abcdef\n", "0123\n"}) {
    const MachineId id = machine_id({.machine_id = file("etc", text)});
    EXPECT_EQ(id.source, MachineId::Source::host_name) << text;
    EXPECT_EQ(id.text, host_name());
  }
}

TEST_F(Host, ReplacesACorruptStateFile) {
  file("machine-id", "half of");
  const MachineIdOptions options{.machine_id = directory_ + "/missing",
                                 .state_directory = directory_};
  const MachineId id = machine_id(options);
  EXPECT_EQ(id.source, MachineId::Source::state_file);
  EXPECT_EQ(machine_id(options).text, id.text);
  EXPECT_EQ(files(), 1U);
}

TEST_F(Host, FallsBackToTheHostName) {
  const MachineId id = machine_id(
      {.machine_id = directory_ + "/missing", .state_directory = directory_ + "/nowhere"});
  EXPECT_EQ(id.source, MachineId::Source::host_name);
  EXPECT_EQ(id.text, host_name());
  EXPECT_FALSE(host_name().empty());
}

TEST(HostIds, AreStableAndDistinct) {
  EXPECT_EQ(host_id(kId), HostId{0xba4baad0acc99498});  // computed independently of this code
  EXPECT_NE(host_id(kId), kNoHost);
  std::set<HostId> seen;
  for (int number = 0; number < 10'000; ++number) seen.insert(host_id(std::to_string(number)));
  EXPECT_EQ(seen.size(), 10'000U);
}

TEST(KernelDraw, IsUniformBelowTheLimit) {
  KernelDraw draw;
  EXPECT_EQ(draw.below(1), 0U);
  std::array<int, 6> seen{};
  for (int count = 0; count < 6000; ++count) ++seen.at(draw.below(6));
  for (const int count : seen) EXPECT_NEAR(count, 1000, 250);  // eight standard deviations
  const Nanos span = draw.between(5s, 6s);
  EXPECT_GE(span, 5s);
  EXPECT_LE(span, 6s);
  // Above half of all numbers every second draw would be biased.
  constexpr std::uint64_t kHuge = 0xc000000000000000;
  for (int count = 0; count < 1000; ++count) EXPECT_LT(draw.below(kHuge), kHuge);
}

TEST(KernelDraw, DiffersFromThePrevious) {
  std::set<std::uint64_t> seen;
  for (int count = 0; count < 1000; ++count) seen.insert(kernel_random());
  EXPECT_EQ(seen.size(), 1000U);
}

}  // namespace
}  // namespace tempo::sys
