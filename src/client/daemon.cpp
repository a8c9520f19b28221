#include "tempo/daemon.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/span_text.h"
#include "client/client.h"
#include "client/news_wait.h"
#include "client/public_error.h"
#include "client/status_json.h"

namespace tempo {

using std::chrono::nanoseconds;

// It belongs to the process that made it.
class DaemonConnection {
 public:
  DaemonConnection(client::Client opened, std::string socket, nanoseconds most)
      : client(std::move(opened)), path(std::move(socket)), timeout(most) {}

  static Expected<std::unique_ptr<DaemonConnection>, Error> open(const std::string& socket,
                                                                 nanoseconds most) {
    auto opened = client::Client::connect(socket, most);
    if (!opened) return Unexpected{public_error(opened.error())};
    return std::make_unique<DaemonConnection>(*std::move(opened), socket, most);
  }

  Expected<ipc::Reply, Error> ask(ipc::Verb verb) {
    if (const auto foreign = not_ours()) return Unexpected{*foreign};
    auto reply = client.ask({.verb = verb, .by_ns = {}, .to_ns = {}});
    if (!reply) return Unexpected{public_error(reply.error())};
    return *std::move(reply);
  }

  std::optional<Error> not_ours() const {
    if (getpid() == owner) return std::nullopt;
    return Error{ErrorCode::refused,
                 "this connection belongs to the process that forked this one; connect anew"};
  }

  client::Client client;
  std::string path;
  nanoseconds timeout;
  pid_t owner = getpid();
};

namespace {

Error nonsense(const std::string& what) {
  return {ErrorCode::no_daemon,
          fmt::format("tempod's answer cannot be understood: {}; use the libtempo that came with "
                      "it",
                      what)};
}

// Nothing: it is neither, as the word that a stream begins.
Expected<std::optional<Update>, Error> news_in(const ipc::Reply& reply) {
  Update news;
  if (reply.body.has("event")) {
    const auto event = ipc::event_of(reply);
    if (!event) return Unexpected{nonsense(event.error())};
    news.event = Event{event->name, NetworkTime{nanoseconds{event->at_ns}}, event->text};
  } else if (const auto snapshot = reply.body.at("status")) {
    news.status = status_of(*snapshot);
  } else {
    return std::optional<Update>();
  }
  return std::optional(std::move(news));
}

}  // namespace

Expected<Daemon, Error> Daemon::connect(const std::string& socket, nanoseconds timeout) {
  auto connection = DaemonConnection::open(socket, timeout);
  if (!connection) return Unexpected{connection.error()};
  return Daemon(*std::move(connection));
}

Daemon::Daemon(std::unique_ptr<DaemonConnection> connection) : connection_(std::move(connection)) {}
Daemon::~Daemon() = default;
Daemon::Daemon(Daemon&&) noexcept = default;
Daemon& Daemon::operator=(Daemon&&) noexcept = default;

Expected<Now, Error> Daemon::now() {
  const auto reply = connection_->ask(ipc::Verb::now);
  if (!reply) return Unexpected{reply.error()};
  const auto now = ipc::now_of(*reply);
  if (!now) return Unexpected{nonsense(now.error())};
  return now_of(*now);
}

Expected<Status, Error> Daemon::status() {
  const auto reply = connection_->ask(ipc::Verb::status);
  if (!reply) return Unexpected{reply.error()};
  const auto snapshot = reply->body.at("status");
  if (!snapshot) return Unexpected{nonsense("there is no status in it")};
  return status_of(*snapshot);
}

Expected<Watch, Error> Daemon::watch() {
  if (const auto foreign = connection_->not_ours()) return Unexpected{*foreign};
  auto connection = DaemonConnection::open(connection_->path, connection_->timeout);
  if (!connection) return Unexpected{connection.error()};
  if (const auto begun = (*connection)->ask(ipc::Verb::watch); !begun)
    return Unexpected{begun.error()};
  return Watch(*std::move(connection));
}

Watch::Watch(std::unique_ptr<DaemonConnection> connection) : connection_(std::move(connection)) {}
Watch::~Watch() = default;
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&&) noexcept = default;

Expected<Update, Error> Watch::next(nanoseconds wait, int cancel) {
  using Clock = std::chrono::steady_clock;
  if (const auto foreign = connection_->not_ours()) return Unexpected{*foreign};
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const auto reply = connection_->client.next(nanoseconds{0});
    if (!reply) return Unexpected{public_error(reply.error())};
    if (*reply) {
      auto news = news_in(**reply);
      if (!news) return Unexpected{news.error()};
      if (*news) return **std::move(news);
      continue;
    }
    const nanoseconds left = wait - (Clock::now() - begin);
    if (left <= left.zero())
      return Unexpected{
          Error{ErrorCode::too_late,
                fmt::format("no news came within {}", span_text(std::max(wait, nanoseconds{0})))}};
    if (!wait_for_news(descriptor(), left, cancel))
      return Unexpected{Error{ErrorCode::cancelled, "the waiting was cancelled"}};
  }
}

int Watch::descriptor() const { return connection_->client.descriptor(); }

}  // namespace tempo
