// Real daemons on addresses of the loopback interface, for tests of their locks.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
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

class Daemons {
 public:
  // The first `voters` machines that are started found the locks.
  explicit Daemons(std::size_t voters, std::string arguments = "", std::size_t others = 0)
      : voters_(voters), arguments_(std::move(arguments)), daemons_(voters + others) {
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-locks-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    for (std::size_t i = 0; i < daemons_.size(); ++i)
      std::filesystem::create_directory(directory_ + '/' + std::to_string(i));
    for (std::size_t i = 0; i < voters; ++i) start(i);
  }
  ~Daemons() {
    for (std::size_t i = 0; i < daemons_.size(); ++i) stop(i);
    std::filesystem::remove_all(directory_);
  }
  Daemons(const Daemons&) = delete;
  Daemons& operator=(const Daemons&) = delete;

  void start(std::size_t i) {
    const std::string own = directory_ + '/' + std::to_string(i);
    const int net = 64 + getpid() % 128;
    daemons_[i] = std::make_unique<Child>(
        words_of(fmt::format(
            "--config /dev/null --cluster locks-{0} --name host{1} --profile fast --port {2} "
            "--clock none --state-dir {3} --socket {3}/sock --set user=\"\" --set key-file=\"\" "
            "--set bind=[\"127.{4}.7.{5}\"] --set broadcast=\"127.255.255.255\" "
            "--set machine-id=\"m{1}\" --set locks.expect={6} --set locks.lease-ms=1000 "
            "--set realtime=false {7}",
            getpid(), i, 20'000 + getpid() % 10'000, own, net, i + 1, voters_, arguments_)),
        TEMPO_TEMPOD);
  }
  void stop(std::size_t i) {
    if (daemons_[i] == nullptr) return;
    kill(daemons_[i]->id(), SIGTERM);
    daemons_[i]->wait();
    daemons_[i].reset();
  }
  // Parent and worker, without a word.
  void kill_all(std::size_t i) {
    const pid_t worker = worker_of(i);
    kill(daemons_[i]->id(), SIGKILL);
    kill(worker, SIGKILL);
    daemons_[i]->wait();
    daemons_[i].reset();
  }
  void pause(std::size_t i, bool on) const { kill(worker_of(i), on ? SIGSTOP : SIGCONT); }

  std::string socket(std::size_t i) const { return fmt::format("{}/{}/sock", directory_, i); }
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
  // What this machine promises of locks.
  std::string promise(std::size_t i) const {
    const std::string said = Child(words_of("locks --socket " + socket(i))).wait().out;
    return said.substr(0, said.find('\n'));
  }
  // Every machine that runs promises this.
  bool all_say(const std::string& promised) const {
    for (std::size_t i = 0; i < daemons_.size(); ++i)
      if (daemons_[i] != nullptr && promise(i) != promised) return false;
    return true;
  }

 private:
  pid_t worker_of(std::size_t i) const {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", daemons_[i]->id()));
    pid_t worker = 0;
    children >> worker;
    return worker;
  }

  std::size_t voters_;
  std::string arguments_;
  std::string directory_;
  std::vector<std::unique_ptr<Child>> daemons_;  // null: it does not run
};

}  // namespace tempo
