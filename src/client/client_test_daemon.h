// A scripted daemon for tests, on a socket of its own.
//
// For each line that contains `asked` it sends the lines of `answers`; `then` decides whether the
// connection stays open afterwards. It records all requests in order.
#pragma once

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tempo::client {

enum class Then : unsigned char { listen, close };

struct Canned {
  std::string asked;
  std::vector<std::string> answers;
  Then then = Then::listen;
};

class FakeDaemon {
 public:
  explicit FakeDaemon(std::vector<Canned> script) : script_(std::move(script)) {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("tempo_fake_" + std::to_string(getpid()) + '_' + std::to_string(++number));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.string().size());
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::filesystem::remove(path_);
    if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        listen(listener_, 16) != 0)
      std::abort();
    stop_ = eventfd(0, EFD_CLOEXEC);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeDaemon() {
    eventfd_write(stop_, 1);
    thread_.join();
    close(listener_);
    close(stop_);
    std::filesystem::remove(path_);
  }
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  std::string path() const { return path_.string(); }
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  struct Connection {
    int socket;
    std::string input;
  };

  void serve() {
    std::vector<Connection> connections;
    while (true) {
      std::vector<pollfd> polled{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
      for (const Connection& connection : connections)
        polled.push_back({connection.socket, POLLIN, 0});
      poll(polled.data(), polled.size(), -1);
      if (polled[0].revents != 0) break;
      // From the end, so that erasing does not move the entries still to be handled.
      for (std::size_t i = connections.size(); i-- > 0;)
        if (polled[i + 2].revents != 0 && !receive(connections[i])) {
          close(connections[i].socket);
          connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(i));
        }
      if (polled[1].revents != 0) connections.push_back({accept(listener_, nullptr, nullptr), {}});
    }
    for (const Connection& connection : connections) close(connection.socket);
  }

  bool receive(Connection& connection) {
    char buffer[4096];
    const ssize_t got = recv(connection.socket, buffer, sizeof(buffer), 0);
    if (got <= 0) return false;
    connection.input.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = connection.input.find('\n')) != std::string::npos;) {
      const std::string line = connection.input.substr(0, end);
      connection.input.erase(0, end + 1);
      if (!answer(connection, line)) return false;
    }
    return true;
  }

  bool answer(const Connection& connection, const std::string& line) {
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(line);
    }
    for (std::size_t i = 0; i < script_.size(); ++i) {
      if (line.find(script_[i].asked) == std::string::npos) continue;
      const Canned canned = script_[i];
      // Several entries for one request are used one after the other; the last one is repeated.
      for (std::size_t later = i + 1; later < script_.size(); ++later)
        if (script_[later].asked == canned.asked) {
          script_.erase(script_.begin() + static_cast<std::ptrdiff_t>(i));
          break;
        }
      for (const std::string& text : canned.answers) {
        const std::string sent = text + '\n';
        if (send(connection.socket, sent.data(), sent.size(), MSG_NOSIGNAL) < 0) return false;
      }
      return canned.then == Then::listen;
    }
    return true;
  }

  std::vector<Canned> script_;
  std::filesystem::path path_;
  int listener_ = -1, stop_ = -1;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
};

}  // namespace tempo::client
