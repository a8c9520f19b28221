// Lines of text over a unix socket: transport of the control protocol.
//
// A listener owns its socket file. It replaces a socket file without listener, but never one with a
// listener, and never a file that is not a socket. A connection sends and receives lines with
// limits in both directions: a line that is too long, or a reader so slow that too much is queued
// for it, breaks the connection. While output is queued for a client, no further input is read from
// it. No call blocks, and no SIGPIPE is raised.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/result.h"
#include "platform/descriptor.h"

namespace tempo::sys {

class UnixListener {
 public:
  // `mode` of the file, e.g. 0660: a process that may write the file may connect.
  static Result<UnixListener> open(const std::string& path, mode_t mode);
  ~UnixListener();  // removes the file if it is still the one of this listener
  UnixListener(UnixListener&&) noexcept = default;
  UnixListener& operator=(UnixListener&&) = delete;

  int descriptor() const { return socket_.number(); }  // to poll for POLLIN
  const std::string& path() const { return path_; }
  std::optional<Descriptor> accept();  // next pending connection; nothing: none
  // The last `accept` found no free descriptor. It closed the connection, so that the client does
  // not wait, and the caller should stop watching the listener for a moment: more may be pending.
  bool exhausted() const { return exhausted_; }

 private:
  UnixListener(Descriptor socket, std::string path);

  Descriptor socket_;
  std::string path_;
  dev_t device_ = 0;  // device of the socket file; with `inode_` it identifies the file
  ino_t inode_ = 0;
  Descriptor spare_;  // closed to accept a connection when no other descriptor is free
  bool exhausted_ = false;
};

// For clients: connects, or returns the reason. Does not wait.
Result<Descriptor> connect_unix(const std::string& path);

// Identity of the peer, recorded by the kernel when the connection was made.
struct Credentials {
  pid_t process = 0;
  uid_t user = 0;
  gid_t group = 0;
};

class LineConnection {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{16} * 1024;  // without the newline
  // Most bytes that may be queued. A single line may be longer: it is the answer to a request.
  static constexpr std::size_t kMaxQueued = std::size_t{256} * 1024;

  explicit LineConnection(Descriptor socket);

  int descriptor() const { return socket_.number(); }
  // Events to poll for: POLLOUT while output is queued or a complete line is already buffered (it
  // is taken once its answer can be sent), else POLLIN until end of input.
  short events() const;
  std::optional<Credentials> peer() const;
  bool peer_in_group(gid_t group) const;  // its primary group or a supplementary one

  // Returns the next complete line without its newline, reading available input; nothing: none yet.
  // The last line before end of input needs no newline.
  std::optional<std::string> line();

  // Sends a line (given without newline) as far as possible now; `flush` sends the rest. False: the
  // connection is broken.
  bool write(std::string_view line);
  bool flush();
  // Sends one last line on a broken connection, unless an earlier line was cut off; does not wait.
  void write_final(std::string_view line) const;

  bool finished() const {
    return ended_ && input_.empty();
  }  // end of input, and all of it was taken
  bool broken() const { return broken_ != nullptr; }
  const char* why() const { return broken_; }  // reason; null: not broken
  bool too_long() const { return too_long_; }  // it broke because a line was too long
  std::size_t queued() const { return output_.size() - sent_; }

 private:
  bool break_off(const char* why);
  void read_some();
  bool line_is_here() const;

  Descriptor socket_;
  std::string input_;         // at most kMaxLine and the bytes of one recv()
  std::size_t searched_ = 0;  // bytes of `input_` known to hold no newline
  std::string output_;        // at most kMaxQueued bytes, or one line, beyond `sent_`
  std::size_t sent_ = 0;
  bool ended_ = false;
  bool too_long_ = false;
  bool cut_ = false;  // queued output was lost when the connection broke
  const char* broken_ = nullptr;
};

}  // namespace tempo::sys
