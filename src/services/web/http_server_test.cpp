// The server with real sockets on the loopback: answers, refusals, event streams and limits. Time
// is the test's, so that no test waits for a limit.
#include "services/web/http_server.h"

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tempo::web {
namespace {

using ::testing::HasSubstr;

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    auto opened = HttpServer::open(*sys::Address::parse("127.0.0.1", 0), site_, model_.messages());
    if (!opened) throw std::runtime_error(opened.error());
    server_ = *std::move(opened);
  }
  ~HttpServerTest() override {
    for (const int client : clients_) ::close(client);
  }

  int connect() {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sys::Address to = server_->address();
    EXPECT_EQ(::connect(client, to.raw(), to.size()), 0);
    ::fcntl(client, F_SETFL, O_NONBLOCK);
    clients_.push_back(client);
    return client;
  }
  void send(int client, const std::string& text) {
    EXPECT_EQ(::send(client, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // Runs the server until `enough` holds, or for a second.
  template <class Enough>
  bool run_until(const Enough& enough) {
    for (int i = 0; i < 200; ++i) {
      server_->run(now_);
      if (enough()) return true;
      ::poll(nullptr, 0, 5);
    }
    return false;
  }
  // All that arrives until the text has `part` or the connection ends.
  std::string read_until(int client, const std::string& part) {
    std::string text;
    ended_ = false;
    run_until([&] {
      char buffer[4096];
      ssize_t got = 0;
      while ((got = ::recv(client, buffer, sizeof buffer, 0)) > 0)
        text.append(buffer, static_cast<std::size_t>(got));
      ended_ = got == 0 || (got < 0 && errno == ECONNRESET);
      return ended_ || text.find(part) != std::string::npos;
    });
    return text;
  }
  std::string get(const std::string& path, const std::string& method = "GET") {
    const int client = connect();
    send(client, method + ' ' + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return read_until(client, "\r\n\r\n\n");
  }

  Instant now_{100s};
  Model model_;
  Site site_{model_, {.hosts = {"localhost"}, .token = "", .page = ""}};
  std::unique_ptr<HttpServer> server_;
  std::vector<int> clients_;
  bool ended_ = false;
};

TEST_F(HttpServerTest, AnswersWithAStrictPolicy) {
  const std::string page = get("/");
  EXPECT_THAT(page, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self';"));
  EXPECT_THAT(page, HasSubstr("<title>tempo</title>"));
  EXPECT_THAT(get("/healthz"), HasSubstr("HTTP/1.1 503 "));
  EXPECT_THAT(get("/none"), HasSubstr("HTTP/1.1 404 "));
}

TEST_F(HttpServerTest, IsReadOnly) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT"})
    EXPECT_THAT(get("/api/v1/status", method), HasSubstr("HTTP/1.1 405 ")) << method;
}

TEST_F(HttpServerTest, ClosesGarbage) {
  for (const std::string& garbage :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 12), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\n\r\n"),
        "GET / HTTP/1.1\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n"}) {
    const int client = connect();
    send(client, garbage);
    EXPECT_THAT(read_until(client, "never"), ::testing::Not(HasSubstr("200 OK")));
  }
  EXPECT_THAT(get("/"), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, StreamsStateAndEvents) {
  const int client = connect();
  send(client, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(read_until(client, "\n\n"), HasSubstr("event: state\n"));
  model_.on_event({.name = "became-master", .at_ns = 7, .text = "bow is master"});
  EXPECT_THAT(read_until(client, "\n\n"),
              HasSubstr("event: event\ndata: {\"name\":\"became-master\",\"at_ns\":\"7\""));
  EXPECT_EQ(server_->streams(), 1U);
  now_ += HttpServer::kHeartbeat;
  EXPECT_THAT(read_until(client, ": alive"), HasSubstr(": alive\n"));
  ::shutdown(client, SHUT_RDWR);
  now_ += HttpServer::kHeartbeat;
  EXPECT_TRUE(run_until([&] {
    now_ += HttpServer::kHeartbeat;
    return server_->streams() == 0;
  }));
}

// One run sends all messages: the page was late by 100 ms for each message that waited.
TEST_F(HttpServerTest, SendsABurstOfMessagesAtOnce) {
  const int client = connect();
  send(client, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  read_until(client, "\n\n");
  for (int i = 0; i < 100; ++i)
    model_.on_event({.name = "a", .at_ns = i, .text = std::string(300, 'x')});
  server_->run(now_);
  std::string text;
  char buffer[65536];
  for (ssize_t got = 0; (got = ::recv(client, buffer, sizeof buffer, 0)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  EXPECT_THAT(text, HasSubstr("\"at_ns\":\"99\""));
}

TEST_F(HttpServerTest, DropsAReaderThatDoesNotRead) {
  const int client = connect();
  const int small = 4096;
  ::setsockopt(client, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  send(client, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(run_until([&] { return server_->streams() == 1; }));
  const std::string large(100'000, 'x');
  EXPECT_TRUE(run_until([&] {
    model_.on_event({.name = "a", .at_ns = 0, .text = large});
    now_ += 1s;
    return server_->streams() == 0;
  }));
}

// A client that sends its request byte by byte gets no more time than others.
TEST_F(HttpServerTest, GivesARequestLimitedTime) {
  const int slow = connect();
  for (const char c : std::string("GET / HT")) {
    ::send(slow, &c, 1, MSG_NOSIGNAL);  // fails when the server has closed the connection
    server_->run(now_);
    now_ += 1s;
  }
  read_until(slow, "never");
  EXPECT_TRUE(ended_);
}

TEST_F(HttpServerTest, ServesOthersWhenSilentClientsFillIt) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  for (unsigned i = 0; i < HttpServer::kMaxConnections + 40; ++i) {
    connect();
    now_ += 1ms;
    server_->run(now_);
  }
  EXPECT_LE(server_->connections(), HttpServer::kMaxConnections);
  EXPECT_THAT(get("/"), HasSubstr("200 OK"));
}

}  // namespace
}  // namespace tempo::web
