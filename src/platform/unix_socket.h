// Lines of text over a unix socket: the daemon's door for programs on the same host.
//
// A listener owns its file: it takes the place of one that nobody listens at any more, never of one
// that somebody does, nor of anything that is not a socket. A connection gives and takes lines with
// bounds on both sides: a line that is too long, or a reader so slow that too much waits for it,
// breaks the connection; while anything waits for a reader, nothing more is taken from it. Nothing
// blocks, and no signal is raised.
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
  // `mode` of the file, 0660: whoever may write it may connect.
  static Result<UnixListener> open(const std::string& path, mode_t mode);
  ~UnixListener();  // removes the file, if it is still this one
  UnixListener(UnixListener&&) noexcept = default;
  UnixListener& operator=(UnixListener&&) = delete;

  int descriptor() const { return socket_.number(); }  // to poll for POLLIN
  const std::string& path() const { return path_; }
  std::optional<Descriptor> accept();  // the next who waits, or nothing

 private:
  UnixListener(Descriptor socket, std::string path);

  Descriptor socket_;
  std::string path_;
  dev_t device_ = 0;  // of the file, with `inode_`
  ino_t inode_ = 0;
};

// For clients: connects, or says why not. Does not wait.
Result<Descriptor> connect_unix(const std::string& path);

// Who is at the other end, as the kernel knew it when the connection was made.
struct Credentials {
  pid_t process = 0;
  uid_t user = 0;
  gid_t group = 0;
};

class LineConnection {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{16} * 1024;  // without the newline
  // Bytes that wait for the reader. A single line may be longer: it is what the reader asked for.
  static constexpr std::size_t kMaxQueued = std::size_t{256} * 1024;

  explicit LineConnection(Descriptor socket);

  int descriptor() const { return socket_.number(); }
  // To poll for: POLLOUT while something waits for the reader, else POLLIN while lines may come. A
  // line that is here already can be taken once its answer could be sent: that is POLLOUT, too.
  short events() const;
  std::optional<Credentials> peer() const;
  bool peer_in_group(gid_t group) const;  // its first group, or another of them

  // The next whole line, without its newline, reading what there is; or nothing. A last line needs
  // no newline.
  std::optional<std::string> line();

  // Sends a line (without newline) as far as it goes now; the rest waits for `flush`. False if the
  // connection is broken.
  bool write(std::string_view line);
  bool flush();
  // To one whose connection is broken, if nothing was cut off in the middle and it goes now.
  void write_final(std::string_view line) const;

  bool finished() const { return ended_ && input_.empty(); }  // the other end says no more
  bool broken() const { return broken_ != nullptr; }
  const char* why() const { return broken_; }  // it is broken; null if it is not
  bool too_long() const { return too_long_; }  // a line was: that is why
  std::size_t queued() const { return output_.size() - sent_; }

 private:
  bool break_off(const char* why);
  void read_some();
  bool line_is_here() const;

  Descriptor socket_;
  std::string input_;         // at most kMaxLine and what one reading brings
  std::size_t searched_ = 0;  // of `input_`, without a newline
  std::string output_;        // at most kMaxQueued, or a line, beyond `sent_`
  std::size_t sent_ = 0;
  bool ended_ = false;
  bool too_long_ = false;
  bool cut_ = false;  // something that waited was lost when it broke
  const char* broken_ = nullptr;
};

}  // namespace tempo::sys
