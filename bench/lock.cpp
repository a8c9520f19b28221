// What a lock costs between real daemons: three of them in network namespaces (needs root, else it
// says so and ends), and clients that use libtempo. Beside it, in the same run, etcd and redis
// where they are installed, each alone on the loopback interface: a lock there is one server's
// word.
//
//   bench_lock [--seconds S]
//
// "fresh" is a lock nobody has held before, "cached" one whose lease is still with this host.
// Datagrams are those of all three daemons, by their own counts; what they say without locks is
// taken off. Then what `tempo lock` costs around a command, beside flock(1), and how soon the next
// one has the lock of a holder that was killed.
#include "live/client/lock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/report/table.h"
#include "live/sys/confinement.h"
#include "live/testbed/site.h"

namespace {

using namespace tempo;
using namespace tempo::testbed;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kHosts = 3;
constexpr std::size_t kContenders = 8;

double micros(Clock::duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

struct Timed {
  std::vector<double> us;
  double per_s = 0;

  double at(double part) {
    if (us.empty()) return 0;
    std::ranges::sort(us);
    return us[static_cast<std::size_t>(part * static_cast<double>(us.size() - 1))];
  }
};

// Does it again and again for so long, or so often.
Timed time(Clock::duration limit, std::size_t most, const std::function<bool(std::size_t)>& todo) {
  Timed timed;
  const auto start = Clock::now();
  auto before = start;
  while (before - start < limit && timed.us.size() < most) {
    if (!todo(timed.us.size())) break;
    const auto after = Clock::now();
    timed.us.push_back(micros(after - before));
    before = after;
  }
  timed.per_s = static_cast<double>(timed.us.size()) * 1e6 / micros(before - start);
  return timed;
}

// Eight at once on one lock, for so long: how often each had it.
struct Fairness {
  std::array<std::uint64_t, kContenders> times{};
  double per_s = 0;

  double spread() const {
    const auto [least, most] = std::ranges::minmax_element(times);
    return *least == 0 ? 0 : static_cast<double>(*most) / static_cast<double>(*least);
  }
};
using Contender = std::function<bool()>;  // has the lock once
Fairness contend(Clock::duration limit, const std::function<Contender(std::size_t)>& make) {
  Fairness fairness;
  std::vector<std::thread> threads;
  const auto start = Clock::now();
  for (std::size_t i = 0; i < kContenders; ++i)
    threads.emplace_back([&, i] {
      const Contender once = make(i);
      while (Clock::now() - start < limit && once()) ++fairness.times[i];
    });
  for (std::thread& thread : threads) thread.join();
  std::uint64_t all = 0;
  for (const std::uint64_t count : fairness.times) all += count;
  fairness.per_s = static_cast<double>(all) * 1e6 / micros(Clock::now() - start);
  return fairness;
}

// --- tempo ---

std::optional<std::uint64_t> datagrams(Site& site) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < kHosts; ++i) {
    const auto status = site.host(i).status();
    if (!status) return std::nullopt;
    all += status->counters.at("datagrams_sent");
  }
  return all;
}

bool ready(Site& site) {
  for (std::size_t i = 0; i < kHosts; ++i) {
    const auto status = site.host(i).status();
    if (!status || !status->locks.starts_with("locks are safe")) return false;
  }
  return true;
}

Locks connected(const std::string& socket) {
  auto locks = Locks::connect(socket);
  if (!locks) {
    fmt::print(stderr, "{}\n", locks.error().sentence);
    std::exit(1);
  }
  return std::move(*locks);
}

bool once(Locks& locks, const std::string& name) {
  const auto lock = locks.take(name);
  if (!lock) fmt::print(stderr, "{}\n", lock.error().sentence);
  return lock.has_value();
}

// --- rivals: one server on the loopback interface, and sockets ---

class Server {
 public:
  explicit Server(const std::vector<std::string>& words) {
    std::fflush(nullptr);
    process_ = fork();
    if (process_ != 0) return;
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    if (std::freopen("/dev/null", "w", stdout) == nullptr ||
        std::freopen("/dev/null", "w", stderr) == nullptr)
      _exit(1);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  ~Server() {
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  bool died() const { return waitpid(process_, nullptr, WNOHANG) != 0; }

 private:
  pid_t process_ = 0;
};

class Wire {
 public:
  explicit Wire(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    good_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Wire() { close(socket_); }
  Wire(Wire&& other) noexcept : socket_(std::exchange(other.socket_, -1)), good_(other.good_) {}
  Wire& operator=(Wire&&) = delete;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool good() const { return good_; }
  // The answer, once `whole` says that it is all there; empty: none came.
  std::string ask(std::string_view text, const std::function<bool(std::string_view)>& whole) {
    if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return "";
    std::string answer;
    std::array<char, 4096> some{};
    while (!whole(answer)) {
      const ssize_t size = recv(socket_, some.data(), some.size(), 0);
      if (size <= 0) return "";
      answer.append(some.data(), static_cast<std::size_t>(size));
    }
    return answer;
  }

 private:
  int socket_;
  bool good_ = false;
};

// The recipe of redis's manual: SET NX with a time limit, and a try again soon.
bool redis_once(Wire& wire, const std::string& name) {
  const auto line = [](std::string_view answer) { return answer.ends_with("\r\n"); };
  for (int tries = 0; tries < 1'000'000; ++tries) {
    const std::string answer = wire.ask(fmt::format("SET {} me NX PX 2000\r\n", name), line);
    if (answer.empty()) return false;
    if (answer.starts_with("+OK")) break;
    usleep(200);
  }
  return !wire.ask(fmt::format("DEL {}\r\n", name), line).empty();
}

// etcd's own lock service, by its JSON gateway on a connection that stays open.
class Etcd {
 public:
  explicit Etcd(std::uint16_t port) : wire_(port) {
    lease_ = field(post("/v3/lease/grant", R"({"TTL":60})"), "ID");
  }
  bool good() const { return wire_.good() && !lease_.empty(); }
  bool once(const std::string& name) {
    const std::string key =
        field(post("/v3/lock/lock",
                   fmt::format(R"({{"name":"{}","lease":"{}"}})", encoded(name), lease_)),
              "key");
    return !key.empty() && !post("/v3/lock/unlock", fmt::format(R"({{"key":"{}"}})", key)).empty();
  }

 private:
  static std::string encoded(const std::string& text) {  // base64
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < text.size(); i += 3) {
      std::uint32_t bits = 0;
      for (std::size_t j = 0; j < 3; ++j)
        bits = bits << 8U | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0U);
      for (std::size_t j = 0; j < 4; ++j)
        out += i + j <= text.size() ? kDigits[bits >> (18 - 6 * j) & 63U] : '=';
    }
    return out;
  }
  static std::string field(const std::string& answer, std::string_view name) {
    const std::string key = fmt::format("\"{}\":\"", name);
    const std::size_t at = answer.find(key);
    if (at == std::string::npos) return "";
    const std::size_t from = at + key.size();
    return answer.substr(from, answer.find('"', from) - from);
  }
  std::string post(std::string_view path, const std::string& body) {
    return wire_.ask(
        fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", path,
                    body.size(), body),
        [](std::string_view answer) {
          const std::size_t head = answer.find("\r\n\r\n");
          const std::size_t length = answer.find("Content-Length: ");
          if (head == std::string_view::npos || length == std::string_view::npos) return false;
          const auto size =
              std::strtoul(std::string(answer.substr(length + 16, 12)).c_str(), nullptr, 10);
          return answer.size() >= head + 4 + size;
        });
  }

  Wire wire_;
  std::string lease_;
};

// --- the table ---

struct Row {
  std::string name;
  Timed fresh{}, again{};
  Fairness eight{};
};

void print(std::vector<Row>& rows) {
  report::Table table({"",
                       {"fresh, median us", report::Align::right},
                       {"p99", report::Align::right},
                       {"again, median us", report::Align::right},
                       {"one client, /s", report::Align::right},
                       {"eight, /s", report::Align::right},
                       {"most/least", report::Align::right}});
  for (Row& row : rows)
    table.row({row.name, fmt::format("{:.0f}", row.fresh.at(0.5)),
               fmt::format("{:.0f}", row.fresh.at(0.99)), fmt::format("{:.0f}", row.again.at(0.5)),
               fmt::format("{:.0f}", row.again.per_s), fmt::format("{:.0f}", row.eight.per_s),
               fmt::format("{:.2f}", row.eight.spread())});
  fmt::print("{}", table.text());
}

bool wait_until(Clock::duration limit, const std::function<bool()>& done) {
  for (const auto end = Clock::now() + limit; Clock::now() < end;) {
    if (done()) return true;
    usleep(50'000);
  }
  return false;
}

// --- commands under a lock ---

std::string beside(const std::string& program) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string();
}

// From one start to the end, in turn, so that what else the machine does strikes both.
void time_commands(Site& site) {
  const std::vector<std::string> ours{beside("tempo"), "lock", "--socket", site.host(0).socket(),
                                      "command",       "--",   "true"};
  const std::vector<std::string> theirs{"flock", site.directory() + "/flock", "true"};
  Timed tempo;
  Timed flock;
  constexpr int kTimes = 100;
  for (int i = 0; i < kTimes; ++i)
    for (const auto& [words, into] : {std::pair{&theirs, &flock}, {&ours, &tempo}}) {
      const auto from = Clock::now();
      if (run(*words) != 0) return;
      into->us.push_back(micros(Clock::now() - from));
    }
  const double more = (tempo.at(0.5) - flock.at(0.5)) / 1000;
  fmt::print("tempo lock -- true: {:.1f} ms, flock: {:.1f} ms; {:.1f} ms more, bar 10 {}\n",
             tempo.at(0.5) / 1000, flock.at(0.5) / 1000, more, more <= 10 ? "met" : "not met");
}

// A holder at the first host is killed while a program at the second waits: how long until it has
// the lock.
Timed time_inheritance(Site& site, const std::function<pid_t(const std::string&)>& hold) {
  Timed timed;
  constexpr int kTimes = 20;
  Locks locks = connected(site.host(1).socket());
  for (int i = 0; i < kTimes; ++i) {
    const std::string name =
        fmt::format("killed-{}-{}", i, Clock::now().time_since_epoch().count());
    const pid_t holder = hold(name);
    for (int tries = 0; tries < 1000 && locks.take(name, {.wait = 0s}); ++tries) usleep(1000);
    Clock::time_point killed;
    std::thread killer([&] {
      usleep(50'000);  // so that the other waits
      killed = Clock::now();
      kill(holder, SIGKILL);
    });
    const auto lock = locks.take(name, {.wait = 20s});
    const auto had = Clock::now();
    killer.join();
    waitpid(holder, nullptr, 0);
    if (!lock) break;
    timed.us.push_back(micros(had - killed));
  }
  return timed;
}

void print_inheritance(const char* who, Timed timed) {
  fmt::print("{} killed: the next one has the lock after {:.2f} ms, at most {:.2f}, bar 50 {}\n",
             who, timed.at(0.5) / 1000, timed.at(1) / 1000,
             !timed.us.empty() && timed.at(1) <= 50'000 ? "met" : "not met");
}

void time_inheritances(Site& site) {
  const std::string socket = site.host(0).socket();
  print_inheritance("program", time_inheritance(site, [&](const std::string& name) {
                      std::fflush(nullptr);
                      const pid_t child = fork();
                      if (child != 0) return child;
                      Locks own = connected(socket);
                      const auto lock = own.take(name);
                      pause();
                      _exit(0);
                    }));
  print_inheritance("tempo lock", time_inheritance(site, [&](const std::string& name) {
                      std::fflush(nullptr);
                      const pid_t child = fork();
                      if (child != 0) return child;
                      execl(beside("tempo").c_str(), "tempo", "lock", "--socket", socket.c_str(),
                            name.c_str(), "--", "sleep", "60", static_cast<char*>(nullptr));
                      _exit(127);
                    }));
}

std::optional<Row> tempo_row(Clock::duration span) {
  Site site(
      {.tempod = beside("tempod"), .realtime = true, .arguments = {"--set", "locks.expect=3"}});
  for (std::size_t i = 0; i < kHosts; ++i) site.add();
  site.start_all();
  if (!site.wait(30s, [&] { return site.master() >= 0 && ready(site); })) {
    fmt::print(stderr, "{}", site.describe());
    return std::nullopt;
  }
  Row row{.name = "tempo, three daemons"};
  Locks locks = connected(site.host(0).socket());
  const auto idle_from = datagrams(site);
  const auto idle_start = Clock::now();
  usleep(1'000'000);
  const double idle =
      static_cast<double>(*datagrams(site) - *idle_from) / micros(Clock::now() - idle_start);
  const auto before = datagrams(site);
  const auto start = Clock::now();
  row.fresh.us.clear();
  constexpr std::size_t kFresh = 2000;
  for (std::size_t i = 0; i < kFresh; ++i) {
    const auto from = Clock::now();
    if (!once(locks, fmt::format("fresh-{}", i))) return std::nullopt;
    row.fresh.us.push_back(micros(Clock::now() - from));
  }
  const double said =
      static_cast<double>(*datagrams(site) - *before) - idle * micros(Clock::now() - start);
  usleep(3'000'000);  // until the fresh ones are given up
  const auto cached = datagrams(site);
  const auto cached_start = Clock::now();
  row.again = time(span, 1'000'000, [&](std::size_t) { return once(locks, "again"); });
  const double again =
      static_cast<double>(*datagrams(site) - *cached) - idle * micros(Clock::now() - cached_start);
  row.eight = contend(span, [&](std::size_t i) -> Contender {
    auto own = std::make_shared<Locks>(connected(site.host(i % kHosts).socket()));
    return [own] { return once(*own, "eight"); };
  });
  fmt::print("datagrams for each lock: fresh {:.2f} (bar 3), again {:.4f}\n",
             said / static_cast<double>(kFresh), again / static_cast<double>(row.again.us.size()));
  time_commands(site);
  time_inheritances(site);
  return row;
}

std::optional<Row> redis_row(Clock::duration span) {
  const std::uint16_t port = 26'379;
  const Server server(
      {"redis-server", "--port", std::to_string(port), "--save", "", "--bind", "127.0.0.1"});
  if (!wait_until(5s, [&] { return server.died() || Wire(port).good(); }) || !Wire(port).good())
    return std::nullopt;
  Row row{.name = "redis, one server"};
  Wire wire(port);
  row.fresh =
      time(span, 2000, [&](std::size_t i) { return redis_once(wire, fmt::format("f{}", i)); });
  row.again = time(span, 1'000'000, [&](std::size_t) { return redis_once(wire, "again"); });
  row.eight = contend(span, [&](std::size_t) -> Contender {
    auto own = std::make_shared<Wire>(port);
    return [own] { return redis_once(*own, "eight"); };
  });
  return row;
}

std::optional<Row> etcd_row(Clock::duration span) {
  const std::uint16_t port = 22'379;
  const std::string directory =
      (std::filesystem::temp_directory_path() / fmt::format("bench-etcd-{}", getpid())).string();
  std::optional<Row> row;
  {
    const std::string client = fmt::format("http://127.0.0.1:{}", port);
    const std::string peer = fmt::format("http://127.0.0.1:{}", port + 1);
    const Server server({"etcd", "--data-dir", directory, "--listen-client-urls", client,
                         "--advertise-client-urls", client, "--listen-peer-urls", peer,
                         "--initial-advertise-peer-urls", peer, "--initial-cluster",
                         "default=" + peer});
    if (wait_until(20s, [&] { return server.died() || Etcd(port).good(); }) && Etcd(port).good()) {
      row.emplace(Row{.name = "etcd, one server"});
      Etcd etcd(port);
      row->fresh =
          time(span, 2000, [&](std::size_t i) { return etcd.once(fmt::format("f{}", i)); });
      row->again = time(span, 1'000'000, [&](std::size_t) { return etcd.once("again"); });
      row->eight = contend(span, [&](std::size_t) -> Contender {
        auto own = std::make_shared<Etcd>(port);
        return [own] { return own->once("eight"); };
      });
    }
  }
  std::filesystem::remove_all(directory);
  return row;
}

}  // namespace

int main(int count, char** words) {
  Clock::duration span = std::chrono::seconds{3};
  for (int i = 1; i + 1 < count; i += 2)
    if (std::string_view(words[i]) == "--seconds")
      span = std::chrono::milliseconds{std::lround(1000 * std::atof(words[i + 1]))};
  if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) {
    fmt::print("bench_lock: left out: {}\n", obstacle);
    return 0;
  }
  // As the daemons have it: this program only measures.
  if (const auto urgent = sys::run_real_time(19, sys::Children::ordinary); !urgent)
    fmt::print("{}\n", urgent.error());
  std::vector<Row> rows;
  auto own = tempo_row(span);
  if (!own) return 1;
  rows.push_back(std::move(*own));
  for (const auto& rival : {redis_row, etcd_row})
    if (auto row = rival(span)) rows.push_back(std::move(*row));
  print(rows);
  for (std::size_t i = 1; i < rows.size(); ++i)
    fmt::print("{} / tempo: fresh {:.2f}, one client {:.2f}, eight {:.2f}\n", rows[i].name,
               rows[i].fresh.at(0.5) / rows[0].fresh.at(0.5),
               rows[0].again.per_s / rows[i].again.per_s,
               rows[0].eight.per_s / rows[i].eight.per_s);
  fmt::print(
      "bars: fresh median 150 us {}, one client 5000/s {}, eight 2000/s {}, most/least 1.5 {}\n",
      rows[0].fresh.at(0.5) <= 150 ? "met" : "not met",
      rows[0].again.per_s >= 5000 ? "met" : "not met",
      rows[0].eight.per_s >= 2000 ? "met" : "not met",
      rows[0].eight.spread() > 0 && rows[0].eight.spread() <= 1.5 ? "met" : "not met");
  return 0;
}
