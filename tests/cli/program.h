// The built program as a child process: its output, its files, its exit status.
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

namespace tempo {

using nlohmann::json;

using Words = std::vector<std::string>;

inline Words words_of(std::string_view line) {
  Words words;
  std::istringstream in{std::string(line)};
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// --- a child process ---

struct Ended {
  int status = -1;  // exit status; 1000 + the number of the signal that ended it
  std::string out, err;
};

class Child {
 public:
  explicit Child(const Words& words, const char* program = TEMPO_BINARY) {
    std::array<int, 2> out{}, err{};
    if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) std::abort();
    Words all = words;
    all.insert(all.begin(), program);
    std::vector<char*> arguments;
    for (std::string& word : all) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    id_ = fork();
    if (id_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      execv(program, arguments.data());
      _exit(127);
    }
    close(out[1]);
    close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  ~Child() {
    if (id_ > 0 && !over_) {
      kill(id_, SIGKILL);
      waitpid(id_, nullptr, 0);
    }
    close(out_);
    close(err_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t id() const { return id_; }
  const std::string& out() const { return ended_.out; }  // read so far
  const std::string& err() const { return ended_.err; }

  // Reads until `done()` is true, or the child has closed both pipes; returns whether `done()` was
  // true.
  bool read_until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    std::array<pollfd, 2> ends{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
      if (done()) return true;
      if (std::chrono::steady_clock::now() > deadline) return false;
      if (poll(ends.data(), ends.size(), 20) < 0 && errno != EINTR) return false;
      acquire(ends[0], ended_.out);
      acquire(ends[1], ended_.err);
    }
    return false;
  }
  Ended wait() {
    read_until([] { return false; });
    int status = 0;
    waitpid(id_, &status, 0);
    over_ = true;
    ended_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    return ended_;
  }

 private:
  static void acquire(pollfd& end, std::string& into) {
    if (end.fd < 0 || (end.revents & (POLLIN | POLLHUP)) == 0) return;
    std::array<char, 65536> buffer{};
    const ssize_t got = read(end.fd, buffer.data(), buffer.size());
    if (got > 0)
      into.append(buffer.data(), static_cast<std::size_t>(got));
    else
      end.fd = -1;
  }

  pid_t id_ = -1;
  int out_ = -1, err_ = -1;
  bool over_ = false;
  Ended ended_;
};

// The program on a terminal of its own, 100 by 30.
class TerminalChild {
 public:
  // False if /dev/pts is not mounted, as in a bare chroot.
  static bool possible() {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal >= 0) close(terminal);
    return terminal >= 0;
  }

  using Environment = std::vector<std::pair<std::string, std::string>>;
  explicit TerminalChild(const Words& words, const Environment& environment = {}) {
    terminal_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal_ < 0 || grantpt(terminal_) != 0 || unlockpt(terminal_) != 0) std::abort();
    const std::string name = ptsname(terminal_);
    // Kept open, so that the modes of the terminal can be read after the program has ended.
    other_end_ = open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    const winsize size{.ws_row = 30, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
    ioctl(terminal_, TIOCSWINSZ, &size);
    Words all = words;
    all.insert(all.begin(), TEMPO_BINARY);
    std::vector<char*> arguments;
    for (std::string& word : all) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    id_ = fork();
    if (id_ == 0) {
      setsid();
      const int end = open(name.c_str(), O_RDWR);  // becomes the controlling terminal
      for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(end, standard);
      setenv("TERM", "xterm", 1);
      setenv("LC_ALL", "C.UTF-8", 1);
      for (const auto& [key, value] : environment) setenv(key.c_str(), value.c_str(), 1);
      execv(TEMPO_BINARY, arguments.data());
      _exit(127);
    }
  }
  ~TerminalChild() {
    if (!over_) {
      kill(id_, SIGKILL);
      waitpid(id_, nullptr, 0);
    }
    close(terminal_);
    close(other_end_);
  }
  TerminalChild(const TerminalChild&) = delete;
  TerminalChild& operator=(const TerminalChild&) = delete;

  const std::string& out() const { return out_; }
  void type(std::string_view keys) {
    if (write(terminal_, keys.data(), keys.size()) < 0) std::abort();
  }
  bool read_until(std::string_view text) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (out_.find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > deadline || !read_some(20)) return false;
    }
    return true;
  }
  int wait() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    int status = 0;
    while (waitpid(id_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) return -1;
      read_some(20);
    }
    over_ = true;
    while (read_some(0)) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  bool echoes() const {
    termios modes{};
    return tcgetattr(other_end_, &modes) == 0 && (modes.c_lflag & ECHO) != 0 &&
           (modes.c_lflag & ICANON) != 0;
  }

 private:
  // False if nothing arrived and `wait_ms` is 0, or if the terminal is closed.
  bool read_some(int wait_ms) {
    pollfd end{terminal_, POLLIN, 0};
    if (poll(&end, 1, wait_ms) <= 0) return wait_ms > 0;
    std::array<char, 65536> buffer{};
    const ssize_t got = read(terminal_, buffer.data(), buffer.size());
    if (got <= 0) return false;
    out_.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
  }

  int terminal_ = -1, other_end_ = -1;
  pid_t id_ = -1;
  bool over_ = false;
  std::string out_;
};

inline Ended tempo(std::string_view line) { return Child(words_of(line)).wait(); }

// The answer in the JSON that a command printed: {"version": 1, "data": ...}. Null: there is none.
inline json data_of(const std::string& text) {
  const json whole = json::parse(text, nullptr, false);
  if (!whole.is_object() || !whole.contains("data")) return json{};
  EXPECT_EQ(whole["version"], 1) << text;
  return whole["data"];
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A file name in the temporary directory; the destructor removes the file.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view name)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("tempo_cli_test_{}_{}", getpid(), name)) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path path_;
};

// Without Loops a healed network keeps both its masters.
inline constexpr std::string_view kBroken =
    "sim election --nodes 4 --scenario partition-heal --variant no-loop --until 60s";

inline std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

}  // namespace tempo
