#include "platform/confinement.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/interfaces.h"
#include "platform/loop.h"
#include "platform/network.h"

namespace tempo::sys {
namespace {

// Dropped rights cannot be regained, so each test runs in a child. The exit status is 0 if all
// expectations hold.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() == 0 ? 0 : 1);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

// In a child: prints the failed expectation to stderr.
#define CHILD_EXPECT(condition)                                    \
  do {                                                             \
    if (!(condition)) {                                            \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      return 1;                                                    \
    }                                                              \
  } while (false)

bool refused(long result) { return result < 0 && errno == EPERM; }

TEST(Filter, AllowsTheDaemonsCalls) {
  const int status = in_child([] {
    const auto oscillator = real_oscillator();
    CHILD_EXPECT(filter_system_calls({}));
    auto network = Network::open({.label = "lo", .bind = {Address::parse("127.0.0.1", 0).value()}},
                                 *oscillator);
    CHILD_EXPECT(network);
    Loop loop{*oscillator};
    bool arrived = false;
    loop.watch((*network)->descriptors().front(), POLLIN,
               [&](short /*events*/) { arrived = arrived || (*network)->receive(); });
    loop.on_signal(SIGTERM, [] {});
    (*network)->send((*network)->bound().front(), {}, true);
    const Instant end = oscillator->now() + 20s;
    while (!arrived && oscillator->now() < end) loop.wait(end);
    CHILD_EXPECT(arrived);
    CHILD_EXPECT(interface_addresses().has_value());

    timex untouched{};
    CHILD_EXPECT(clock_adjtime(CLOCK_REALTIME, &untouched) >= 0);

    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHILD_EXPECT(listener >= 0);
    std::ifstream file{"/proc/self/status"};
    std::string line;
    CHILD_EXPECT(std::getline(file, line) && line.starts_with("Name:"));
    std::string big(1 << 22, 'x');
    CHILD_EXPECT(big.back() == 'x');
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Filter, DeniesOtherCalls) {
  const int status = in_child([] {
    CHILD_EXPECT(filter_system_calls({}));
    CHILD_EXPECT(refused(fork()));
    char* const arguments[] = {nullptr};
    CHILD_EXPECT(refused(execve("/bin/true", arguments, arguments)));
    CHILD_EXPECT(refused(open("/tmp/never", O_WRONLY | O_CREAT, 0600)));
    CHILD_EXPECT(refused(open("/dev/null", O_RDWR)));
    CHILD_EXPECT(refused(unlink("/tmp/never")));
    CHILD_EXPECT(refused(socket(AF_PACKET, SOCK_RAW, 0)));
    CHILD_EXPECT(refused(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)));
    CHILD_EXPECT(refused(socketpair(AF_UNIX, SOCK_STREAM, 0, std::array<int, 2>{}.data())));
    CHILD_EXPECT(refused(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)));
    CHILD_EXPECT(refused(kill(getppid(), 0)));
    CHILD_EXPECT(mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                 MAP_FAILED);
    return 0;
  });
  EXPECT_EQ(status, 0);
}

// A compromised worker could call any TCP service that its machine can reach.
TEST(Filter, DeniesTcp) {
  const int status = in_child([] {
    const int before = socket(AF_UNIX, SOCK_STREAM, 0);  // as if inherited
    CHILD_EXPECT(filter_system_calls({}));
    for (const int family : {AF_INET, AF_INET6}) {
      for (const int flags : {0, int{SOCK_CLOEXEC}, SOCK_CLOEXEC | SOCK_NONBLOCK}) {
        CHILD_EXPECT(refused(socket(family, SOCK_STREAM | flags, 0)));
        CHILD_EXPECT(refused(socket(family, SOCK_STREAM | flags, IPPROTO_TCP)));
        CHILD_EXPECT(refused(socket(family, SOCK_RAW | flags, IPPROTO_ICMP)));
        CHILD_EXPECT(refused(socket(family, SOCK_DGRAM | flags, IPPROTO_ICMP)));
        CHILD_EXPECT(refused(socket(family, SOCK_SEQPACKET | flags, IPPROTO_SCTP)));
        CHILD_EXPECT(socket(family, SOCK_DGRAM | flags, 0) >= 0 || errno == EAFNOSUPPORT);
      }
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    CHILD_EXPECT(
        refused(connect(before, reinterpret_cast<const sockaddr*>(&address), sizeof address)));
    CHILD_EXPECT(refused(listen(before, 1)));
    return 0;
  });
  EXPECT_EQ(status, 0);
}

// tempod of a cluster that keeps its locks in etcd calls tempo-etcd by a unix socket.
TEST(Filter, AllowsToConnectOnRequest) {
  const int status = in_child([] {
    CHILD_EXPECT(filter_system_calls({.connects = true}));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, "/nonexistent/socket");
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    CHILD_EXPECT(connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0);
    CHILD_EXPECT(errno == ENOENT);
    CHILD_EXPECT(refused(::socket(AF_INET, SOCK_STREAM, 0)));
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Filter, AllowsAnHttpServerNoNewTcpSocket) {
  const int status = in_child([] {
    const int waits = epoll_create1(EPOLL_CLOEXEC);
    CHILD_EXPECT(waits >= 0);
    CHILD_EXPECT(filter_system_calls({.http_server = true}));
    epoll_event event{.events = EPOLLIN, .data = {.fd = 0}};
    int ends[2];
    CHILD_EXPECT(pipe(ends) == 0);
    CHILD_EXPECT(epoll_ctl(waits, EPOLL_CTL_ADD, ends[0], &event) == 0);
    CHILD_EXPECT(epoll_wait(waits, &event, 1, 0) == 0);
    CHILD_EXPECT(refused(socket(AF_INET, SOCK_STREAM, IPPROTO_TCP)));
    CHILD_EXPECT(refused(fork()));
    CHILD_EXPECT(refused(open("/tmp/never", O_WRONLY | O_CREAT, 0600)));
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Filter, AllowsAnHttpClientTcpAndThreadsButNoPrograms) {
  const int status = in_child([] {
    CHILD_EXPECT(filter_system_calls({.http_client = true}));
    const int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
    CHILD_EXPECT(end >= 0);
    sockaddr_in nobody{};
    nobody.sin_family = AF_INET;
    nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    nobody.sin_port = htons(1);
    CHILD_EXPECT(connect(end, reinterpret_cast<const sockaddr*>(&nobody), sizeof nobody) < 0);
    CHILD_EXPECT(errno == ECONNREFUSED);
    addrinfo* found = nullptr;
    std::thread([&found] { (void)getaddrinfo("localhost", "80", nullptr, &found); }).join();
    CHILD_EXPECT(found != nullptr);
    CHILD_EXPECT(refused(listen(end, 1)));
    CHILD_EXPECT(refused(fork()));
    char* const arguments[] = {nullptr};
    CHILD_EXPECT(refused(execve("/bin/true", arguments, arguments)));
    CHILD_EXPECT(refused(open("/tmp/never", O_WRONLY | O_CREAT, 0600)));
    CHILD_EXPECT(refused(socket(AF_PACKET, SOCK_RAW, 0)));
    CHILD_EXPECT(refused(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)));
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Filter, AllowsWritingFiles) {
  char name[] = "/tmp/tempo-filter-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const std::string directory = name;
  const int status = in_child([&] {
    CHILD_EXPECT(filter_system_calls({.writes_files = true}));
    const std::string fresh = directory + "/fresh";
    const std::string kept = directory + "/kept";
    const int file = open(fresh.c_str(), O_WRONLY | O_CREAT, 0600);
    CHILD_EXPECT(file >= 0);
    CHILD_EXPECT(write(file, "x", 1) == 1);
    CHILD_EXPECT(rename(fresh.c_str(), kept.c_str()) == 0);
    CHILD_EXPECT(unlink(kept.c_str()) == 0);
    CHILD_EXPECT(refused(fork()));
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(rmdir(name), 0);
}

TEST(Filter, KillsOnRequest) {
  const int status = in_child([] {
    CHILD_EXPECT(filter_system_calls({.kill = true}));
    fork();
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

std::string own_status(const std::string& key) {
  std::ifstream file{"/proc/self/status"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
  }
  return "";
}

bool may_drop() { return geteuid() == 0 && getpwnam("nobody") != nullptr; }

TEST(Privileges, KeepTwoCapabilities) {
  if (!may_drop()) GTEST_SKIP() << "needs root and a user nobody";
  if (prctl(PR_CAPBSET_READ, CAP_SYS_TIME) != 1) GTEST_SKIP() << "needs CAP_SYS_TIME";
  const int status = in_child([] {
    const auto dropped = drop_privileges({.user = "nobody"});
    CHILD_EXPECT(dropped);
    CHILD_EXPECT(getuid() == getpwnam("nobody")->pw_uid);
    CHILD_EXPECT(getgid() == getpwnam("nobody")->pw_gid);
    // CAP_NET_BIND_SERVICE is 10, CAP_SYS_TIME 25.
    CHILD_EXPECT(own_status("CapEff") == "0000000002000400");
    CHILD_EXPECT(own_status("CapPrm") == "0000000002000400");
    CHILD_EXPECT(own_status("CapBnd") == "0000000000000000");
    CHILD_EXPECT(own_status("NoNewPrivs") == "1");
    CHILD_EXPECT(setuid(0) != 0);
    CHILD_EXPECT(open("/etc/shadow", O_RDONLY) < 0);
    CHILD_EXPECT(filter_system_calls({}));
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Privileges, CanBeNone) {
  if (!may_drop()) GTEST_SKIP() << "needs root and a user nobody";
  const int status = in_child([] {
    CHILD_EXPECT(drop_privileges({.user = "nobody", .set_clock = false, .bind_low_port = false}));
    CHILD_EXPECT(own_status("CapEff") == "0000000000000000");
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Privileges, StayEmptyWithoutRoot) {
  if (!may_drop()) GTEST_SKIP() << "needs root and a user nobody";
  const int status = in_child([] {
    CHILD_EXPECT(setgid(getpwnam("nobody")->pw_gid) == 0);
    CHILD_EXPECT(setuid(getpwnam("nobody")->pw_uid) == 0);
    CHILD_EXPECT(drop_privileges({.user = ""}));
    CHILD_EXPECT(own_status("CapEff") == "0000000000000000");
    CHILD_EXPECT(own_status("NoNewPrivs") == "1");
    CHILD_EXPECT(!drop_privileges({.user = "root"}));
    return 0;
  });
  EXPECT_EQ(status, 0);
}

// The daemon went on as root, with a warning.
TEST(Privileges, AreNotDroppedToAUserThatDoesNotExist) {
  const int status = in_child([] {
    const auto dropped = drop_privileges({.user = "no-such-user", .set_clock = true});
    CHILD_EXPECT(!dropped);
    CHILD_EXPECT(dropped.error().starts_with("user 'no-such-user' does not exist; create it"));
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Confinement, IsReportedAsInForce) {
  if (!may_drop()) GTEST_SKIP() << "needs root and a user nobody";
  EXPECT_EQ(confinement_in_force().user, "root");
  EXPECT_FALSE(confinement_in_force().filter);
  const int status = in_child([] {
    CHILD_EXPECT(drop_privileges({.user = "nobody", .set_clock = false}));
    CHILD_EXPECT(filter_system_calls({}));
    const Confinement confinement = confinement_in_force();
    CHILD_EXPECT(confinement.user == "nobody");
    CHILD_EXPECT(confinement.capabilities == std::vector<std::string>{"net_bind_service"});
    CHILD_EXPECT(confinement.filter);
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(RealTime, IsSchedFifo) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const int status = in_child([] {
    CHILD_EXPECT(run_real_time(1));
    CHILD_EXPECT(sched_getscheduler(0) == SCHED_FIFO);
    CHILD_EXPECT(!run_real_time(1000));
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Memory, IsLockedOnlyWithoutALimit) {
  EXPECT_EQ(in_child([] {
              const rlimit none{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
              const bool may = setrlimit(RLIMIT_MEMLOCK, &none) == 0;
              CHILD_EXPECT(lock_memory().has_value() == may);
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace tempo::sys
