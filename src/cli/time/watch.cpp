#include "cli/time/watch.h"

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/time/watch_screen.h"
#include "cli/time/watch_view.h"

namespace tempo::cli {
namespace {

constexpr Nanos kRetry = 1s;

// Two connections, one for snapshots and one for events: each is a stream of its own.
class Feed {
 public:
  static Result<Feed, client::Error> open(const std::string& socket, Nanos timeout) {
    TRY(status, client::Client::connect(socket, timeout));
    TRY(events, client::Client::connect(socket, timeout));
    TRY(watching, status.send(request_of(ipc::Verb::watch)));
    TRY(hearing, events.send(request_of(ipc::Verb::events)));
    (void)watching, (void)hearing;
    return Feed(std::move(status), std::move(events));
  }

  // Calls `take` for each reply that is there, after waiting for the first as long as `wait`, or
  // less if a key is pressed or a signal comes. `take` says whether to go on.
  template <class Take>
  Result<bool, client::Error> pump(Nanos wait, bool keyboard, const Take& take) {
    std::array<pollfd, 3> ends{{{status_.descriptor(), POLLIN, 0},
                                {events_ ? events_->descriptor() : -1, POLLIN, 0},
                                {keyboard ? STDIN_FILENO : -1, POLLIN, 0}}};
    poll(ends.data(), ends.size(), static_cast<int>(wait / 1ms));
    // Events first: they tell how the status that follows came about.
    while (events_) {
      auto event = events_->next(Nanos{0});
      if (!event) {
        // A daemon without events still has a status.
        if (event.error().code != client::ErrorCode::refused) break;
        events_.reset();
      } else if (!*event) {
        break;
      } else if (!take(**event)) {
        return false;
      }
    }
    while (true) {
      TRY(reply, status_.next(Nanos{0}));
      if (!reply) return true;
      if (!take(*reply)) return false;
    }
  }

 private:
  Feed(client::Client status, client::Client events)
      : status_(std::move(status)), events_(std::move(events)) {}

  client::Client status_;
  std::optional<client::Client> events_;
};

std::optional<obs::Snapshot> snapshot_of(const ipc::Reply& reply) {
  const auto status = reply.body.at("status");
  if (!status) return std::nullopt;
  auto snapshot = obs::from_json(status->line());
  if (!snapshot) return std::nullopt;
  return *std::move(snapshot);
}

int watch_plainly(const WatchArguments& arguments, Nanos timeout) {
  auto feed = Feed::open(arguments.daemon.socket, timeout);
  if (!feed) return report(feed.error());
  std::uint64_t printed = 0;
  const auto print = [&](const ipc::Reply& reply) {
    std::string line;
    if (const auto event = ipc::event_of(reply))
      line = arguments.daemon.json ? Json::object().add("event", *reply.body.at("event")).line()
                                   : event_text(*event);
    else if (const auto snapshot = snapshot_of(reply))
      line = arguments.daemon.json ? Json::object().add("status", *reply.body.at("status")).line()
                                   : watch_line(*snapshot);
    if (line.empty()) return true;  // tempod's word that it agrees
    fmt::print("{}\n", line);
    std::fflush(stdout);
    return ++printed != arguments.lines;
  };
  while (!interrupted()) {
    const auto more = feed->pump(500ms, false, print);
    if (!more) return interrupted() ? kInterrupted : report(more.error());
    if (!*more) return kDone;
  }
  return kInterrupted;
}

int watch_on(WatchScreen& screen, const WatchArguments& arguments, Nanos timeout) {
  WatchView view;
  std::optional<Feed> feed;
  Instant retry_at{};
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
      auto opened = Feed::open(arguments.daemon.socket, timeout);
      if (opened)
        feed = *std::move(opened);
      else
        view.lost(opened.error().message);
    }
    if (feed) {
      const auto more = feed->pump(250ms, true, take);
      if (!more) {
        view.lost(more.error().message);
        feed.reset();
      }
    } else {
      pollfd keyboard{STDIN_FILENO, POLLIN, 0};
      poll(&keyboard, 1, 250);
    }
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
    // Before the screen is taken: whoever mistyped the socket wants to read the sentence.
    if (const auto first = client::Client::connect(arguments.daemon.socket, *timeout); !first)
      return report(first.error());
    if (const auto screen = WatchScreen::open()) return watch_on(*screen, arguments, *timeout);
  }
  return watch_plainly(arguments, *timeout);
}

}  // namespace tempo::cli
