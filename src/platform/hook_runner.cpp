#include "platform/hook_runner.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "platform/confinement.h"

namespace tempo::sys {
namespace {

constexpr std::size_t kMaxName = 32;
constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool is_event(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

// One line of bounded length; UTF-8 passes.
std::string one_line(std::string_view text) {
  std::string line{text.substr(0, HookRunner::kMaxText)};
  std::ranges::replace_if(line, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
  return line;
}

[[noreturn]] void become(const Hook& hook, const std::string& event, const std::string& text) {
  if (const auto user = user_id(hook.user); !hook.user.empty() && user != ::geteuid()) {
    const auto dropped =
        drop_privileges({.user = hook.user, .set_clock = false, .bind_low_port = false});
    if (!dropped) ::_exit(HookRunner::kNotSwitched);
  }
  std::string program = hook.program;
  std::string name = "TEMPO_EVENT=" + event;
  std::string details = "TEMPO_EVENT_TEXT=" + text;
  std::string path = kPath;
  const std::array<char*, 2> arguments{program.data(), nullptr};
  const std::array<char*, 4> environment{path.data(), name.data(), details.data(), nullptr};
  ::execve(program.c_str(), arguments.data(), environment.data());
  ::_exit(HookRunner::kNotRun);
}

}  // namespace

bool RateLimit::admit(Instant now) {
  const auto intervals = std::min<std::int64_t>((now - refilled_) / interval_, burst_ - left_);
  left_ += static_cast<int>(intervals);
  refilled_ += intervals * interval_;
  if (left_ == 0) return false;
  if (left_ == burst_) refilled_ = now;  // a full store gains nothing
  --left_;
  return true;
}

HookRunner::Outcome HookRunner::run(const Hook& hook, Instant now, const std::string& event,
                                    std::string_view text) {
  if (!is_event(event)) return Outcome::bad_event;
  if (running_ >= kMaxRunning || !limit_.admit(now)) return Outcome::too_many;
  const std::string line = one_line(text);
  const pid_t child = ::fork();
  if (child < 0) return Outcome::no_process;
  if (child == 0) {
    in_child_();
    become(hook, event, line);
  }
  ++running_;
  return Outcome::started;
}

Result<std::string> user_of_hooks(const std::string& hook_user, const std::string& user) {
  const std::string& name = hook_user.empty() ? user : hook_user;
  const auto id = user_id(name);
  if (::geteuid() != 0) {
    // The default needs no switch: it is the user of the daemon.
    if (hook_user.empty()) return "";
    if (id == ::geteuid()) return name;
    return std::unexpected(fmt::format(
        "cannot run the hook as user '{}': tempod does not run as root; remove hook-user", name));
  }
  if (name.empty())
    return std::unexpected(
        "the hook would run as root, because user = \"\"; set hook-user to the user of the hook, "
        "or to \"root\"");
  if (!id)
    return std::unexpected(fmt::format(
        "user '{}' of the hook does not exist; create it or set hook-user to another user", name));
  return name;
}

}  // namespace tempo::sys
