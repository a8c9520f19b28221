// Confinement of the daemon: priority, memory, privileges, system calls.
//
// Call each once, in this order, after the sockets are open: real-time priority and locked memory,
// which need privileges; then drop_privileges (another user, at most two capabilities); then the
// system call filter. Each returns a Result. Without priority and locked memory a daemon is less
// precise; without the other two it must not run, unless its configuration says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace tempo::sys {

enum class Children : std::uint8_t {
  same,
  ordinary
};  // scheduling of child processes: same policy or ordinary

// SCHED_FIFO with a priority of 1 to 99.
Result<void> run_real_time(int priority, Children children = Children::same);
Result<void> lock_memory();  // locks pages once they are used, now and later

// Unset: there is no such user.
std::optional<uid_t> user_id(const std::string& name);

struct Privileges {
  std::string user;           // user to switch to; empty: keep the current user
  bool set_clock = true;      // keep CAP_SYS_TIME
  bool bind_low_port = true;  // keep CAP_NET_BIND_SERVICE, to bind on interfaces that appear later
  bool administer_network = false;  // keep CAP_NET_ADMIN
};

// Switches to `user` and its groups, keeps those of these capabilities that are requested and
// present, and sets no_new_privs.
Result<void> drop_privileges(const Privileges& privileges);

struct FilterOptions {
  bool kill = false;  // kill the process on a forbidden call; false: the call fails with EPERM
  bool writes_files = false;  // allow opening files for writing, rename, unlink, mkdir
  bool connects = false;      // allow connecting sockets: the service has a unix socket to call
  bool http_client = false;   // allow TCP, name resolution and threads; includes `connects`
  // Allow epoll, for a server whose sockets listen already; includes `connects`. TCP sockets are
  // not created.
  bool http_server = false;
};

// Restricts the process to the calls of a poll() loop with UDP and unix sockets, a clock and
// readable files: no new process or program, no executable memory, no other kind of socket. It
// accepts connections, but calls nobody and opens no further listener. Irreversible.
Result<void> filter_system_calls(const FilterOptions& options);

// The confinement of this process, as the kernel reports it.
struct Confinement {
  std::string user{};                       // name; its number if it has no name
  std::vector<std::string> capabilities{};  // effective ones, e.g. "sys_time"
  bool filter = false;                      // a system call filter is loaded
};
Confinement confinement_in_force();

}  // namespace tempo::sys
