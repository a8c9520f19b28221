#include "platform/confinement.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>

#include <cap-ng.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/netlink.h>
#include <linux/ptp_clock.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "platform/descriptor.h"

namespace tempo::sys {
namespace {

// "EPERM", or the text of errno if the library has no name for it.
std::string error_name(int error) {
  const char* const name = strerrorname_np(error);
  return name != nullptr ? name : std::generic_category().message(error);
}

}  // namespace

Result<void> run_real_time(int priority, Children children) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  const int policy = SCHED_FIFO | (children == Children::ordinary ? SCHED_RESET_ON_FORK : 0);
  if (sched_setscheduler(0, policy, &parameters) != 0) {
    return std::unexpected(
        fmt::format("cannot get real-time priority {} ({}): tempod may run late under load; grant "
                    "CAP_SYS_NICE or raise RLIMIT_RTPRIO",
                    priority, error_name(errno)));
  }
  return {};
}

Result<void> lock_memory() {
  // With a limit, later mappings could fail.
  const rlimit none{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (setrlimit(RLIMIT_MEMLOCK, &none) != 0 ||
      mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) {
    return std::unexpected(
        fmt::format("cannot lock memory ({}): pages may be swapped out; raise RLIMIT_MEMLOCK "
                    "(LimitMEMLOCK=infinity) or grant CAP_SYS_RESOURCE",
                    error_name(errno)));
  }
  return {};
}

std::optional<uid_t> user_id(const std::string& name) {
  const passwd* const entry = name.empty() ? nullptr : getpwnam(name.c_str());
  return entry == nullptr ? std::nullopt : std::optional{entry->pw_uid};
}

Result<void> drop_privileges(const Privileges& privileges) {
  uid_t user = getuid();
  gid_t group = getgid();
  const passwd* const entry = privileges.user.empty() ? nullptr : getpwnam(privileges.user.c_str());
  if (entry == nullptr && !privileges.user.empty())
    return std::unexpected(fmt::format(
        "user '{}' does not exist; create it (systemd-sysusers) or set user = \"\" to run as root",
        privileges.user));
  if (entry != nullptr) {
    user = entry->pw_uid;
    group = entry->pw_gid;
  }
  if (capng_get_caps_process() != 0)
    return std::unexpected("cannot read the capabilities of this process");
  const auto had = [](unsigned capability) {
    return capng_have_capability(CAPNG_PERMITTED, capability) == 1;
  };
  const bool clock = privileges.set_clock && had(CAP_SYS_TIME);
  const bool port = privileges.bind_low_port && had(CAP_NET_BIND_SERVICE);
  const bool network = privileges.administer_network && had(CAP_NET_ADMIN);
  const bool bounding = had(CAP_SETPCAP);

  capng_clear(CAPNG_SELECT_BOTH);
  const auto keep = [](unsigned capability) {
    capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, capability);
    capng_update(CAPNG_ADD, CAPNG_PERMITTED, capability);
  };
  if (clock) keep(CAP_SYS_TIME);
  if (port) keep(CAP_NET_BIND_SERVICE);
  if (network) keep(CAP_NET_ADMIN);
  if (user != getuid()) {
    // libcap-ng documents that the flags can be combined, although the enum has no such value.
    // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange)
    const auto flags = static_cast<capng_flags_t>(CAPNG_INIT_SUPP_GRP | CAPNG_CLEAR_BOUNDING);
    const int failed = capng_change_id(static_cast<int>(user), static_cast<int>(group), flags);
    if (failed != 0) {
      return std::unexpected(fmt::format(
          "cannot switch to user '{}' (capng_change_id {}): start tempod as root, or set "
          "user = \"\" to keep the current user",
          privileges.user, failed));
    }
  } else if (capng_apply(bounding ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) != 0) {
    return std::unexpected("cannot drop the capabilities of this process");
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failure("no_new_privs");
  return {};
}

namespace {

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

// Calls of the event loop, of the C library, and for process exit.
constexpr std::array kAllowed{
    // Open descriptors.
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev),
    SCMP_SYS(close), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(fcntl), SCMP_SYS(fcntl64),
    SCMP_SYS(lseek), SCMP_SYS(_llseek), SCMP_SYS(fstat), SCMP_SYS(fstat64),
    // Sockets; kSockets lists the kinds.
    SCMP_SYS(bind), SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(shutdown), SCMP_SYS(getsockname),
    SCMP_SYS(getpeername), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(recvmsg),
    SCMP_SYS(recvfrom), SCMP_SYS(recv), SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(send),
    // Time.
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_gettime64), SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(clock_adjtime), SCMP_SYS(clock_adjtime64),
    SCMP_SYS(adjtimex), SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep),
    // Memory; PROT_EXEC is excluded below.
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
    // Signals and exit.
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigreturn),
    SCMP_SYS(restart_syscall), SCMP_SYS(tgkill), SCMP_SYS(exit), SCMP_SYS(exit_group),
    // Files, read-only.
    SCMP_SYS(stat), SCMP_SYS(stat64), SCMP_SYS(lstat), SCMP_SYS(newfstatat), SCMP_SYS(fstatat64),
    SCMP_SYS(statx), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    // Used by sanitizers to inspect stacks and memory; opens nothing.
    SCMP_SYS(sigaltstack), SCMP_SYS(pipe), SCMP_SYS(pipe2),
    // Process identity, system information, random numbers.
    SCMP_SYS(getpid), SCMP_SYS(pidfd_open), SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid),
    SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(uname), SCMP_SYS(sysinfo),
    SCMP_SYS(getrandom), SCMP_SYS(getrusage), SCMP_SYS(futex), SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(rseq), SCMP_SYS(set_robust_list)};

constexpr std::array kAllowedToWriters{
    SCMP_SYS(open),      SCMP_SYS(openat), SCMP_SYS(rename),   SCMP_SYS(renameat),
    SCMP_SYS(renameat2), SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),   SCMP_SYS(chmod),  SCMP_SYS(fchmod),   SCMP_SYS(fchmodat),
    SCMP_SYS(ftruncate), SCMP_SYS(fsync),  SCMP_SYS(fdatasync)};

// A call of socket(2).
struct SocketKind {
  int family = AF_UNSPEC;
  int type = 0;  // without its flags
  int protocol = 0;
};
constexpr std::array kSockets{SocketKind{AF_UNIX, SOCK_STREAM, 0},
                              SocketKind{AF_UNIX, SOCK_DGRAM, 0},
                              SocketKind{AF_INET, SOCK_DGRAM, 0},
                              SocketKind{AF_INET, SOCK_DGRAM, IPPROTO_UDP},
                              SocketKind{AF_INET6, SOCK_DGRAM, 0},
                              SocketKind{AF_INET6, SOCK_DGRAM, IPPROTO_UDP},
                              SocketKind{AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}};
constexpr std::array kHttpSockets{
    SocketKind{AF_INET, SOCK_STREAM, 0}, SocketKind{AF_INET, SOCK_STREAM, IPPROTO_TCP},
    SocketKind{AF_INET6, SOCK_STREAM, 0}, SocketKind{AF_INET6, SOCK_STREAM, IPPROTO_TCP}};

// libcurl resolves names in a thread and wakes its poll() by a pair of sockets.
constexpr std::array kAllowedToHttpClients{
    SCMP_SYS(sendmmsg), SCMP_SYS(recvmmsg),  SCMP_SYS(eventfd2),  SCMP_SYS(select),
    SCMP_SYS(pselect6), SCMP_SYS(prlimit64), SCMP_SYS(ugetrlimit)};

constexpr std::array kAllowedToHttpServers{SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
                                           SCMP_SYS(epoll_ctl)};

// Interface names, terminal detection for the log, and the clock of a network card.
constexpr std::array kIoctls{
    static_cast<unsigned long>(SIOCGIFINDEX), static_cast<unsigned long>(SIOCGIFNAME),
    static_cast<unsigned long>(SIOCGIFFLAGS), static_cast<unsigned long>(TCGETS),
    static_cast<unsigned long>(TIOCGWINSZ),   static_cast<unsigned long>(PTP_SYS_OFFSET_EXTENDED)};

constexpr unsigned long kWriting = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;

// -EDOM: this architecture does not have the call.
template <class... Conditions>
bool allow(const Filter& filter, int call, Conditions... conditions) {
  const int failed = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call,
                                      static_cast<unsigned>(sizeof...(conditions)), conditions...);
  return failed == 0 || failed == -EDOM;
}

scmp_arg_cmp none_of(unsigned argument, unsigned long bits) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = 0};
}

scmp_arg_cmp all_of(unsigned argument, unsigned long bits) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = bits};
}

scmp_arg_cmp equals(unsigned argument, unsigned long value) {
  return {.arg = argument, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};
}

bool allow(const Filter& filter, const SocketKind& kind) {
  constexpr unsigned long kTypeFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;
  return allow(filter, SCMP_SYS(socket), equals(0, static_cast<unsigned long>(kind.family)),
               scmp_arg_cmp{.arg = 1,
                            .op = SCMP_CMP_MASKED_EQ,
                            .datum_a = 0xffffffffUL & ~kTypeFlags,
                            .datum_b = static_cast<unsigned long>(kind.type)},
               equals(2, static_cast<unsigned long>(kind.protocol)));
}

// A filter cannot read the flags of clone3, so the C library has to use clone, which is allowed
// only for a thread of this process.
bool allow_http_client(const Filter& filter) {
  bool complete = true;
  for (const SocketKind& kind : kHttpSockets) complete &= allow(filter, kind);
  for (const int call : kAllowedToHttpClients) complete &= allow(filter, call);
  complete &= allow(filter, SCMP_SYS(socketpair), equals(0, AF_UNIX));
  complete &= allow(filter, SCMP_SYS(ioctl), equals(1, FIONREAD));
  complete &= allow(filter, SCMP_SYS(prctl), equals(0, PR_SET_NAME));
  complete &= allow(filter, SCMP_SYS(clone), all_of(0, CLONE_VM | CLONE_THREAD));
  return complete &&
         seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
}

}  // namespace

Result<void> filter_system_calls(const FilterOptions& options) {
  const Filter filter{seccomp_init(options.kill ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO(EPERM)),
                      &seccomp_release};
  if (filter == nullptr)
    return std::unexpected("cannot create the system call filter: out of memory");
  bool complete = true;
  for (const int call : kAllowed) complete &= allow(filter, call);
  for (const SocketKind& kind : kSockets) complete &= allow(filter, kind);
  if (options.connects || options.http_client || options.http_server)
    complete &= allow(filter, SCMP_SYS(connect));
  if (options.http_server)
    for (const int call : kAllowedToHttpServers) complete &= allow(filter, call);
  if (options.http_client) complete &= allow_http_client(filter);
  for (const unsigned long request : kIoctls)
    complete &= allow(filter, SCMP_SYS(ioctl), equals(1, request));
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(mprotect)})
    complete &= allow(filter, call, none_of(2, PROT_EXEC));
  if (options.writes_files) {
    for (const int call : kAllowedToWriters) complete &= allow(filter, call);
  } else {
    complete &= allow(filter, SCMP_SYS(open), none_of(1, kWriting));
    complete &= allow(filter, SCMP_SYS(openat), none_of(2, kWriting));
  }
  if (!complete)
    return std::unexpected("cannot create the system call filter: libseccomp rejected a rule");
  if (const int failed = seccomp_load(filter.get()); failed != 0)
    return failure("cannot load the system call filter", -failed);
  return {};
}

namespace {

// Reads the file itself: under the filter no module of the name service can be loaded.
std::string user_name(uid_t user) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen("/etc/passwd", "re"),
                                                             &std::fclose};
  while (const passwd* const entry = file == nullptr ? nullptr : fgetpwent(file.get()))
    if (entry->pw_uid == user) return entry->pw_name;
  return fmt::format("{}", user);
}

std::string status_field(std::string_view name) {
  std::ifstream file{"/proc/self/status"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name) && line.substr(name.size()).starts_with(":\t"))
      return line.substr(name.size() + 2);
  return "";
}

}  // namespace

Confinement confinement_in_force() {
  Confinement confinement{.user = user_name(geteuid())};
  std::uint64_t effective = 0;
  const std::string text = status_field("CapEff");
  std::from_chars(text.data(), text.data() + text.size(), effective, 16);
  for (unsigned capability = 0; capability < 64; ++capability) {
    if ((effective >> capability & 1U) == 0) continue;
    const char* const name = capng_capability_to_name(capability);
    confinement.capabilities.push_back(name == nullptr ? fmt::format("{}", capability) : name);
  }
  confinement.filter = status_field("Seccomp") == "2";
  return confinement;
}

}  // namespace tempo::sys
