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

#include "base/number_text.h"
#include "client/client.h"

namespace tempo::cli {
namespace {

constexpr std::size_t kMaxSaid = 64;
constexpr auto kLongestCommand = std::chrono::seconds{10};
constexpr std::int64_t kBase = 1'000'000;
constexpr std::uint64_t kDraws = 90'000;  // less than a tenth of the base

Result<double> first_number_in(const std::string& path) {
  std::ifstream file(path);
  double number = 0;
  if (!(file >> number) || number < 0)
    return std::unexpected(fmt::format(
        "{} does not begin with a number; set TEMPO_PROC to where the kernel's /proc is", path));
  return number;
}

Result<std::int64_t> free_memory(const std::string& proc) {
  std::ifstream file(proc + "/meminfo");
  for (std::string word; file >> word;)
    if (std::int64_t kilobytes = 0; word == "MemAvailable:" && file >> kilobytes) return kilobytes;
  return std::unexpected(fmt::format(
      "{}/meminfo does not say how much memory is available; set TEMPO_PROC to where the kernel's "
      "/proc is",
      proc));
}

Result<std::int64_t> load(const std::string& proc) {
  TRY(load, first_number_in(proc + "/loadavg"));
  const auto processors = static_cast<double>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  return static_cast<std::int64_t>(
      std::llround(static_cast<double>(kBase) / (1 + load / processors)));
}

// tempod is asked; one that does not answer soon has no good clock.
Result<std::int64_t> clock_quality(const std::string& socket) {
  auto client = client::Client::connect(socket, 100ms);
  if (!client) return std::unexpected(client.error().message);
  const auto reply = client->ask({.verb = ipc::Verb::now, .by_ns = {}, .to_ns = {}});
  if (!reply) return std::unexpected(reply.error().message);
  TRY(now, ipc::now_of(*reply));
  if (now.status == "unsynchronized") return 0;
  return clock_capacity(now.latest_ns - now.time_ns);
}

Result<std::int64_t> draw() {
  std::uint64_t drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
    return std::unexpected("no random number can be had");
  return kBase + static_cast<std::int64_t>(drawn % kDraws);
}

}  // namespace

std::int64_t clock_capacity(std::int64_t bound_ns) {
  return kBase * kBase / (std::max<std::int64_t>(bound_ns, 0) + 1);
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
      return std::unexpected("a weight is a whole number not below 0, as in 'weight=5'");
    meter.capacity_ = *weight;
    return meter;
  }
  if (meter.criterion_ == "cmd") {
    if (value.empty()) return std::unexpected("give the command, as in 'cmd=./free-slots'");
    meter.command_ = value;
    if (auto started = meter.start_command(); !started) return std::unexpected(started.error());
    const auto end = std::chrono::steady_clock::now() + kLongestCommand;
    while (meter.pipe_ >= 0 && std::chrono::steady_clock::now() < end) {
      pollfd ready{meter.pipe_, POLLIN, 0};
      poll(&ready, 1, 100);
      if (ready.revents != 0 && meter.take()) return meter;
    }
    return std::unexpected(
        fmt::format("'{}' did not print a whole number not below 0 within 10 s", value));
  }
  if (equals != std::string::npos)
    return std::unexpected(fmt::format("'{}' takes no value", meter.criterion_));
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
      fmt::format("there is no criterion '{}'; take load, free-memory, uptime, clock-quality, id, "
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
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return std::unexpected(fmt::format("no pipe can be made: {}", std::strerror(errno)));
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
    return std::unexpected(fmt::format("no process can be made: {}", std::strerror(errno)));
  }
  child_ = child;
  pipe_ = ends[0];
  said_.clear();
  return {};
}

bool CapacityMeter::take() {
  std::array<char, kMaxSaid> buffer{};
  const ssize_t got = read(pipe_, buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got > 0) said_.append(buffer.data(), static_cast<std::size_t>(got));
  if (got > 0 && said_.size() < kMaxSaid) return false;
  close(std::exchange(pipe_, -1));
  kill(-child_, SIGKILL);
  waitpid(std::exchange(child_, 0), nullptr, 0);
  while (!said_.empty() && said_.back() == '\n') said_.pop_back();
  const auto capacity = parse_number<std::int64_t>(said_);
  if (!capacity || *capacity < 0) return false;
  capacity_ = *capacity;
  return true;
}

CapacityMeter::CapacityMeter(CapacityMeter&& other) noexcept
    : criterion_(std::move(other.criterion_)),
      command_(std::move(other.command_)),
      places_(std::move(other.places_)),
      capacity_(other.capacity_),
      pipe_(std::exchange(other.pipe_, -1)),
      child_(std::exchange(other.child_, 0)),
      said_(std::move(other.said_)) {}

CapacityMeter::~CapacityMeter() {
  if (pipe_ >= 0) close(pipe_);
  if (child_ == 0) return;
  kill(-child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

}  // namespace tempo::cli
