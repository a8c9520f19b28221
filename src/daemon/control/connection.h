// One connection of the control server: its socket, the rights of its process, and answers that
// follow later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/check.h"
#include "platform/unix_socket.h"

namespace tempo::daemon {

// Each includes those before it.
enum class Privilege : std::uint8_t {
  read,    // every process that can open the socket
  elect,   // candidates of its own: the users of groups.users
  lock,    // locks, groups and voters: the group of the daemon
  change,  // everything else: root and the user of the daemon
};

class Connection {
 public:
  static constexpr std::size_t kMaxPending = 16;

  Connection(sys::LineConnection socket, pid_t process, Privilege privilege)
      : socket_(std::move(socket)), process_(process), privilege_(privilege) {}

  sys::LineConnection& socket() { return socket_; }
  pid_t process() const { return process_; }
  Privilege privilege() const { return privilege_; }
  bool may(Privilege needed) const { return privilege_ >= needed; }

  // A line that answers no request just read. May be called while another client is served; the
  // server closes broken connections at the end of the round.
  void write(std::string_view line) {
    socket_.write(line);
    notified_ = true;
  }

  // The answer to a request that follows later: `answer` is called in every round until it returns
  // the line. If the client goes before that, `withdraw` is called instead: no order is carried out
  // for a client that is gone. At most kMaxPending are deferred at a time.
  using Answer = std::function<std::optional<std::string>()>;
  void defer(Answer answer, std::function<void()> withdraw) {
    CHECK(pending_.size() < kMaxPending);
    pending_.push_back({.answer = std::move(answer), .withdraw = std::move(withdraw)});
  }
  std::size_t pending() const { return pending_.size(); }
  void write_pending() {
    std::erase_if(pending_, [this](const Pending& pending) {
      const std::optional<std::string> line = pending.answer();
      if (line) write(*line);
      return line.has_value();
    });
  }
  // The client is gone.
  void withdraw_pending() {
    for (const Pending& pending : std::exchange(pending_, {})) pending.withdraw();
  }
  // True if lines were written since the last call.
  bool take_notified() { return std::exchange(notified_, false); }

  bool ready = false;    // has input or can be written; served in this round
  bool hung_up = false;  // the peer has closed its end

 private:
  struct Pending {
    Answer answer;
    std::function<void()> withdraw;
  };

  sys::LineConnection socket_;
  pid_t process_;
  Privilege privilege_;
  std::vector<Pending> pending_;
  bool notified_ = false;
};

}  // namespace tempo::daemon
