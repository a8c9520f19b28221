// Datagrams of local programs.
#include "daemon/drivers/unix_datagram.h"

#include <array>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/descriptor.h"
#include "platform/unix_address.h"

namespace tempo::daemon {
namespace {

using ::testing::HasSubstr;

class UnixDatagram : public ::testing::Test {
 protected:
  UnixDatagram() { std::filesystem::remove(path_); }
  ~UnixDatagram() override { std::filesystem::remove(path_); }

  bool send(std::size_t size) const {
    const auto to = sys::unix_address(path_);
    const std::array<std::byte, 100> bytes{};
    const sys::Descriptor socket{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    return ::sendto(socket.number(), bytes.data(), size, 0, to->generic(), to->size) ==
           static_cast<ssize_t>(size);
  }

  std::string path_ =
      std::filesystem::temp_directory_path() / fmt::format("tempo_datagram_test_{}", ::getpid());
  std::array<std::byte, 40> buffer_{};
};

TEST_F(UnixDatagram, ReceivesWithTheTrueSize) {
  const auto socket = UnixDatagramSocket::open(path_, std::nullopt);
  ASSERT_TRUE(socket) << socket.error();
  EXPECT_FALSE(socket->receive(buffer_));
  for (const std::size_t size : {40UL, 0UL, 41UL}) {
    ASSERT_TRUE(send(size));
    EXPECT_EQ(socket->receive(buffer_), size);
  }
  EXPECT_FALSE(socket->receive(buffer_));
}

TEST_F(UnixDatagram, LetsOnlyItsOwnerSend) {
  const auto socket = UnixDatagramSocket::open(path_, ::geteuid());
  ASSERT_TRUE(socket) << socket.error();
  struct stat file{};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
  EXPECT_EQ(file.st_uid, ::geteuid());
}

TEST_F(UnixDatagram, ReplacesADeadSocketAndRemovesItsOwn) {
  {
    const sys::Descriptor dead{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const auto address = sys::unix_address(path_);
    ASSERT_EQ(::bind(dead.number(), address->generic(), address->size), 0);
  }
  {
    const auto socket = UnixDatagramSocket::open(path_, std::nullopt);
    ASSERT_TRUE(socket) << socket.error();
    const auto second = UnixDatagramSocket::open(path_, std::nullopt);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error(), HasSubstr("another program listens on"));
    EXPECT_TRUE(send(40));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UnixDatagram, NeverReplacesAFile) {
  std::ofstream(path_) << "text";
  const auto socket = UnixDatagramSocket::open(path_, std::nullopt);
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error(), HasSubstr("is not a socket; remove it"));
  EXPECT_TRUE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace tempo::daemon
