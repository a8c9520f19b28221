#include "cli/groups/capacity_meter.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/snapshot.h"
#include "base/number_text.h"
#include "client/client.h"

namespace tempo::cli {
namespace {

constexpr std::size_t kMaxOutput = 64;  // bytes
constexpr auto kCommandTimeout = std::chrono::seconds{10};
constexpr int kExitPolls = 20;  // of 1 ms, between the end of the output and the exit
constexpr std::int64_t kBase = 1'000'000;
constexpr std::uint64_t kDraws = 90'000;  // less than a tenth of the base

Result<double> first_number_in(const std::string& path) {
  std::ifstream file(path);
  double number = 0;
  if (!(file >> number) || number < 0)
    return std::unexpected(fmt::format(
        "{} does not begin with a number; set TEMPO_PROC to the directory of /proc", path));
  return number;
}

Result<std::int64_t> free_memory(const std::string& proc) {
  std::ifstream file(proc + "/meminfo");
  for (std::string word; file >> word;)
    if (std::int64_t kilobytes = 0; word == "MemAvailable:" && file >> kilobytes) return kilobytes;
  return std::unexpected(fmt::format(
      "{}/meminfo contains no MemAvailable; set TEMPO_PROC to the directory of /proc", proc));
}

Result<std::int64_t> load(const std::string& proc) {
  TRY(load, first_number_in(proc + "/loadavg"));
  const auto processors = static_cast<double>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  return static_cast<std::int64_t>(
      std::llround(static_cast<double>(kBase) / (1 + load / processors)));
}

// Asks tempod; the short timeout keeps the event loop of the caller responsive.
Result<std::int64_t> clock_quality(const std::string& socket) {
  auto client = client::Client::connect(socket, 100ms);
  if (!client) return std::unexpected(client.error().message);
  const auto reply = client->ask({.verb = ipc::Verb::now, .by_ns = {}, .to_ns = {}});
  if (!reply) return std::unexpected(reply.error().message);
  TRY(now, ipc::now_of(*reply));
  if (now.status == "unsynchronized") return 0;
  return clock_capacity(now.latest_ns - now.time_ns);
}

std::string fork_error(const std::string& command) {
  return fmt::format("cannot run '{}': {}; close some programs and try again", command,
                     std::strerror(errno));
}

Result<std::int64_t> draw() {
  std::uint64_t drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
    return std::unexpected(
        fmt::format("no random numbers: {}; check getrandom(2)", std::strerror(errno)));
  return kBase + static_cast<std::int64_t>(drawn % kDraws);
}

}  // namespace

std::int64_t clock_capacity(std::int64_t bound_ns) {
  return kBase * kBase / (std::max<std::int64_t>(bound_ns, 0) + 1);
}

std::string capacity_text(const std::string& criterion, std::int64_t capacity) {
  const auto value = static_cast<double>(capacity);
  const auto base = static_cast<double>(kBase);
  if (criterion == "load")
    return capacity <= 0 ? "load unknown" : fmt::format("load {:.0f}%", (base / value - 1) * 100);
  if (criterion == "free-memory") return fmt::format("{:.0f} MiB", value / 1024);
  if (criterion == "uptime") return obs::uptime_text(value);
  if (criterion == "clock-quality")
    return capacity <= 0 ? "unsynchronized" : obs::micros_text((base * base / value - 1) / 1000);
  return fmt::format("{}", capacity);
}

Result<CapacityMeter> CapacityMeter::create(const std::string& criterion, Places places) {
  CapacityMeter meter;
  meter.places_ = std::move(places);
  const std::size_t equals = criterion.find('=');
  meter.criterion_ = criterion.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : criterion.substr(equals + 1);
  if (meter.criterion_ == "weight") {
    const auto weight = parse_number<std::int64_t>(value);
    if (!weight || *weight < 0)
      return std::unexpected(
          "--criterion weight needs a whole number that is not negative, e.g. 'weight=5'");
    meter.capacity_ = *weight;
    return meter;
  }
  if (meter.criterion_ == "cmd") {
    if (value.empty())
      return std::unexpected("--criterion cmd needs a command, e.g. 'cmd=./free-slots'");
    meter.command_ = value;
    if (auto started = meter.start_command(); !started) return std::unexpected(started.error());
    const auto end = std::chrono::steady_clock::now() + kCommandTimeout;
    while (std::chrono::steady_clock::now() < end) {
      pollfd ready{meter.pipe_, POLLIN, 0};
      poll(&ready, 1, 100);
      if (ready.revents == 0) continue;
      TRY(measured, meter.take());
      if (measured) return meter;
    }
    return std::unexpected(meter.command_error("did not end within 10 s"));
  }
  if (equals != std::string::npos)
    return std::unexpected(
        fmt::format("--criterion {0} takes no value; give '{0}' alone", meter.criterion_));
  TRY(capacity, meter.read_now());
  meter.capacity_ = capacity;
  return meter;
}

Result<std::int64_t> CapacityMeter::read_now() const {
  if (criterion_ == "load") return load(places_.proc);
  if (criterion_ == "free-memory") return free_memory(places_.proc);
  if (criterion_ == "uptime") {
    TRY(seconds, first_number_in(places_.proc + "/uptime"));
    return static_cast<std::int64_t>(seconds);
  }
  if (criterion_ == "clock-quality") return clock_quality(places_.socket);
  if (criterion_ == "id") return kBase;
  if (criterion_ == "random") return draw();
  return std::unexpected(
      fmt::format("unknown criterion '{}'; give load, free-memory, uptime, clock-quality, id, "
                  "random, weight=N or cmd=COMMAND",
                  criterion_));
}

bool CapacityMeter::changes() const {
  return criterion_ != "id" && criterion_ != "random" && criterion_ != "weight";
}

bool CapacityMeter::measure() {
  if (criterion_ == "cmd") {
    if (pipe_ < 0) (void)start_command();
    return false;
  }
  const auto capacity = read_now();
  if (!capacity) return false;
  return std::exchange(capacity_, *capacity) != *capacity;
}

Result<void> CapacityMeter::start_command() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return std::unexpected(fork_error(command_));
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    dup2(ends[1], STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", command_.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return std::unexpected(fork_error(command_));
  }
  child_ = child;
  pipe_ = ends[0];
  output_.clear();
  return {};
}

// Closes the pipe, waits a moment for the exit, kills processes that are left, and reaps the
// command.
int CapacityMeter::end_command() {
  close(std::exchange(pipe_, -1));
  for (int i = 0; i < kExitPolls; ++i) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != 0)
      break;
    poll(nullptr, 0, 1);
  }
  kill(-child_, SIGKILL);
  int status = 0;
  waitpid(std::exchange(child_, 0), &status, 0);
  return status;
}

std::string CapacityMeter::command_error(const std::string& reason) const {
  return fmt::format(
      "--criterion: command '{}' {}; it must print one whole number that is not negative, and exit",
      command_, reason);
}

Result<bool> CapacityMeter::take() {
  std::array<char, kMaxOutput> buffer{};
  const ssize_t got = read(pipe_, buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got > 0) output_.append(buffer.data(), static_cast<std::size_t>(got));
  if (got > 0 && output_.size() < kMaxOutput) return false;
  const int status = end_command();
  while (!output_.empty() && output_.back() == '\n') output_.pop_back();
  const auto capacity = parse_number<std::int64_t>(output_);
  if (capacity && *capacity >= 0) {
    capacity_ = *capacity;
    return true;
  }
  const std::string end = WIFSIGNALED(status)
                              ? fmt::format("was ended by signal {}", WTERMSIG(status))
                              : fmt::format("exited with status {}", WEXITSTATUS(status));
  return std::unexpected(command_error(
      output_.empty()
          ? end + " and printed nothing"
          : fmt::format("{} and printed '{}'", end, output_.substr(0, output_.find('\n')))));
}

CapacityMeter::CapacityMeter(CapacityMeter&& other) noexcept
    : criterion_(std::move(other.criterion_)),
      command_(std::move(other.command_)),
      places_(std::move(other.places_)),
      capacity_(other.capacity_),
      pipe_(std::exchange(other.pipe_, -1)),
      child_(std::exchange(other.child_, 0)),
      output_(std::move(other.output_)) {}

CapacityMeter::~CapacityMeter() {
  if (pipe_ >= 0) close(pipe_);
  if (child_ == 0) return;
  kill(-child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

}  // namespace tempo::cli
