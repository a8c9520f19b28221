// Runs a program on events, as a given user and at a limited rate.
//
// An event may come from a compromised process. Its name is checked, and its text reaches the
// program only in an environment variable, never on a command line. The program gets PATH,
// TEMPO_EVENT and TEMPO_EVENT_TEXT and nothing else of the environment. The caller reaps the
// children and reports each to `ended`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/units.h"

namespace tempo::sys {

// Admits `burst` uses at once, and one more after each interval.
class RateLimit {
 public:
  RateLimit(int burst, Nanos interval) : burst_(burst), left_(burst), interval_(interval) {}
  bool admit(Instant now);

 private:
  int burst_;
  int left_;
  Nanos interval_;
  Instant refilled_{};
};

struct Hook {
  std::string program;  // absolute path
  std::string user;     // user to run as; empty: the current user
};

class HookRunner {
 public:
  static constexpr int kMaxRunning = 16;
  static constexpr int kBurst = 32;
  static constexpr Nanos kInterval = 1s;
  static constexpr std::size_t kMaxText = 1024;  // longest text of an event, in bytes
  static constexpr int kNotSwitched = 126;       // exit status: the child could not change its user
  static constexpr int kNotRun = 127;            // exit status: the program could not be executed

  enum class Outcome : std::uint8_t {
    started,
    too_many,   // too many hooks run or started a short time ago
    bad_event,  // the name is not one of an event
    no_process  // fork() failed
  };

  // `in_child` restores what a child must not inherit, such as the signal mask.
  explicit HookRunner(std::function<void()> in_child) : in_child_(std::move(in_child)) {}

  Outcome run(const Hook& hook, Instant now, const std::string& event, std::string_view text);
  void ended() { --running_; }  // a child was reaped

 private:
  std::function<void()> in_child_;
  RateLimit limit_{kBurst, kInterval};
  int running_ = 0;
};

// The user as which hooks run: `hook_user`, or if that is empty `user`; empty: the current user. A
// process of root gets an error unless the user exists and is named: no hook runs as root by
// default.
Result<std::string> user_of_hooks(const std::string& hook_user, const std::string& user);

}  // namespace tempo::sys
