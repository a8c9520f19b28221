// Bad input on the control socket: the daemon answers every input with a sentence or disconnects
// the client, its memory stays bounded, and other clients still get locks.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/control_protocol.h"
#include "client/client.h"
#include "client/public_error.h"
#include "netns.h"
#include "tempo/election.h"
#include "tempo/lock.h"

namespace tempo::testbed {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kNow = "{\"v\":1,\"do\":\"now\"}\n";
constexpr std::string_view kStatus = "{\"v\":1,\"do\":\"status\"}\n";

// A raw connection that can send anything.
class Raw {
 public:
  explicit Raw(const std::string& path) : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    open_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Raw() {
    if (socket_ >= 0) close(socket_);
  }
  Raw(Raw&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), open_(other.open_), input_(other.input_) {}
  Raw& operator=(Raw&&) = delete;

  bool open() const { return open_; }
  // Sends as much as possible without waiting; returns the number of bytes.
  std::size_t push(std::string_view text) const {
    const ssize_t size = send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return size < 0 ? 0 : static_cast<std::size_t>(size);
  }
  // Sends everything; false if the peer has closed the connection.
  bool put(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t size = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (size < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
  }
  void end_writing() const { shutdown(socket_, SHUT_WR); }
  // The next line; unset if the connection is closed or the answer takes too long even for a busy
  // machine.
  std::optional<std::string> line() {
    for (;;) {
      if (const std::size_t end = input_.find('\n'); end != std::string::npos) {
        std::string line = input_.substr(0, end);
        input_.erase(0, end + 1);
        return line;
      }
      pollfd ready{socket_, POLLIN, 0};
      if (poll(&ready, 1, 20'000) <= 0) return std::nullopt;
      std::array<char, 65536> some{};
      const ssize_t size = recv(socket_, some.data(), some.size(), 0);
      if (size <= 0) return std::nullopt;
      input_.append(some.data(), static_cast<std::size_t>(size));
    }
  }
  std::string ask(std::string_view text) {
    return put(text) ? line().value_or("closed") : "closed";
  }

 private:
  int socket_ = -1;
  bool open_ = false;
  std::string input_;
};

// A well-behaved client that takes locks repeatedly, each on its own connection.
class Bystander {
 public:
  explicit Bystander(const std::string& socket)
      : thread_([this, socket] {
          for (int i = 0; !over_; ++i) {
            const auto before = steady_clock::now();
            auto locks = Locks::connect(socket);
            const bool acquired =
                locks && locks->acquire(fmt::format("bystander-{}", i % 10), {.wait = 20s});
            if (!acquired) ++failed_;
            ++times_;
            slowest_ = std::max<Nanos>(slowest_, steady_clock::now() - before);
            std::this_thread::sleep_for(5ms);
          }
        }) {}
  ~Bystander() { end(); }
  void end() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int times() const { return times_; }
  int failed() const { return failed_; }
  Nanos slowest() const { return slowest_; }  // valid after `end`

 private:
  std::atomic<bool> over_ = false;
  std::atomic<int> times_ = 0;
  std::atomic<int> failed_ = 0;
  Nanos slowest_{0};
  std::thread thread_;
};

class ControlSocket : public Netns {
 protected:
  // A single host that is its own voter.
  void SetUp() override {
    Netns::SetUp();
    if (IsSkipped()) return;
    Site::Options alone = options("fast");
    alone.arguments = {"--set", "locks.expect=1"};
    site_.emplace(alone);
    site_->add({.user = user()});
    site_->start_all();
    ASSERT_TRUE(site_->wait(20s, [&] {
      const auto status = host().status();
      return status && status->locks.starts_with("1 voter; locks need ");
    })) << logs(*site_);
  }
  virtual std::string user() const { return ""; }
  Host& host() { return site_->host(0); }

  long resident_kb() {
    std::ifstream status(fmt::format("/proc/{}/status", host().worker()));
    for (std::string field; status >> field;)
      if (field == "VmRSS:") {
        long kb = 0;
        status >> kb;
        return kb;
      }
    return -1;
  }

  // While `harm` runs, a bystander is served, and the worker survives without growing much.
  void expect_no_harm(const std::function<void()>& harm) {
    const pid_t worker = host().worker();
    Bystander bystander(host().socket());
    ASSERT_TRUE(site_->wait(20s, [&] { return bystander.times() > 0; }));
    const long before = resident_kb();
    harm();
    const int so_far = bystander.times();
    EXPECT_TRUE(site_->wait(20s, [&] { return bystander.times() > so_far; }))
        << "no client is served";
    const long after = resident_kb();
    bystander.end();
    EXPECT_EQ(bystander.failed(), 0) << "of " << bystander.times();
    EXPECT_EQ(host().worker(), worker) << "the worker died\n" << host().log();
    EXPECT_LT(after - before, kMaxGrowth) << "from " << before << " kB";
    RecordProperty("grown_kb", static_cast<int>(after - before));
    RecordProperty("slowest_us", static_cast<int>(bystander.slowest() / 1us));
    RecordProperty("times", bystander.times());
  }
  // In kB. Sanitizers keep freed memory and shadow memory for a while.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr long kMaxGrowth = 700'000;
#else
  static constexpr long kMaxGrowth = 24'000;
#endif

  std::optional<Site> site_;
};

TEST_F(ControlSocket, RejectsGarbageWithASentence) {
  expect_no_harm([&] {
    Raw raw(host().socket());
    std::string bytes;
    for (int i = 0; i < 256; ++i)
      if (i != '\n') bytes += static_cast<char>(i);
    for (const std::string& line :
         {bytes, std::string("{"), std::string("[]"), std::string(4000, '{'), std::string(3, '\0'),
          std::string("{\"v\":1e999,\"do\":\"now\"}"), std::string("\"\\ud800\"")})
      EXPECT_THAT(raw.ask(line + '\n'), StartsWith(R"({"v":1,"ok":false,"error":")"));
    EXPECT_THAT(raw.ask(std::string(5000, 'x') + '\n'), HasSubstr("at most 4096 bytes"));
    EXPECT_THAT(raw.ask(kNow), StartsWith(R"({"v":1,"ok":true,"now")"))
        << "the connection still works";
  });
}

// libtempo reports a refusal that names no request.
TEST_F(ControlSocket, ReportsWhatIsWrongWithARequest) {
  auto locks = Locks::connect(host().socket());
  ASSERT_TRUE(locks) << locks.error().message;
  const auto lock = locks->acquire(std::string(5000, 'x'));
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::bad_request);
  EXPECT_THAT(lock.error().message, HasSubstr("at most 4096 bytes"));
  // A bad name was "refused", as if another try could help.
  const auto named = locks->acquire("two words");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, ErrorCode::bad_request) << named.error().message;
  EXPECT_TRUE(locks->acquire("short", {.wait = 20s})) << "the connection still works";

  std::vector<Locks> many;
  for (int i = 0; i < 200; ++i) {
    auto another = Locks::connect(host().socket());
    ASSERT_TRUE(another) << another.error().message;
    many.push_back(*std::move(another));
  }
  const auto unwanted = many.back().acquire("short");
  ASSERT_FALSE(unwanted);
  EXPECT_EQ(unwanted.error().code, ErrorCode::refused);
  EXPECT_THAT(unwanted.error().message, HasSubstr("too many connections"));
}

TEST_F(ControlSocket, HalfLinesDelayNoOtherClient) {
  expect_no_harm([&] {
    std::vector<Raw> halves;
    for (int i = 0; i < 100; ++i) {
      halves.emplace_back(host().socket());
      ASSERT_TRUE(halves.back().put(kNow.substr(0, 1 + static_cast<std::size_t>(i) % 18)));
    }
    for (Raw& half : halves) {
      const auto sent = 1 + static_cast<std::size_t>(&half - halves.data()) % 18;
      EXPECT_THAT(half.ask(kNow.substr(sent)), StartsWith(R"({"v":1,"ok":true,"now")"));
    }
  });
}

TEST_F(ControlSocket, AnswersManyLinesAtOnce) {
  constexpr int kFew = 50;
  constexpr int kLines = 1000;
  expect_no_harm([&] {
    Raw raw(host().socket());
    std::string some;
    for (int i = 0; i < kFew; ++i) some += kNow;
    raw.put(some);  // nothing more until all are answered
    for (int i = 0; i < kFew; ++i)
      ASSERT_THAT(raw.line().value_or("none"), StartsWith(R"({"v":1,"ok":true,"now")")) << i;
    std::string all;
    for (int i = 0; i < kLines; ++i) all += kNow;
    std::thread writer([&] {
      raw.put(all);
      raw.put("{\"v\":1,\"do\":\"status\"}");  // the last one, without a newline
      raw.end_writing();
    });
    int answered = 0;
    while (answered < kLines && raw.line().value_or("").starts_with(R"({"v":1,"ok":true,"now")"))
      ++answered;
    writer.join();
    EXPECT_EQ(answered, kLines);
    EXPECT_THAT(raw.line().value_or("closed"), StartsWith(R"({"v":1,"ok":true,"status")"));
    EXPECT_EQ(raw.line(), std::nullopt);
  });
}

TEST_F(ControlSocket, DisconnectsAnEndlessLine) {
  expect_no_harm([&] {
    Raw raw(host().socket());
    const std::string some(1 << 20, 'x');
    int megabytes = 0;
    while (megabytes < 100 && raw.put(some)) ++megabytes;
    EXPECT_LT(megabytes, 100) << "all of it was read";
    EXPECT_THAT(raw.line().value_or("closed without an answer"), HasSubstr("at most 4096 bytes"));
  });
}

TEST_F(ControlSocket, LimitsTheConnectionsOfOneProcess) {
  constexpr int kConnections = 10'000;
  struct Counts {
    int served = 0;
    int refused = 0;
  };
  std::array<int, 2> line{};
  ASSERT_EQ(pipe(line.data()), 0);
  pid_t child = 0;
  expect_no_harm([&] {
    child = fork();  // the bystander is another process
    if (child == 0) {
      const rlimit files{.rlim_cur = kConnections + 100, .rlim_max = kConnections + 100};
      if (setrlimit(RLIMIT_NOFILE, &files) != 0) _exit(1);
      std::vector<Raw> many;
      Counts counts;
      for (int i = 0; i < kConnections; ++i) many.emplace_back(host().socket());
      for (Raw& one : many) {
        one.put(kNow);
        const std::string reply = one.line().value_or("closed without an answer");
        counts.served += reply.starts_with(R"({"v":1,"ok":true)") ? 1 : 0;
        counts.refused += reply.find("too many connections") != std::string::npos ? 1 : 0;
      }
      (void)!write(line[1], &counts, sizeof counts);
      pause();
      _exit(0);
    }
    Counts counts;
    ASSERT_EQ(read(line[0], &counts, sizeof counts), static_cast<ssize_t>(sizeof counts));
    EXPECT_EQ(counts.served, 128);
    EXPECT_EQ(counts.refused, kConnections - 128);
  });
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(line[0]);
  close(line[1]);
}

TEST_F(ControlSocket, ClientsThatNeverReadDelayNoOtherClient) {
  expect_no_harm([&] {
    std::vector<Raw> silent;
    for (int i = 0; i < 100; ++i) silent.emplace_back(host().socket());
    // Half of them get a stream; the others send requests as fast as they can.
    for (std::size_t i = 0; i < silent.size(); i += 2)
      silent[i].push("{\"v\":1,\"do\":\"trace-follow\"}\n{\"v\":1,\"do\":\"watch\"}\n");
    std::string many;
    for (int i = 0; i < 1000; ++i) many += kStatus;
    for (const auto end = steady_clock::now() + 2s; steady_clock::now() < end;)
      for (const Raw& one : silent) one.push(many);
  });
}

TEST_F(ControlSocket, AFloodOfRequestsDelaysNoOtherClient) {
  expect_no_harm([&] {
    std::vector<Raw> many;
    for (int i = 0; i < 100; ++i) many.emplace_back(host().socket());
    int answers = 0;
    for (const auto end = steady_clock::now() + 2s; steady_clock::now() < end;) {
      for (const Raw& one : many) one.put(kStatus);
      for (Raw& one : many) answers += one.line().value_or("").starts_with(R"({"v":1,"ok":true)");
    }
    EXPECT_GT(answers, 100);
  });
}

// --- permissions ---

class Permissions : public ControlSocket {
 protected:
  // Like `tempo` in the packages: the daemon has its own user and group.
  std::string user() const override { return "daemon"; }

  struct Person {
    std::string user;
    std::string group;  // supplementary group; empty: none
    bool operator==(const Person&) const = default;
  };
  enum Outcome : int { allowed, not_allowed, other_error, no_such_user };
  // An operation that needs permission; returns the error, or nothing if it succeeded.
  using Operation = std::optional<Error> (*)(const std::string& socket);

  // Runs the operation as that user.
  Outcome run_as(const Person& person, Operation operation) {
    const pid_t child = fork();
    if (child == 0) _exit(become(person) ? outcome_of(operation) : no_such_user);
    int status = 0;
    waitpid(child, &status, 0);
    return static_cast<Outcome>(WEXITSTATUS(status));
  }

  static std::optional<Error> lock(const std::string& socket) {
    auto locks = Locks::connect(socket);
    if (!locks) return locks.error();
    const auto lock = locks->acquire("permitted", {.wait = 20s});
    if (!lock) return lock.error();
    return std::nullopt;
  }
  static std::optional<Error> elect(const std::string& socket) {
    const auto election = Election::stand("permitted", {.capacity = 1}, socket);
    if (!election) return election.error();
    return std::nullopt;
  }
  // The machine does not exist; the daemon says so only to clients that may ask.
  static std::optional<Error> forget(const std::string& socket) {
    ipc::Request request;
    request.verb = ipc::Verb::forget;
    request.host = "nowhere";
    auto client = client::Client::connect(socket, 20s);
    if (!client) return public_error(client.error());
    const auto reply = client->ask(request);
    if (!reply && reply.error().message.find("nowhere") == std::string::npos)
      return public_error(reply.error());
    return std::nullopt;
  }

 private:
  static bool become(const Person& person) {
    const passwd* const user = getpwnam(person.user.c_str());
    if (user == nullptr) return false;
    const uid_t id = user->pw_uid;
    const gid_t own = user->pw_gid;
    std::vector<gid_t> groups;
    if (!person.group.empty()) {
      const group* const more = getgrnam(person.group.c_str());
      if (more == nullptr) return false;
      groups.push_back(more->gr_gid);
    }
    return setgroups(groups.size(), groups.data()) == 0 && setgid(own) == 0 && setuid(id) == 0;
  }
  Outcome outcome_of(Operation operation) {
    const auto failure = operation(host().socket());
    if (!failure) return allowed;
    const bool denied = failure->code == ErrorCode::not_allowed &&
                        failure->message.find("usermod -aG tempo") != std::string::npos;
    return denied ? not_allowed : other_error;
  }
};

TEST_F(Permissions, OnlyRootAndTheGroupMayLockElectAndForget) {
  const std::array<std::pair<const char*, Operation>, 3> operations{
      {{"lock", lock}, {"elect", elect}, {"forget", forget}}};
  for (const auto& [name, operation] : operations) {
    SCOPED_TRACE(name);
    EXPECT_EQ(run_as({.user = "root", .group = ""}, operation), allowed);
    EXPECT_EQ(run_as({.user = "daemon", .group = ""}, operation), allowed);
    EXPECT_EQ(run_as({.user = "nobody", .group = "daemon"}, operation), allowed)
        << "a member of the group";
    EXPECT_EQ(run_as({.user = "nobody", .group = ""}, operation), not_allowed);
    EXPECT_EQ(run_as({.user = "nobody", .group = "sys"}, operation), not_allowed)
        << "another group";
    EXPECT_EQ(run_as({.user = "nobody", .group = "root"}, operation), not_allowed)
        << "root's group is not root";
  }
}

// Unprivileged clients may read, but together they leave connections for clients that may lock.
TEST_F(Permissions, UnprivilegedClientsLeaveConnectionsForOthers) {
  std::array<int, 2> line{};
  ASSERT_EQ(pipe(line.data()), 0);
  constexpr int kPrograms = 6;  // with 100 connections each: more than the limit
  std::vector<pid_t> children;
  for (int i = 0; i < kPrograms; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    const passwd* const nobody = getpwnam("nobody");
    if (setgroups(0, nullptr) != 0 || setgid(nobody->pw_gid) != 0 || setuid(nobody->pw_uid) != 0)
      _exit(1);
    std::vector<Raw> many;
    int refused = 0;
    for (int j = 0; j < 100; ++j) many.emplace_back(host().socket());
    for (Raw& one : many) {
      one.put(kNow);
      const std::string reply = one.line().value_or("closed without an answer");
      refused += reply.find("users outside tempod's group") != std::string::npos ? 1 : 0;
    }
    (void)!write(line[1], &refused, sizeof refused);
    pause();
    _exit(0);
  }
  int refused = 0;
  for (int i = 0; i < kPrograms; ++i) {
    int some = 0;
    ASSERT_EQ(read(line[0], &some, sizeof some), static_cast<ssize_t>(sizeof some));
    refused += some;
  }
  EXPECT_EQ(refused, kPrograms * 100 - 128);
  expect_no_harm([] {});
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  close(line[0]);
  close(line[1]);
}

}  // namespace
}  // namespace tempo::testbed
