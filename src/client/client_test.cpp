// The client against a scripted daemon: replies, refusals, timeouts and every failure to connect.
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
  if (!client) ADD_FAILURE() << client.error().message;
  return *std::move(client);
}

TEST(Client, GetsReplies) {
  const FakeDaemon daemon({{"status", {ipc::status_line(R"({"name":"bow"})")}}});
  Client client = connected(daemon);
  for (int i = 0; i < 2; ++i) {
    const auto reply = client.ask(kStatus);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->body.at("status")->text_at("name"), "bow");
  }
  EXPECT_THAT(daemon.asked(), ElementsAre(R"({"v":1,"do":"status"})", R"({"v":1,"do":"status"})"));
}

TEST(Client, ReadsLargeReplies) {
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
  EXPECT_EQ(end.error().message, "tempod closed the connection at " + daemon.path() +
                                     "; see 'journalctl -u tempod' for the reason");
}

TEST(Client, TimesOut) {
  const FakeDaemon daemon({});
  Client client = connected(daemon, 20ms);
  const auto none = client.next(1ms);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const auto reply = client.ask(kStatus);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::no_answer);
  EXPECT_THAT(reply.error().message, HasSubstr("tempod did not answer within 20ms; check"));
}

TEST(Client, ReturnsRefusals) {
  const FakeDaemon daemon(
      {{"reelect", {ipc::refusal_line({ipc::Code::no_master, "no master on this network"})}},
       {"reelect", {ipc::refusal_line({ipc::Code::not_allowed, "use sudo"})}}});
  Client client = connected(daemon);
  const auto refused = client.ask(request_of(ipc::Verb::reelect));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  EXPECT_EQ(refused.error().message, "no master on this network");
  const auto reelect = client.ask(request_of(ipc::Verb::reelect));
  ASSERT_FALSE(reelect);
  EXPECT_EQ(reelect.error().code, ErrorCode::not_allowed);
}

TEST(Client, RejectsInvalidReplies) {
  const FakeDaemon daemon({Canned{"status", {"220 smtp.example ESMTP"}}});
  const auto reply = connected(daemon).ask(kStatus);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::bad_reply);
  EXPECT_EQ(reply.error().message,
            "invalid reply from tempod: not valid JSON; use the tempo that came with it");
}

TEST(Client, LimitsTheLengthOfAReply) {
  const FakeDaemon daemon({{"status", {std::string(ipc::kMaxReply + 70'000, 'x')}}});
  const auto reply = connected(daemon).ask(kStatus);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::bad_reply);
  EXPECT_THAT(reply.error().message, HasSubstr("its reply has no end of line"));
}

TEST(Connecting, ReportsAMissingSocket) {
  const auto client = Client::connect("/nonexistent/tempod.sock", 1s);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::not_running);
  EXPECT_EQ(client.error().message,
            "tempod is not running here (no socket /nonexistent/tempod.sock); start it with "
            "'systemctl start tempod' or give --socket");
}

// A killed daemon leaves its socket file.
TEST(Connecting, ReportsASocketWithoutListener) {
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
  EXPECT_THAT(client.error().message, HasSubstr("(no process listens on " + path + "); start it"));
}

TEST(Connecting, LimitsTheLengthOfThePath) {
  const auto client = Client::connect("/" + std::string(107, 'x'), 1s);
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("must be 1 to 107 bytes"));
  EXPECT_FALSE(Client::connect("", 1s));
}

// The listen queue is full, and nothing accepts connections.
TEST(Connecting, TimesOut) {
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
