#include "tempo/daemon.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/span_text.h"
#include "client/client.h"
#include "client/public_error.h"
#include "client/status_json.h"
#include "client/wait_readable.h"

namespace tempo {

using std::chrono::nanoseconds;

// Belongs to the process that made it; a forked child cannot use it.
class DaemonConnection {
 public:
  DaemonConnection(client::Client connected, std::string socket, nanoseconds max_wait)
      : client(std::move(connected)), path(std::move(socket)), timeout(max_wait) {}

  static Expected<std::unique_ptr<DaemonConnection>, Error> open(const std::string& socket,
                                                                 nanoseconds max_wait) {
    auto connected = client::Client::connect(socket, max_wait);
    if (!connected) return Unexpected{public_error(connected.error())};
    return std::make_unique<DaemonConnection>(*std::move(connected), socket, max_wait);
  }

  Expected<ipc::Reply, Error> ask(ipc::Verb verb) {
    if (const auto error = check_owner()) return Unexpected{*error};
    auto reply = client.ask({.verb = verb, .by_ns = {}, .to_ns = {}});
    if (!reply) return Unexpected{public_error(reply.error())};
    return *std::move(reply);
  }

  std::optional<Error> check_owner() const {
    if (getpid() == owner) return std::nullopt;
    return Error{ErrorCode::refused,
                 "this connection belongs to the parent process; open a new one after fork()"};
  }

  client::Client client;
  std::string path;
  nanoseconds timeout;
  pid_t owner = getpid();
};

namespace {

Error bad_reply(const std::string& what) {
  return {ErrorCode::no_daemon,
          fmt::format("invalid reply from tempod: {}; use the libtempo that came with it", what)};
}

// Returns nullopt for any other reply, such as the acknowledgement at the start of a stream.
Expected<std::optional<Update>, Error> update_in(const ipc::Reply& reply) {
  Update update;
  if (reply.body.has("event")) {
    const auto event = ipc::event_of(reply);
    if (!event) return Unexpected{bad_reply(event.error())};
    update.event = Event{event->name, NetworkTime{nanoseconds{event->at_ns}}, event->text};
  } else if (const auto snapshot = reply.body.at("status")) {
    update.status = status_of(*snapshot);
  } else {
    return std::optional<Update>();
  }
  return std::optional(std::move(update));
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
  if (!now) return Unexpected{bad_reply(now.error())};
  return now_of(*now);
}

Expected<Status, Error> Daemon::status() {
  const auto reply = connection_->ask(ipc::Verb::status);
  if (!reply) return Unexpected{reply.error()};
  const auto snapshot = reply->body.at("status");
  if (!snapshot) return Unexpected{bad_reply("it has no status")};
  return status_of(*snapshot);
}

Expected<Watch, Error> Daemon::watch() {
  if (const auto error = connection_->check_owner()) return Unexpected{*error};
  auto connection = DaemonConnection::open(connection_->path, connection_->timeout);
  if (!connection) return Unexpected{connection.error()};
  if (const auto started = (*connection)->ask(ipc::Verb::watch); !started)
    return Unexpected{started.error()};
  return Watch(*std::move(connection));
}

Watch::Watch(std::unique_ptr<DaemonConnection> connection) : connection_(std::move(connection)) {}
Watch::~Watch() = default;
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&&) noexcept = default;

Expected<Update, Error> Watch::next(nanoseconds wait, int cancel) {
  using Clock = std::chrono::steady_clock;
  if (const auto error = connection_->check_owner()) return Unexpected{*error};
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const auto reply = connection_->client.next(nanoseconds{0});
    if (!reply) return Unexpected{public_error(reply.error())};
    if (*reply) {
      auto update = update_in(**reply);
      if (!update) return Unexpected{update.error()};
      if (*update) return **std::move(update);
      continue;
    }
    const nanoseconds left = wait - (Clock::now() - begin);
    if (left <= left.zero())
      return Unexpected{
          Error{ErrorCode::timed_out,
                fmt::format("no update within {}", span_text(std::max(wait, nanoseconds{0})))}};
    if (!wait_readable(descriptor(), left, cancel))
      return Unexpected{Error{ErrorCode::cancelled, "the wait was cancelled"}};
  }
}

int Watch::descriptor() const { return connection_->client.descriptor(); }

}  // namespace tempo
