// What the daemon may no longer do.
//
// Called once, in this order, after the sockets are open: real-time priority and locked memory,
// which need rights that the next step gives up; another user with two capabilities at most; a
// filter of system calls. Each is a Result: who runs without root gets a sentence and goes on.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace tempo::sys {

enum class Children : std::uint8_t { same, ordinary };  // what they run as

// SCHED_FIFO, 1 to 99.
Result<void> run_real_time(int priority, Children children = Children::same);
Result<void> lock_memory();  // what has been touched is not paged out, now or later

struct Privileges {
  std::string user;           // empty: the one we are
  bool set_clock = true;      // keep CAP_SYS_TIME
  bool bind_low_port = true;  // keep CAP_NET_BIND_SERVICE: interfaces that come later
};

// Becomes `user` with its groups, keeps of the capabilities those two that are wished for and were
// there, and can gain none any more, by no program either. A user that is not known is a failure,
// but everything else is done.
Result<void> drop_privileges(const Privileges& privileges);

struct FilterOptions {
  bool kill = false;          // the process, for a call that is not allowed; else it gets EPERM
  bool writes_files = false;  // may open for writing, rename, unlink, make directories
};

// From now on only what a poll() loop with UDP and unix sockets, a clock and files to read needs:
// no new process or program, no memory that is executable, no other kind of socket. Not to be
// undone.
Result<void> filter_system_calls(const FilterOptions& options);

}  // namespace tempo::sys
