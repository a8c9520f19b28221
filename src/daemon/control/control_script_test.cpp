// Every script of testdata/ is a test of the control protocol: request lines and their answers, on
// a worker without other hosts, with the rights that the script gives a client. The commands:
//
//     settle                      waits until this host leads and its locks and clock are ready
//     a connects as root          or: as group, as user; `a` is any name
//     a> {"v":1,"do":"now"}       a request and its answer; no answer: it follows later, or never
//     a sends 5000 bytes          as one line
//     a waits WORD                the next line to `a` that contains the word; others are skipped
//     a closes
//
// In answers, values that depend on the machine or the moment are shown as <number> or <text>.
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/control/requests.h"
#include "daemon/log.h"
#include "machine/script.h"
#include "machine/script_test_files.h"
#include "platform/descriptor.h"

namespace tempo::daemon {
namespace {

constexpr Nanos kLongestWait = 20s;  // for a line or a state, also on a busy machine

// Replaces the values of members that depend on the machine or the moment.
std::string masked(std::string line, std::string_view address) {
  const auto mask = [&](std::string_view key, std::string_view shown) {
    const std::string member = fmt::format("\"{}\":", key);
    for (std::size_t at = line.find(member); at != std::string::npos; at = line.find(member, at)) {
      at += member.size();
      const std::string_view ends = line[at] == '{' ? "}" : line[at] == '[' ? "]" : ",}";
      std::size_t end = line.find_first_of(ends, at + 1);
      if (ends.size() == 1) ++end;
      const bool quoted = line[at] == '"';
      line.replace(at, end - at, quoted ? fmt::format("\"{}\"", shown) : std::string(shown));
    }
  };
  for (const std::string_view key :
       {"time_ns", "earliest_ns", "latest_ns", "at_ns", "until_ns", "token", "term", "pid",
        "uptime_s", "left_s", "since_s", "heard_ago_s", "keys_since_s", "offset_us", "rate_ppm",
        "epoch_round"})
    mask(key, "<number>");
  for (const std::string_view key :
       {"version", "user", "capabilities", "counters", "address", "master_id", "evidence"})
    mask(key, "<text>");
  for (std::size_t at = line.find(address); at != std::string::npos; at = line.find(address, at))
    line.replace(at, address.size(), "<address>");
  // Ids of hosts are texts; ids of requests are numbers.
  for (std::size_t at = line.find("\"id\":\""); at != std::string::npos;
       at = line.find("\"id\":\"", at + 6))
    line.replace(at + 6, line.find('"', at + 6) - at - 6, "<text>");
  return line;
}

// A worker in the thread that calls `run`. Other threads run functions in its loop.
class ScriptedWorker {
 public:
  ScriptedWorker() {
    set_log_level("off");
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tempo-control-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    config::Settings settings;
    settings.name = "bow";
    settings.cluster = "control-script";
    settings.profile = "lan";  // a second without a master, in which a script can ask for one
    settings.timing = election::profile("lan").value();
    settings.port = static_cast<std::uint16_t>(30'000 + ::getpid() % 10'000);
    settings.bind = {address_};
    settings.broadcast = "127.255.255.255";
    settings.key_file.clear();
    settings.state_dir = directory_;
    settings.machine_id = "control-script";
    settings.clock = config::ClockKind::none;
    settings.lock_expect = 1;
    settings.lock_lease = 300ms;
    DaemonIdentity identity = load_identity(settings).value();
    new_incarnation(identity);
    worker_ = Worker::create(identity, nullptr).value();
    requests_.emplace(*worker_);
    worker_->loop().watch(wake_.number(), POLLIN, [this](short /*events*/) {
      std::uint64_t count = 0;
      (void)!::read(wake_.number(), &count, sizeof count);
    });
    worker_->each_round([this] { serve(); });
  }
  ~ScriptedWorker() {
    requests_.reset();
    worker_->loop().forget(wake_.number());
    worker_.reset();
    std::filesystem::remove_all(directory_);
  }
  ScriptedWorker(const ScriptedWorker&) = delete;
  ScriptedWorker& operator=(const ScriptedWorker&) = delete;

  int run() {
    const int status = worker_->run();
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    done_.notify_all();
    return status;
  }
  const std::string& address() const { return address_; }

  // --- for other threads ---
  // Runs `call` between two rounds of the loop; returns when it has run, or the worker has ended.
  void in_loop(const std::function<void()>& call) {
    std::unique_lock lock(mutex_);
    if (ended_) return;
    call_ = &call;
    const std::uint64_t one = 1;
    (void)!::write(wake_.number(), &one, sizeof one);
    done_.wait(lock, [&] { return call_ == nullptr || ended_; });
  }
  void stop() {
    in_loop([this] { worker_->stop(); });
  }

  // --- in the loop ---
  Worker& worker() { return *worker_; }
  Requests& requests() { return *requests_; }
  std::map<std::string, Connection, std::less<>>& clients() { return clients_; }

 private:
  void serve() {
    requests_->serve_streams();
    for (auto& [name, client] : clients_) client.write_pending();
    const std::scoped_lock lock(mutex_);
    if (call_ == nullptr) return;
    (*call_)();
    call_ = nullptr;
    done_.notify_all();
  }

  std::string directory_;
  std::string address_ = fmt::format("127.{}.10.1", 64 + ::getpid() % 128);
  sys::Descriptor wake_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::unique_ptr<Worker> worker_;
  std::map<std::string, Connection, std::less<>> clients_;
  std::optional<Requests> requests_;
  std::mutex mutex_;
  std::condition_variable done_;
  const std::function<void()>* call_ = nullptr;  // null: none waits
  bool ended_ = false;                           // the worker has ended
};

class ControlRunner final : public ScriptRunner {
 public:
  explicit ControlRunner(ScriptedWorker& scripted) : scripted_(&scripted) {}

  Result<void> command(std::string_view line, std::string& answer) override {
    if (line == "settle") return settle();
    const std::string name(line.substr(0, line.find_first_of("> ")));
    const std::string_view rest = line.substr(name.size());
    if (rest.starts_with(" connects as ")) return connect(name, rest.substr(13));
    if (!ends_.contains(name)) return std::unexpected(fmt::format("'{}' is not connected", name));
    if (rest.starts_with("> ")) return ask(name, std::string(rest.substr(2)), answer);
    if (rest.starts_with(" waits ")) return wait(name, rest.substr(7), answer);
    if (rest == " closes") return close(name);
    if (rest.starts_with(" sends ") && rest.ends_with(" bytes")) {
      TRY(bytes, number_within<std::size_t>(rest.substr(7, rest.size() - 13), 1, 100'000));
      return ask(name, std::string(bytes, 'x'), answer);
    }
    return std::unexpected(fmt::format("'{}' is not a command", line));
  }
  void finish(std::string& /*answer*/) override {}

 private:
  struct End {
    sys::Descriptor socket;
    std::string input{};
  };

  Result<void> settle() {
    const auto limit = std::chrono::steady_clock::now() + kLongestWait;
    for (bool ready = false; !ready;) {
      scripted_->in_loop([&] {
        ready = scripted_->worker().reading().status == node::Reading::Status::alone &&
                scripted_->worker().snapshot().locks.starts_with("1 voter");
      });
      if (std::chrono::steady_clock::now() > limit)
        return std::unexpected("the host does not settle");
      std::this_thread::sleep_for(1ms);
    }
    return {};
  }

  Result<void> connect(const std::string& name, std::string_view rights) {
    const std::map<std::string_view, Privilege> known{
        {"root", Privilege::change}, {"group", Privilege::lock}, {"user", Privilege::read}};
    const auto found = known.find(rights);
    if (found == known.end()) return std::unexpected(fmt::format("'{}' is not a right", rights));
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0)
      return std::unexpected("no socket");
    ends_.insert_or_assign(name, End{sys::Descriptor{pair[0]}});
    scripted_->in_loop([&] {
      scripted_->clients().try_emplace(name, sys::LineConnection(sys::Descriptor{pair[1]}),
                                       ::getpid(), found->second);
    });
    return {};
  }

  Result<void> ask(const std::string& name, const std::string& request, std::string& answer) {
    std::string reply;
    scripted_->in_loop(
        [&] { reply = scripted_->requests().answer(scripted_->clients().at(name), request); });
    if (!reply.empty()) show(name, reply, answer);
    return {};
  }

  Result<void> wait(const std::string& name, std::string_view word, std::string& answer) {
    End& end = ends_.at(name);
    const auto limit = std::chrono::steady_clock::now() + kLongestWait;
    while (std::chrono::steady_clock::now() < limit) {
      while (end.input.find('\n') != std::string::npos) {
        const std::string line = end.input.substr(0, end.input.find('\n'));
        end.input.erase(0, line.size() + 1);
        if (line.find(word) == std::string::npos) continue;
        show(name, line, answer);
        return {};
      }
      pollfd ready{end.socket.number(), POLLIN, 0};
      std::array<char, 65536> some{};
      if (::poll(&ready, 1, 1000) <= 0) continue;
      const ssize_t size = ::recv(end.socket.number(), some.data(), some.size(), 0);
      if (size <= 0) break;
      end.input.append(some.data(), static_cast<std::size_t>(size));
    }
    return std::unexpected(fmt::format("{} gets no line with '{}'", name, word));
  }

  Result<void> close(const std::string& name) {
    scripted_->in_loop([&] {
      scripted_->requests().disconnect(scripted_->clients().at(name));
      scripted_->clients().erase(name);
    });
    ends_.erase(name);
    return {};
  }

  void show(const std::string& name, const std::string& line, std::string& answer) const {
    answer += fmt::format("{}< {}\n", name, masked(line, scripted_->address()));
  }

  ScriptedWorker* scripted_;
  std::map<std::string, End, std::less<>> ends_;
};

// The worker runs in this thread, the script in another.
Result<std::string> answered_by_worker(std::string_view script) {
  ScriptedWorker scripted;
  Result<std::string> answer = std::unexpected("the script did not run");
  std::jthread thread([&] {
    ControlRunner runner(scripted);
    answer = answered(script, runner);
    scripted.stop();
  });
  EXPECT_EQ(scripted.run(), 0);
  thread.join();
  return answer;
}

class ControlScript : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(ControlScript, GivesTheAnswersWrittenInIt) {
  expect_answers(GetParam(), answered_by_worker);
}

INSTANTIATE_TEST_SUITE_P(Testdata, ControlScript, ::testing::ValuesIn(scripts_in(TEMPO_TESTDATA)),
                         script_name);

}  // namespace
}  // namespace tempo::daemon
