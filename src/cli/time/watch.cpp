#include "cli/time/watch.h"

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "cli/time/watch_screen.h"
#include "cli/time/watch_view.h"

namespace tempo::cli {
namespace {

constexpr Nanos kRetry = 1s;

// The stream of snapshots and events. Both arrive on one connection: the verb `watch` carries the
// events too, so that each of them arrives once.
class Feed {
 public:
  static Result<Feed, client::Error> open(const std::string& socket, Nanos timeout) {
    TRY(client, client::Client::connect(socket, timeout));
    TRY(sent, client.send(request_of(ipc::Verb::watch)));
    (void)sent;
    return Feed(std::move(client));
  }

  // Waits for the first reply for at most `wait`, or until a key is pressed or a signal arrives;
  // then calls `take` for each reply. Returns false when `take` returns false: the caller stops.
  template <class Take>
  Result<bool, client::Error> pump(Nanos wait, bool keyboard, const Take& take) {
    std::array<pollfd, 2> ends{
        {{client_.descriptor(), POLLIN, 0}, {keyboard ? STDIN_FILENO : -1, POLLIN, 0}}};
    poll(ends.data(), ends.size(), static_cast<int>(wait / 1ms));
    while (true) {
      TRY(reply, client_.next(Nanos{0}));
      if (!reply) return true;
      if (!take(*reply)) return false;
    }
  }

 private:
  explicit Feed(client::Client client) : client_(std::move(client)) {}

  client::Client client_;
};

std::optional<obs::Snapshot> snapshot_of(const ipc::Reply& reply) {
  const auto status = reply.body.at("status");
  if (!status) return std::nullopt;
  auto snapshot = obs::from_json(status->line());
  if (!snapshot) return std::nullopt;
  return *std::move(snapshot);
}

// Prints replies as lines: JSON in full, text only when it says something new.
class LinePrinter {
 public:
  explicit LinePrinter(const WatchArguments& arguments) : arguments_(&arguments) {}

  // False: the last line was printed.
  bool take(const ipc::Reply& reply) {
    const bool printed = arguments_->daemon.json ? take_json(reply) : take_text(reply);
    return !printed || ++lines_ != arguments_->lines;
  }

 private:
  static bool take_json(const ipc::Reply& reply) {
    for (const char* const key : {"event", "status"})
      if (const auto value = reply.body.at(key)) {
        print_json_line(Json::object().add(key, *value));
        return true;
      }
    return false;  // the acknowledgement of the request
  }

  bool take_text(const ipc::Reply& reply) {
    if (const auto event = ipc::event_of(reply)) {
      print("{}\n", event_text(*event));
    } else if (const auto snapshot = snapshot_of(reply)) {
      if (std::exchange(shown_, change_key(*snapshot)) == change_key(*snapshot)) return false;
      print("{}\n", watch_line(*snapshot));
    } else {
      return false;
    }
    std::fflush(stdout);
    return true;
  }

  const WatchArguments* arguments_;
  std::uint64_t lines_ = 0;
  std::string shown_;  // change_key of the last status line
};

int watch_plainly(const WatchArguments& arguments, Nanos timeout) {
  auto feed = Feed::open(arguments.daemon.socket, timeout);
  if (!feed) return report(feed.error());
  LinePrinter printer(arguments);
  while (!interrupted()) {
    const auto more =
        feed->pump(500ms, false, [&](const ipc::Reply& reply) { return printer.take(reply); });
    if (!more) return interrupted() ? kInterrupted : report(more.error());
    if (!*more) return kDone;
  }
  return kInterrupted;
}

int watch_on(WatchScreen& screen, const WatchArguments& arguments, Nanos timeout) {
  WatchView view;
  std::optional<Feed> feed;
  Instant retry_at{};
  Instant reachable_at = steady_now();  // last time that the connection was open
  const bool unicode = stdout_shows_unicode();
  const auto take = [&](const ipc::Reply& reply) {
    if (const auto event = ipc::event_of(reply))
      view.take(*event);
    else if (const auto snapshot = snapshot_of(reply))
      view.take(*snapshot);
    return true;
  };
  while (!interrupted()) {
    if (!feed && steady_now() >= retry_at) {
      retry_at = steady_now() + kRetry;
      if (auto opened = Feed::open(arguments.daemon.socket, timeout)) feed = *std::move(opened);
    }
    if (feed) {
      if (feed->pump(250ms, true, take))
        reachable_at = steady_now();
      else
        feed.reset();
    } else {
      pollfd keyboard{STDIN_FILENO, POLLIN, 0};
      poll(&keyboard, 1, 250);
    }
    if (!feed) view.set_unreachable(steady_now() - reachable_at);
    if (screen.quit_pressed()) return kDone;
    screen.draw(view.screen(screen.width(), screen.height(), unicode));
  }
  return kInterrupted;
}

}  // namespace

int watch(const WatchArguments& arguments) {
  const auto timeout = span_of(arguments.daemon.timeout, "--timeout");
  if (!timeout) return timeout.error();
  const InterruptGuard guard;
  const bool lines = arguments.plain || arguments.daemon.json || arguments.lines > 0 ||
                     !stdout_is_terminal() || isatty(STDIN_FILENO) != 1;
  if (!lines) {
    // A wrong --socket is reported before the screen opens: the user can read the error.
    if (const auto first = client::Client::connect(arguments.daemon.socket, *timeout); !first)
      return report(first.error());
    if (const auto screen = WatchScreen::open()) return watch_on(*screen, arguments, *timeout);
  }
  return watch_plainly(arguments, *timeout);
}

}  // namespace tempo::cli
