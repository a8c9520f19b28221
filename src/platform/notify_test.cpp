#include "platform/notify.h"

#include <array>
#include <cstdlib>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/unix_address.h"

namespace tempo::sys {
namespace {

// A service manager that records the notifications.
class Manager {
 public:
  explicit Manager(std::string path) : path_(std::move(path)) {
    const auto address = unix_address(path_);
    EXPECT_TRUE(address);
    EXPECT_EQ(bind(socket_.number(), address->generic(), address->size), 0);
  }
  ~Manager() {
    if (path_.front() != '@') unlink(path_.c_str());
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  const std::string& path() const { return path_; }
  std::string received() const {
    pollfd polled{.fd = socket_.number(), .events = POLLIN, .revents = 0};
    if (poll(&polled, 1, 20'000) != 1) return "(nothing)";
    std::array<char, 512> buffer{};
    const ssize_t size = recv(socket_.number(), buffer.data(), buffer.size(), 0);
    return size < 0 ? "(failed)" : std::string(buffer.data(), static_cast<std::size_t>(size));
  }

 private:
  std::string path_;
  Descriptor socket_{socket(AF_UNIX, SOCK_DGRAM, 0)};
};

void sends_all(const Manager& manager) {
  Notifier notifier{manager.path(), 3s};
  EXPECT_TRUE(notifier.listening());
  EXPECT_EQ(notifier.watchdog(), Nanos{3s});
  notifier.ready("looking for a master");
  EXPECT_EQ(manager.received(), "READY=1\nSTATUS=looking for a master");
  notifier.alive();
  EXPECT_EQ(manager.received(), "WATCHDOG=1");
  notifier.status("follower of\nREADY=0");
  EXPECT_EQ(manager.received(), "STATUS=follower of READY=0");
  notifier.stopping();
  EXPECT_EQ(manager.received(), "STOPPING=1");
}

TEST(Notifier, NotifiesTheManager) {
  sends_all(Manager{fmt::format("/tmp/tempo-notify-{}", getpid())});
}

TEST(Notifier, NotifiesAnAbstractSocket) {
  sends_all(Manager{fmt::format("@tempo-notify-{}", getpid())});
}

TEST(Notifier, IsSilentWithoutAManager) {
  Notifier notifier{"", 3s};
  EXPECT_FALSE(notifier.listening());
  EXPECT_FALSE(notifier.watchdog());
  notifier.ready("unheard");
}

TEST(Notifier, SurvivesAMissingManager) {
  Notifier notifier{fmt::format("/tmp/tempo-notify-gone-{}", getpid())};
  notifier.ready("unheard");
  notifier.alive();
}

TEST(Notifier, ReadsTheEnvironment) {
  const Manager manager{fmt::format("@tempo-notify-environment-{}", getpid())};
  setenv("NOTIFY_SOCKET", manager.path().c_str(), 1);
  setenv("WATCHDOG_USEC", "2000000", 1);
  setenv("WATCHDOG_PID", fmt::format("{}", getpid()).c_str(), 1);
  Notifier notifier = Notifier::from_environment();
  EXPECT_EQ(notifier.watchdog(), Nanos{2s});
  notifier.alive();
  EXPECT_EQ(manager.received(), "WATCHDOG=1");
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  EXPECT_FALSE(Notifier::from_environment().listening());
}

TEST(Watchdog, AppliesToTheNamedProcess) {
  EXPECT_EQ(watchdog_of("1500", "", 7), Nanos{1500us});
  EXPECT_EQ(watchdog_of("1500", "7", 7), Nanos{1500us});
  EXPECT_EQ(watchdog_of("1500", "8", 7), std::nullopt);
  EXPECT_EQ(watchdog_of("", "", 7), std::nullopt);
  EXPECT_EQ(watchdog_of("0", "", 7), std::nullopt);
  EXPECT_EQ(watchdog_of("soon", "", 7), std::nullopt);
  EXPECT_EQ(watchdog_of("9223372036854775807", "", 7), std::nullopt);
}

// In an abstract name every byte counts; a path ends with a zero byte.
TEST(UnixAddress, HasTheLengthTheKernelExpects) {
  const auto abstract = unix_address("@name");
  ASSERT_TRUE(abstract);
  EXPECT_EQ(abstract->size, sizeof(sa_family_t) + 5);
  EXPECT_EQ(abstract->raw.sun_path[0], '\0');
  EXPECT_EQ(unix_address("/name")->size, sizeof(sa_family_t) + 6);
}

TEST(UnixAddress, HasALimit) {
  EXPECT_TRUE(unix_address(std::string(107, 'x')));
  EXPECT_FALSE(unix_address(std::string(108, 'x')));
  EXPECT_FALSE(unix_address(""));
}

}  // namespace
}  // namespace tempo::sys
