// `tempod --standalone` runs on a simulated kernel that offers less than Linux.
#include "program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;

TEST(Standalone, LeadsOnALimitedKernel) {
  const std::string directory =
      (std::filesystem::temp_directory_path() / fmt::format("tempo-standalone-{}", getpid()))
          .string();
  std::filesystem::create_directory(directory);
  const int net = 64 + getpid() % 128;
  Child tempod(
      words_of(fmt::format(
          "LD_PRELOAD={} ASAN_OPTIONS=verify_asan_link_order=0 {} --standalone --config /dev/null "
          "--cluster standalone-{} --name narrow --profile fast --port {} --clock none --state-dir "
          "{} "
          "--set machine-id=\"narrow\" --set key-file=\"\" --set bind=[\"127.{}.8.1\"] "
          "--set broadcast=\"127.255.255.255\"",
          TEMPO_NARROW_KERNEL, TEMPO_TEMPOD, getpid(), 20'000 + getpid() % 10'000, directory, net)),
      "/usr/bin/env");
  const auto leads = [&] { return tempod.err().find("became-master") != std::string::npos; };
  EXPECT_TRUE(tempod.read_until(leads)) << tempod.err();
  kill(tempod.id(), SIGTERM);
  const Ended ended = tempod.wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
  std::filesystem::remove_all(directory);
}

// The limited kernel ends a program that makes any other call.
TEST(Standalone, IsRequiredThere) {
  const std::string directory =
      (std::filesystem::temp_directory_path() / fmt::format("tempo-required-{}", getpid()))
          .string();
  std::filesystem::create_directory(directory);
  Child tempod(words_of(fmt::format("LD_PRELOAD={} ASAN_OPTIONS=verify_asan_link_order=0 {} "
                                    "--config /dev/null --clock none --state-dir {} --set "
                                    "key-file=\"\"",
                                    TEMPO_NARROW_KERNEL, TEMPO_TEMPOD, directory)),
               "/usr/bin/env");
  const Ended ended = tempod.wait();
  EXPECT_EQ(ended.status, 86) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("narrow kernel: there is no "));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tempo
