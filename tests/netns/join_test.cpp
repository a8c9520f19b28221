// `tempo invite` and `tempo join` between real machines: a token gives the keys once, and a machine
// without one learns nothing.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netns.h"
#include "protocol/auth/invitation.h"

namespace tempo::testbed {
namespace {

class Joining : public Netns {
 protected:
  void SetUp() override {
    Netns::SetUp();
    if (IsSkipped()) return;
    made_ = std::make_unique<Site>(keyed());
    for (int i = 0; i < 2; ++i) site().add({.arguments = {"--cluster", "lab"}});
    site().start_all();
    for (std::size_t i = 2; i < 4; ++i)
      site().add(
          {.keyless = true,
           .arguments = {"--config", fmt::format("{}/{}/tempo.toml", site().directory(), i + 1)}});
  }

  static Site::Options keyed() {
    Site::Options options = Netns::options();
    options.key = true;
    return options;
  }

  std::string invite(std::size_t member) {
    ipc::Request request;
    request.verb = ipc::Verb::invite;
    const auto reply = site().host(member).ask(request, 5s);
    if (!reply) return "refused: " + reply.error().message;
    const auto invited = ipc::invited_of(*reply);
    return invited ? invited->token : "no token";
  }

  // Runs `tempo join` on a newcomer; its exit status.
  int join(std::size_t newcomer, const std::string& token, std::vector<std::string> more = {}) {
    const Host& host = site().host(newcomer);
    std::vector<std::string> command{"ip",
                                     "netns",
                                     "exec",
                                     host.space(),
                                     TEMPO_BINARY,
                                     "join",
                                     token,
                                     "--config",
                                     host.directory() + "/tempo.toml",
                                     "--key-file",
                                     host.directory() + "/key"};
    command.insert(command.end(), more.begin(), more.end());
    return run(command);
  }

  bool has_key(std::size_t newcomer) {
    return std::filesystem::exists(site().host(newcomer).directory() + "/key");
  }
  std::uint64_t counter(std::size_t member, const std::string& name) {
    const auto status = site().host(member).status();
    return status ? status->counters.at(name) : 0;
  }

  Site& site() { return *made_; }

 private:
  std::unique_ptr<Site> made_;
};

TEST_F(Joining, ATokenMakesOneMachineAMember) {
  ASSERT_TRUE(site().wait(20s, [&] { return site().master() >= 0; })) << logs(site());
  const std::string token = invite(0);
  ASSERT_EQ(join(2, token), 0) << logs(site());
  EXPECT_EQ(std::filesystem::status(site().host(2).directory() + "/key").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::ifstream config(site().host(2).directory() + "/tempo.toml");
  const std::string text{std::istreambuf_iterator<char>(config), {}};
  EXPECT_NE(text.find("cluster = \"lab\"\n"), std::string::npos) << text;
  EXPECT_EQ(counter(0, "joined"), 1U);
  EXPECT_NE(site().host(0).log().find("has used an invitation"), std::string::npos) << logs(site());

  EXPECT_EQ(join(3, token, {"--timeout", "1500ms"}), 1) << "one use";
  EXPECT_FALSE(has_key(3));
  EXPECT_GE(counter(0, "joins_refused"), 1U);

  site().host(2).start();
  ASSERT_TRUE(site().wait(20s, [&] {
    const auto status = site().host(2).status();
    return site().master() >= 0 && status && status->status == "synchronized" &&
           status->authenticated && status->cluster == "lab";
  })) << logs(site());
}

// Broadcasts do not pass a router: the newcomer asks the addresses in the token. The machine of the
// member is the router too; its tempod has no network on that side.
TEST_F(Joining, ANewcomerBeyondARouterAsksTheAddressesInTheToken) {
  ASSERT_TRUE(site().wait(20s, [&] { return site().master() >= 0; })) << logs(site());
  const std::string member = site().host(0).address();
  const auto ip = [&](std::size_t host, std::vector<std::string> words) {
    words.insert(words.begin(), {"ip", "-n", site().host(host).space()});
    return run(words);
  };
  ASSERT_EQ(ip(2, {"address", "flush", "dev", "eth0"}), 0);
  ASSERT_EQ(ip(2, {"address", "add", "203.0.113.2/24", "dev", "eth0"}), 0);
  ASSERT_EQ(ip(2, {"route", "add", member, "via", "203.0.113.1"}), 0);
  ASSERT_EQ(ip(0, {"address", "add", "203.0.113.1/32", "dev", "eth0"}), 0);
  ASSERT_EQ(ip(0, {"route", "add", "203.0.113.0/24", "dev", "eth0"}), 0);
  const std::string token = invite(0);
  EXPECT_THAT(token, testing::HasSubstr("@" + member));
  EXPECT_EQ(join(2, token.substr(0, token.find('@')), {"--timeout", "1500ms"}), 1);
  EXPECT_EQ(join(2, token), 0) << logs(site());
  EXPECT_TRUE(has_key(2));
}

TEST_F(Joining, AWrongTokenIsAnsweredWithSilenceAndCounted) {
  ASSERT_TRUE(site().wait(20s, [&] { return site().master() >= 0; })) << logs(site());
  const std::string token = invite(0);
  // A token that nobody made: the first one of another cluster.
  const std::string other = "0000-0000-0000-0000-0000-0000-0000-0000";
  EXPECT_EQ(join(2, other), 2) << "its checksum is wrong";
  EXPECT_EQ(counter(0, "joins_refused"), 0U) << "nothing was sent";
  const std::string foreign = auth::token_text(auth::Token{std::byte{1}});
  EXPECT_EQ(join(2, foreign, {"--timeout", "1500ms"}), 1);
  EXPECT_FALSE(has_key(2));
  EXPECT_GE(counter(0, "joins_refused"), 1U);
  EXPECT_EQ(counter(0, "joined"), 0U);
  EXPECT_EQ(join(2, token, {"--peer", site().host(0).address()}), 0) << "its own token still works";
}

}  // namespace
}  // namespace tempo::testbed
