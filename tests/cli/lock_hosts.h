// Hosts with one tempod each, and `tempo lock` on them: the common part of the tests of locks, for
// every back end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "program.h"

namespace tempo {

inline bool wait_for(std::chrono::steady_clock::duration limit, const std::function<bool()>& done) {
  for (const auto end = std::chrono::steady_clock::now() + limit;
       std::chrono::steady_clock::now() < end;) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return done();
}

// The first child of the process; 0: none.
inline pid_t child_of(pid_t process) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process));
  pid_t child = 0;
  children >> child;
  return child;
}

class LockHosts {
 public:
  LockHosts(const LockHosts&) = delete;
  LockHosts& operator=(const LockHosts&) = delete;

  // Stops the worker of the daemon, or continues it.
  void pause(std::size_t i, bool on) const { kill(worker_of(i), on ? SIGSTOP : SIGCONT); }

  std::string socket(std::size_t i) const { return own(i) + "/sock"; }
  std::string file(const std::string& name) const { return directory_ + '/' + name; }
  Words lock(std::size_t i, const std::string& line) const {
    Words words = words_of("lock --socket " + socket(i));
    for (const std::string& word : words_of(line)) words.push_back(word);
    return words;
  }
  Words lock(std::size_t i, const std::string& line, const std::string& script) const {
    Words words = lock(i, line);
    words.insert(words.end(), {"--", "sh", "-c", script});
    return words;
  }
  // Output of `tempo locks`: the state of locks, then holders and waiters.
  std::string listed(std::size_t i) const {
    return Child(words_of("locks --socket " + socket(i))).wait().out;
  }
  std::string lock_state(std::size_t i) const {
    const std::string text = listed(i);
    return text.substr(0, text.find('\n'));
  }

  // A command that writes the time to a file until it is stopped.
  std::string stamping(const std::string& name) const {
    return fmt::format("while :; do date +%s%N >> {}; sleep 0.01; done", file(name));
  }
  std::vector<std::int64_t> stamps(const std::string& name) const {
    std::vector<std::int64_t> all;
    std::ifstream in(file(name));
    for (std::int64_t stamp = 0; in >> stamp;) all.push_back(stamp);
    return all;
  }
  bool runs(const std::string& name) const {
    return wait_for(std::chrono::seconds(20), [&] { return !stamps(name).empty(); });
  }

  // `harm` happens to the holder on host 0, whose command begins with `first`, while a command on
  // host 1 waits: the two commands never overlap.
  int holder_exits_after(
      const std::string& name, const std::function<void(Child&)>& harm,
      const std::function<void(Child&)>& heal = [](Child&) {},
      const std::string& first = "") const {
    Child holder(lock(0, name, first + stamping(name + "-a")));
    EXPECT_TRUE(runs(name + "-a"));
    Child waiting(lock(1, name, "date +%s%N >> " + file(name + "-b")));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_TRUE(stamps(name + "-b").empty()) << "both inside";
    harm(holder);
    const Ended next = waiting.wait();
    EXPECT_EQ(next.status, 0) << next.err;
    heal(holder);
    const Ended ended = holder.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto before = stamps(name + "-a");
    const auto after = stamps(name + "-b");
    EXPECT_EQ(after.size(), 1);
    if (!before.empty() && !after.empty()) {
      EXPECT_LT(before.back(), after.front());
    }
    return ended.status;
  }

 protected:
  LockHosts(std::size_t hosts, const std::string& what) : tempods_(hosts) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / ("tempo-" + what + "-XXXXXX")).string();
    directory_ = ::mkdtemp(pattern.data());
    for (std::size_t i = 0; i < hosts; ++i) std::filesystem::create_directory(own(i));
  }
  ~LockHosts() {
    for (std::size_t i = 0; i < tempods_.size(); ++i) stop_tempod(i);
    std::filesystem::remove_all(directory_);
  }

  std::string own(std::size_t i) const { return fmt::format("{}/{}", directory_, i); }
  // Starts a tempod that neither steers a clock nor changes its user, on a loopback address of its
  // own.
  void start_tempod(std::size_t i, int port, const std::string& more) {
    tempods_[i] = std::make_unique<Child>(
        words_of(fmt::format("--config /dev/null --name host{0} --profile fast --port {1} --clock "
                             "none --state-dir {2} --socket {2}/sock --set user=\"\" --set "
                             "key-file=\"\" --set bind=[\"127.{3}.7.{4}\"] --set "
                             "machine-id=\"m{0}\" --set realtime=false {5}",
                             i, port, own(i), 64 + getpid() % 128, i + 1, more)),
        TEMPO_TEMPOD);
  }
  void stop_tempod(std::size_t i) {
    if (tempods_[i] == nullptr) return;
    kill(tempods_[i]->id(), SIGTERM);
    tempods_[i]->wait();
    tempods_[i].reset();
  }
  // Kills parent and worker with SIGKILL.
  void kill_tempod(std::size_t i) {
    const pid_t worker = worker_of(i);
    // Neither the crash hint of the parent nor the resignation of the worker may be sent.
    kill(tempods_[i]->id(), SIGSTOP);
    kill(worker, SIGKILL);
    kill(tempods_[i]->id(), SIGKILL);
    tempods_[i]->wait();
    tempods_[i].reset();
  }
  pid_t worker_of(std::size_t i) const { return child_of(tempods_[i]->id()); }
  bool runs_tempod(std::size_t i) const { return tempods_[i] != nullptr; }
  std::size_t hosts() const { return tempods_.size(); }

 private:
  std::string directory_;
  std::vector<std::unique_ptr<Child>> tempods_;  // null: not running
};

}  // namespace tempo
