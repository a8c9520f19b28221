#include "daemon/control/client_process.h"

#include <csignal>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tempo::daemon {
namespace {

pid_t sleeping_child() {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  return child;
}

TEST(ClientProcess, HasOneIdentityForEachProcess) {
  const auto self = ClientProcess::find(getpid());
  const auto again = ClientProcess::find(getpid());
  const pid_t child = sleeping_child();
  const auto other = ClientProcess::find(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(self && again && other);
  EXPECT_TRUE(self->runs());
  EXPECT_EQ(self->identity(), again->identity());
  EXPECT_NE(self->identity(), other->identity());
  EXPECT_EQ(self->identity() & ((1U << 22) - 1), static_cast<std::uint64_t>(getpid()));
}

TEST(ClientProcess, NoticesTheEnd) {
  const pid_t child = sleeping_child();
  const auto process = ClientProcess::find(child);
  ASSERT_TRUE(process);
  EXPECT_TRUE(process->runs());
  kill(child, SIGKILL);
  pollfd end{process->descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 20'000), 1);
  EXPECT_FALSE(process->runs());
  EXPECT_FALSE(ClientProcess::find(child)) << "it is dead, and its parent has not reaped it";
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(ClientProcess::find(child)) << "no such process";
}

TEST(ClientProcess, RefusesNumbersOfNoProcess) {
  EXPECT_FALSE(ClientProcess::find(0));
  EXPECT_FALSE(ClientProcess::find(-1));
}

}  // namespace
}  // namespace tempo::daemon
