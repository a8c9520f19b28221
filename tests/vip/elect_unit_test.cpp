// tempo-elect@.service by the command that it runs: a program in the place of systemctl records
// what it would start and stop.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"
#include "support/site.h"

namespace tempo::testbed {
namespace {

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The ExecStart of the unit for the group `name`, as a line of a shell.
std::string command_of_unit(const std::string& name) {
  std::string text = text_of(std::string(TEMPO_PACKAGING) + "/tempo-elect@.service");
  text = text.substr(text.find("ExecStart=/usr/bin/tempo ") + 25);
  text = text.substr(0, text.find('\n'));
  for (std::size_t at = 0; (at = text.find("%i", at)) != std::string::npos;)
    text.replace(at, 2, name);
  return fmt::format("exec {} {}", TEMPO_BINARY, text);
}

TEST(ElectUnit, StartsTheTargetOnTheLeaderAndStopsItBeforeAnotherLeads) {
  if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  Site site({.tempod = TEMPO_TEMPOD,
             .arguments = {"--set", "locks.expect=3", "--set", "locks.lease-ms=1000"}});
  for (int i = 0; i < 3; ++i) site.add();
  site.start_all();
  const std::string log = site.directory() + "/systemctl.log";
  const auto run_unit = [&](std::size_t i) {
    const std::string tools = site.host(i).directory() + "/tools";
    std::filesystem::create_directories(tools);
    std::ofstream(tools + "/systemctl")
        << fmt::format("#!/bin/sh\necho {} $* >> {}\n", site.host(i).name(), log);
    std::filesystem::permissions(tools + "/systemctl", std::filesystem::perms(0755));
    return std::make_unique<Child>(
        Words{"netns", "exec", site.host(i).space(), "env",
              fmt::format("PATH={}:/usr/bin:/bin", tools),
              fmt::format("TEMPO_SOCKET={}", site.host(i).socket()),
              "OPTIONS=--criterion id --timeout 20s", "sh", "-c", command_of_unit("web")},
        "/usr/bin/ip");
  };
  auto first = run_unit(0);
  ASSERT_TRUE(site.wait(20s, [&] { return !text_of(log).empty(); }));
  EXPECT_EQ(text_of(log), "host1 start tempo-leader@web.target\n");
  auto second = run_unit(1);
  kill(first->id(), SIGTERM);
  const Ended ended = first->wait();
  ASSERT_TRUE(site.wait(20s, [&] { return text_of(log).find("host2") != std::string::npos; }))
      << text_of(log) << ended.err;
  EXPECT_EQ(text_of(log),
            "host1 start tempo-leader@web.target\nhost1 stop tempo-leader@web.target\n"
            "host2 start tempo-leader@web.target\n");
  kill(second->id(), SIGTERM);
  second->wait();
}

}  // namespace
}  // namespace tempo::testbed
