// Locks of redis and etcd for comparison, each as one server on the loopback interface. A server
// that is not installed is skipped.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock_row.h"

namespace tempo::bench {

class Server {
 public:
  explicit Server(const std::vector<std::string>& command) {
    std::fflush(nullptr);
    process_ = fork();
    if (process_ != 0) return;
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& argument : command)
      arguments.push_back(const_cast<char*>(argument.c_str()));
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
  // Sends `text` and reads the answer until `whole` accepts it; empty: no answer.
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

// The lock of redis's manual: SET NX with a time limit, and retries.
inline bool redis_once(Wire& wire, const std::string& name) {
  const auto line = [](std::string_view answer) { return answer.ends_with("\r\n"); };
  for (int tries = 0; tries < 1'000'000; ++tries) {
    const std::string answer = wire.ask(fmt::format("SET {} me NX PX 2000\r\n", name), line);
    if (answer.empty()) return false;
    if (answer.starts_with("+OK")) break;
    usleep(200);
  }
  return !wire.ask(fmt::format("DEL {}\r\n", name), line).empty();
}

// etcd's lock service, through its JSON gateway on a persistent connection.
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
    const std::string key = fmt::format(R"("{}":")", name);
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

inline bool wait_until(Clock::duration limit, const std::function<bool()>& done) {
  for (const auto end = Clock::now() + limit; Clock::now() < end;) {
    if (done()) return true;
    usleep(50'000);
  }
  return false;
}

inline std::optional<Row> redis_row(Clock::duration span) {
  const std::uint16_t port = 26'379;
  const Server server(
      {"redis-server", "--port", std::to_string(port), "--save", "", "--bind", "127.0.0.1"});
  if (!wait_until(std::chrono::seconds{5}, [&] { return server.died() || Wire(port).good(); }) ||
      !Wire(port).good())
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

inline std::optional<Row> etcd_row(Clock::duration span) {
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
    if (wait_until(std::chrono::seconds{20}, [&] { return server.died() || Etcd(port).good(); }) &&
        Etcd(port).good()) {
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

}  // namespace tempo::bench
