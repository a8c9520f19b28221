// Against a daemon that answers from a list: what arrives, and every way in which nothing does.
#include "client/client.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/client_test_daemon.h"

namespace tempo::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ipc::Request kStatus{};

ipc::Request request_of(ipc::Verb verb) { return {.verb = verb, .by_ns = {}, .to_ns = {}}; }

Client connected(const FakeDaemon& daemon, Nanos timeout = 30s) {
  auto client = Client::connect(daemon.path(), timeout);
  if (!client) ADD_FAILURE() << client.error().sentence;
  return *std::move(client);
}

TEST(Client, AsksAndIsAnswered) {
  const FakeDaemon daemon({{"status", {ipc::status_line(R"({"name":"bow"})")}}});
  Client client = connected(daemon);
  for (int i = 0; i < 2; ++i) {
    const auto reply = client.ask(kStatus);
    ASSERT_TRUE(reply) << reply.error().sentence;
    EXPECT_EQ(reply->body.at("status")->text_at("name"), "bow");
  }
  EXPECT_THAT(daemon.asked(), ElementsAre(R"({"v":1,"do":"status"})", R"({"v":1,"do":"status"})"));
}

TEST(Client, ReadsAnswersOfAnySize) {
  const std::string name(300'000, 'x');
  const FakeDaemon daemon({{"status", {ipc::status_line("{\"name\":\"" + name + "\"}")}}});
  const auto reply = connected(daemon).ask(kStatus);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body.at("status")->text_at("name"), name);
}

TEST(Client, ReadsAStreamUntilItEnds) {
  const FakeDaemon daemon(
      {{"trace-follow", {ipc::trace_line("a"), ipc::trace_line("b")}, Then::close}});
  Client client = connected(daemon);
  ASSERT_TRUE(client.send(request_of(ipc::Verb::trace_follow)));
  for (const char* expected : {"a", "b"}) {
    const auto reply = client.next(30s);
    ASSERT_TRUE(reply && *reply);
    EXPECT_EQ(ipc::trace_of(**reply), expected);
  }
  const auto end = client.next(30s);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::not_running);
  EXPECT_EQ(end.error().sentence, "tempod closed the connection at " + daemon.path() +
                                      "; see why with 'journalctl -u tempod'");
}

TEST(Client, SaysWhenNothingComes) {
  const FakeDaemon daemon({});
  Client client = connected(daemon, 20ms);
  const auto none = client.next(1ms);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const auto reply = client.ask(kStatus);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::no_answer);
  EXPECT_THAT(reply.error().sentence, HasSubstr("tempod does not answer within 20ms; see what"));
}

TEST(Client, PassesOnWhatTheDaemonRefuses) {
  const FakeDaemon daemon(
      {{"resign", {ipc::refusal_line({ipc::Code::not_master, "only a master can resign"})}},
       {"reelect", {ipc::refusal_line({ipc::Code::not_allowed, "use sudo"})}}});
  Client client = connected(daemon);
  const auto resign = client.ask(request_of(ipc::Verb::resign));
  ASSERT_FALSE(resign);
  EXPECT_EQ(resign.error().code, ErrorCode::refused);
  EXPECT_EQ(resign.error().sentence, "only a master can resign");
  const auto reelect = client.ask(request_of(ipc::Verb::reelect));
  ASSERT_FALSE(reelect);
  EXPECT_EQ(reelect.error().code, ErrorCode::not_allowed);
}

TEST(Client, RefusesNonsense) {
  const FakeDaemon daemon({Canned{"status", {"220 smtp.example ESMTP"}}});
  const auto reply = connected(daemon).ask(kStatus);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::nonsense);
  EXPECT_EQ(reply.error().sentence,
            "tempod's answer cannot be understood: not valid JSON; use the tempo that came with "
            "it");
}

TEST(Client, EndsALineThatDoesNotEnd) {
  const FakeDaemon daemon({{"status", {std::string(ipc::kMaxReply + 70'000, 'x')}}});
  const auto reply = connected(daemon).ask(kStatus);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::nonsense);
  EXPECT_THAT(reply.error().sentence, HasSubstr("its line does not end"));
}

TEST(Connecting, SaysThatThereIsNoSocket) {
  const auto client = Client::connect("/nonexistent/tempod.sock", 1s);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::not_running);
  EXPECT_EQ(client.error().sentence,
            "tempod is not running here (no socket /nonexistent/tempod.sock); start it with "
            "'systemctl start tempod' or give --socket");
}

// A socket file that a killed daemon left.
TEST(Connecting, SaysThatNobodyListens) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("tempo_client_test_" + std::to_string(getpid()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int left = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(left);
  const auto client = Client::connect(path, 1s);
  std::filesystem::remove(path);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::not_running);
  EXPECT_THAT(client.error().sentence, HasSubstr("(nobody listens at " + path + "); start it"));
}

TEST(Connecting, KnowsHowLongAPathMayBe) {
  const auto client = Client::connect("/" + std::string(107, 'x'), 1s);
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().sentence, HasSubstr("it has 1 to 107 bytes"));
  EXPECT_FALSE(Client::connect("", 1s));
}

// Nobody is let in: the queue of callers is full.
TEST(Connecting, DoesNotWaitForEver) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("tempo_client_test_" + std::to_string(getpid()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 0), 0);
  const auto first = Client::connect(path, 1s);
  EXPECT_TRUE(first);
  const auto second = Client::connect(path, 10ms);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::no_answer);
  close(listener);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tempo::client
