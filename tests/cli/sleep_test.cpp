// A suspended machine rejoins as a new member.
#include "program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TwoDaemons : public ::testing::Test {
 protected:
  TwoDaemons() {
    for (const char* name : {"bow", "stern"})
      std::filesystem::create_directories(directory_ + "/" + name);
  }
  ~TwoDaemons() override { std::filesystem::remove_all(directory_); }

  std::string directory() const { return directory_; }
  std::string slept() const { return directory_ + "/slept"; }
  Words daemon(const std::string& name, int number, const std::string& environment) const {
    return words_of(fmt::format(
        "{} ASAN_OPTIONS=verify_asan_link_order=0 {} --config /dev/null --cluster sleep-{} "
        "--name {} --profile fast --port {} --clock none --state-dir {}/{} --socket {}/{}/socket "
        "--set user=\"\" --set realtime=false --set machine-id=\"{}\" --set key-file=\"\" "
        "--set log-level=debug "
        "--set bind=[\"127.{}.7.{}\"] --set broadcast=\"127.255.255.255\"",
        environment, TEMPO_TEMPOD, getpid(), name, 20'000 + getpid() % 10'000, directory_, name,
        directory_, name, name, 64 + getpid() % 128, number));
  }

 private:
  std::string directory_ =
      (std::filesystem::temp_directory_path() / fmt::format("tempo-sleep-{}", getpid())).string();
};

// The master is suspended for five seconds: its parent process announces it, the other machine
// takes over, and the former master rejoins as a new member.
TEST_F(TwoDaemons, ASuspendedMasterRejoinsAsANewMember) {
  Child bow(
      daemon("bow", 1, fmt::format("LD_PRELOAD={} TEMPO_SLEPT={}", TEMPO_SLEEPY_KERNEL, slept())),
      "/usr/bin/env");
  const auto logged = [](const Child& child, std::string_view what) {
    return child.err().find(what) != std::string::npos;
  };
  ASSERT_TRUE(bow.read_until([&] { return logged(bow, "became-master"); })) << bow.err();
  Child stern(daemon("stern", 2, "UNUSED="), "/usr/bin/env");
  ASSERT_TRUE(stern.read_until([&] { return logged(stern, "-> follower"); })) << stern.err();
  ASSERT_THAT(stern.err(), Not(HasSubstr("became-master")));

  std::ofstream(slept()) << "12345";
  ASSERT_TRUE(stern.read_until([&] { return logged(stern, "became-master"); })) << stern.err();
  ASSERT_TRUE(bow.read_until([&] { return logged(bow, "-> follower"); })) << bow.err();
  EXPECT_THAT(bow.err(), HasSubstr("slept: suspended for 5s; rejoining as a new member"));
  EXPECT_THAT(bow.err(), HasSubstr("machine was suspended; starting a new worker"));
  EXPECT_THAT(bow.err(), Not(HasSubstr("error")));
  EXPECT_EQ(count(bow.err(), "slept: suspended"), 1U);
  for (Child* child : {&bow, &stern}) {
    kill(child->id(), SIGTERM);
    EXPECT_EQ(child->wait().status, 0);
  }
}

}  // namespace
}  // namespace tempo
