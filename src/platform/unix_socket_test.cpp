#include "platform/unix_socket.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tempo::sys {
namespace {

constexpr int kLongestWaitMs = 20'000;

void wait_for(int descriptor, short events) {
  pollfd polled{.fd = descriptor, .events = events, .revents = 0};
  EXPECT_EQ(poll(&polled, 1, kLongestWaitMs), 1);
}

class UnixSocket : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tempo-socket-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/socket";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static Result<UnixListener> at(const std::string& path) { return UnixListener::open(path, 0660); }

  std::string directory_;
  std::string path_;
};

TEST_F(UnixSocket, AcceptsAndKnowsCredentials) {
  auto listener = at(path_);
  ASSERT_TRUE(listener) << listener.error();
  EXPECT_FALSE(listener->accept());
  auto client = connect_unix(path_);
  ASSERT_TRUE(client) << client.error();
  wait_for(listener->descriptor(), POLLIN);
  auto accepted = listener->accept();
  ASSERT_TRUE(accepted);
  const LineConnection connection{*std::move(accepted)};
  const auto peer = connection.peer();
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->process, getpid());
  EXPECT_EQ(peer->user, getuid());
  EXPECT_EQ(peer->group, getgid());
  EXPECT_FALSE(listener->accept());
}

// Without a free descriptor accept() failed, the listener stayed ready, and the loop of the daemon
// ran without a pause while its clients waited.
TEST_F(UnixSocket, RefusesConnectionsWithoutDescriptors) {
  auto listener = at(path_);
  ASSERT_TRUE(listener);
  auto first = connect_unix(path_);
  auto second = connect_unix(path_);
  ASSERT_TRUE(first && second);
  wait_for(listener->descriptor(), POLLIN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // The lowest free number is above all descriptors of the listener: only its spare can be used.
  const Descriptor probe{dup(0)};
  const rlimit full{.rlim_cur = static_cast<rlim_t>(probe.number()), .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &full), 0);
  for (const auto* const client : {&first, &second}) {
    EXPECT_FALSE(listener->accept());
    EXPECT_TRUE(listener->exhausted());
    wait_for((*client)->number(), POLLIN);
    char byte = 0;
    EXPECT_EQ(recv((*client)->number(), &byte, 1, 0), 0) << "the client is not left waiting";
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  auto third = connect_unix(path_);
  ASSERT_TRUE(third);
  wait_for(listener->descriptor(), POLLIN);
  EXPECT_TRUE(listener->accept());
  EXPECT_FALSE(listener->exhausted());
}

TEST_F(UnixSocket, FileHasTheModeAndIsRemoved) {
  {
    const auto listener = UnixListener::open(path_, 0606);
    ASSERT_TRUE(listener);
    struct stat file{};
    ASSERT_EQ(stat(path_.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777U, 0606U);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UnixSocket, ReplacesAStaleSocket) {
  {
    // A listener that exits without removing its file.
    const auto listener = at(path_);
    ASSERT_TRUE(listener);
    std::filesystem::rename(path_, path_ + ".kept");
  }
  std::filesystem::rename(path_ + ".kept", path_);
  ASSERT_TRUE(std::filesystem::exists(path_));
  const auto listener = at(path_);
  ASSERT_TRUE(listener) << listener.error();
  EXPECT_TRUE(connect_unix(path_));
}

TEST_F(UnixSocket, KeepsASocketInUse) {
  const auto first = at(path_);
  ASSERT_TRUE(first);
  const auto second = at(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(),
            path_ + " is in use: another process listens on it; stop it or choose another path");
  EXPECT_TRUE(connect_unix(path_));
}

TEST_F(UnixSocket, KeepsARegularFile) {
  std::ofstream{path_} << "precious";
  const auto listener = at(path_);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error(),
            path_ + " exists and is not a socket; remove it or choose another path");
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(UnixSocket, KeepsTheFileOfASuccessor) {
  auto first = at(path_);
  ASSERT_TRUE(first);
  std::filesystem::remove(path_);
  const auto second = at(path_);
  ASSERT_TRUE(second);
  {
    const UnixListener gone = *std::move(first);
  }
  EXPECT_TRUE(connect_unix(path_));
}

TEST_F(UnixSocket, ReportsWhyConnectFailed) {
  const auto client = connect_unix(path_);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error(), "connect " + path_ + ": No such file or directory");
  EXPECT_FALSE(at(directory_ + "/" + std::string(200, 'x')));
  EXPECT_FALSE(at(directory_ + "/nowhere/socket"));
}

class Lines : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    ASSERT_TRUE(make_plain(ends[0]));
    connection_ = LineConnection{Descriptor{ends[0]}};
    other_ = Descriptor{ends[1]};
  }
  void put(const std::string& text) const {
    ASSERT_EQ(send(other_.number(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
  }
  // Returns everything the peer can read without waiting.
  std::string taken() const {
    std::string all;
    std::array<char, 65536> some{};
    for (;;) {
      const ssize_t size = recv(other_.number(), some.data(), some.size(), MSG_DONTWAIT);
      if (size <= 0) return all;
      all.append(some.data(), static_cast<std::size_t>(size));
    }
  }

  LineConnection connection_{Descriptor{}};
  Descriptor other_;
};

TEST_F(Lines, AreReadOneByOne) {
  EXPECT_FALSE(connection_.line());
  put("one\ntw");
  EXPECT_EQ(connection_.line(), "one");
  EXPECT_FALSE(connection_.line());
  put("o\n\nthree\n");
  EXPECT_EQ(connection_.line(), "two");
  EXPECT_EQ(connection_.line(), "");
  EXPECT_EQ(connection_.line(), "three");
  EXPECT_FALSE(connection_.line());
  EXPECT_FALSE(connection_.finished());
  EXPECT_FALSE(connection_.broken());
}

TEST_F(Lines, LastNeedsNoNewline) {
  put("one\ntwo");
  shutdown(other_.number(), SHUT_WR);
  EXPECT_EQ(connection_.line(), "one");
  EXPECT_FALSE(connection_.finished());
  EXPECT_EQ(connection_.line(), "two");
  EXPECT_FALSE(connection_.line());
  EXPECT_TRUE(connection_.finished());
  EXPECT_FALSE(connection_.broken());
  // The answer still arrives.
  EXPECT_TRUE(connection_.write("answer"));
  EXPECT_EQ(taken(), "answer\n");
  EXPECT_EQ(connection_.events(), 0);
}

TEST_F(Lines, HaveALengthLimit) {
  const std::string longest(LineConnection::kMaxLine, 'x');
  for (const char* end : {"\n", "x\n"}) {
    std::string rest = longest + end;
    std::optional<std::string> line;
    while (!rest.empty() && !line && !connection_.broken()) {
      put(rest.substr(0, 5'000));
      rest.erase(0, std::min<std::size_t>(rest.size(), 5'000));
      line = connection_.line();
    }
    if (std::string_view{end} == "\n") {
      EXPECT_EQ(line, longest);
    } else {
      EXPECT_FALSE(line);
      EXPECT_STREQ(connection_.why(), "line too long");
    }
  }
}

TEST_F(Lines, AreFoundAfterALongOne) {
  put(std::string(14'000, 'x'));
  EXPECT_FALSE(connection_.line());
  put(std::string(2'000, 'x') + "\nshort\n" + std::string(10'000, 'y') + "\n");
  EXPECT_EQ(connection_.line()->size(), 16'000U);
  EXPECT_EQ(connection_.line(), "short");
  EXPECT_EQ(connection_.line()->size(), 10'000U);
}

// A caller that takes only some of the buffered lines must be called again although no more input
// arrives.
TEST_F(Lines, AlreadyBufferedAreReported) {
  EXPECT_EQ(connection_.events(), POLLIN);
  put("one\ntwo\nthr");
  EXPECT_EQ(connection_.line(), "one");
  EXPECT_EQ(connection_.events(), POLLOUT) << "the second line is buffered";
  EXPECT_EQ(connection_.line(), "two");
  EXPECT_EQ(connection_.events(), POLLIN) << "an incomplete line does not count";
  EXPECT_FALSE(connection_.line());
  EXPECT_EQ(connection_.events(), POLLIN);
  put("ee\nfour");
  shutdown(other_.number(), SHUT_WR);
  EXPECT_EQ(connection_.line(), "three");
  EXPECT_EQ(connection_.line(), "four");
  EXPECT_EQ(connection_.events(), 0);
}

TEST_F(Lines, AllowAFinalLineIfNothingWasCutOff) {
  put(std::string(LineConnection::kMaxLine + 1, 'x'));
  EXPECT_FALSE(connection_.line());
  ASSERT_TRUE(connection_.broken());
  EXPECT_TRUE(connection_.too_long());
  connection_.write_final("too long");
  EXPECT_EQ(taken(), "too long\n");
}

TEST_F(Lines, AllowNoFinalLineAfterACut) {
  while (connection_.queued() == 0) ASSERT_TRUE(connection_.write(std::string(1000, 'x')));
  put(std::string(LineConnection::kMaxLine + 1, 'x'));
  EXPECT_FALSE(connection_.line());
  ASSERT_TRUE(connection_.broken());
  taken();
  connection_.write_final("too long");
  EXPECT_EQ(taken(), "");
}

// A status of thousands of members is longer than the queue limit for several answers.
TEST_F(Lines, SingleLineMayExceedTheQueueLimit) {
  const std::string answer(2 * LineConnection::kMaxQueued, 'x');
  ASSERT_TRUE(connection_.write(answer));
  std::string all = taken();
  while (connection_.queued() > 0) {
    ASSERT_TRUE(connection_.flush());
    all += taken();
  }
  EXPECT_EQ(all, answer + '\n');
  while (connection_.queued() == 0) ASSERT_TRUE(connection_.write("short"));
  EXPECT_FALSE(connection_.write(answer)) << "but not behind other lines";
}

TEST_F(Lines, AreQueuedForASlowReaderUpToTheLimit) {
  const std::string text(1000, 'x');
  std::size_t written = 0;
  while (connection_.queued() == 0) {  // the kernel's buffer fills up first
    ASSERT_TRUE(connection_.write(text));
    ++written;
  }
  EXPECT_EQ(connection_.events(), POLLOUT) << "no input is read from a client that does not read";
  for (; connection_.queued() + 1001 <= LineConnection::kMaxQueued; ++written)
    ASSERT_TRUE(connection_.write(text));
  // A reader that catches up in time gets everything.
  std::string all;
  while (connection_.queued() > 0) {
    all += taken();
    ASSERT_TRUE(connection_.flush());
  }
  all += taken();
  EXPECT_EQ(all.size(), written * 1001);
  // A reader that does not is disconnected.
  bool open = true;
  for (int count = 0; count < 10'000 && open; ++count) open = connection_.write(text);
  EXPECT_FALSE(open);
  EXPECT_STREQ(connection_.why(), "client reads too slowly");
  EXPECT_EQ(connection_.queued(), 0U);
}

TEST_F(Lines, ToAClosedPeerRaiseNoSignal) {
  other_.close();
  EXPECT_FALSE(connection_.write("hello"));
  EXPECT_STREQ(connection_.why(), "peer closed the connection");
  EXPECT_FALSE(connection_.write("again"));
  EXPECT_FALSE(connection_.line());
}

}  // namespace
}  // namespace tempo::sys
