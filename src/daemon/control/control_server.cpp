#include "daemon/control/control_server.h"

#include <algorithm>
#include <list>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "api/control_protocol.h"
#include "daemon/control/authorizer.h"
#include "daemon/control/connection.h"
#include "daemon/control/requests.h"
#include "daemon/worker.h"
#include "platform/unix_socket.h"

namespace tempo::daemon {
namespace {

// Every user of the host may connect. These limits ensure that one client cannot starve the others.
constexpr std::size_t kMaxClients = 512;
constexpr std::size_t kMaxClientsOfProcess = 128;
constexpr std::size_t kMaxUnprivilegedClients = 128;  // all clients that may only read
constexpr int kMaxAcceptsAtOnce = 16;
constexpr int kMaxLinesAtOnce = 16;  // requests per client and turn...
constexpr Nanos kTurn{100us};        // ...which ends when it has lasted this long
constexpr Nanos kTurns{1ms};         // time for all clients before the network is served again
constexpr mode_t kEverybody = 0666;  // read access for all; the credentials decide about the rest

}  // namespace

class ControlServer::Impl {
 public:
  Impl(ServedProcess process, std::unique_ptr<Answers> answers, sys::UnixListener listener)
      : process_(std::move(process)),
        listener_(std::move(listener)),
        authorizer_(process_.candidates),
        answers_(std::move(answers)) {
    process_.loop->watch(listener_.descriptor(), POLLIN, [this](short) { accept_clients(); });
    process_.each_round([this] {
      serve_clients();
      serve_waiting();
    });
  }
  ~Impl() {
    process_.each_round({});
    for (Connection& client : clients_) process_.loop->forget(client.socket().descriptor());
    process_.loop->forget(listener_.descriptor());
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  using Place = std::list<Connection>::iterator;

  void accept_clients() {
    for (int i = 0; i < kMaxAcceptsAtOnce; ++i) {
      std::optional<sys::Descriptor> descriptor = listener_.accept();
      if (listener_.exhausted()) process_.loop->rest(listener_.descriptor(), 100ms);
      if (!descriptor) return;
      sys::LineConnection socket(*std::move(descriptor));
      const auto peer = socket.peer();
      const Privilege privilege = authorizer_.privilege_of(socket);
      Connection client(std::move(socket), peer ? peer->process : 0, privilege);
      if (const std::string_view why = refusal_of(client); !why.empty()) {
        client.socket().write(
            ipc::refusal_line({.code = ipc::Code::unavailable, .message = std::string(why)}));
        continue;
      }
      clients_.push_back(std::move(client));
      const Place place = std::prev(clients_.end());
      process_.loop->watch(place->socket().descriptor(), POLLIN, [place](short events) {
        place->ready = true;
        place->hung_up = (events & (POLLHUP | POLLERR)) != 0;
      });
    }
  }

  // Empty: accepted.
  std::string_view refusal_of(const Connection& client) const {
    if (clients_.size() >= kMaxClients)
      return "too many connections to tempod; close some and try again";
    const auto of_process = std::ranges::count(clients_, client.process(), &Connection::process);
    if (std::cmp_greater_equal(of_process, kMaxClientsOfProcess))
      return "too many connections of this process to tempod; close some and try again";
    if (client.may(Privilege::elect)) return "";
    const auto readers = std::ranges::count(clients_, Privilege::read, &Connection::privilege);
    if (std::cmp_greater_equal(readers, kMaxUnprivilegedClients))
      return "too many connections of users outside tempod's group; close some and try again";
    return "";
  }

  void disconnect(Place client) {
    answers_->disconnect(*client);
    process_.loop->forget(client->socket().descriptor());
    clients_.erase(client);
  }

  // Clients that may lock are served before those that may only read, each in turn: a served client
  // moves to the end of the list. A client without a turn stays ready for the next round.
  void serve_clients() {
    const Instant until = process_.now() + kTurns;
    for (const bool may_lock : {true, false}) {
      Place client = clients_.begin();
      for (std::size_t left = clients_.size(); left > 0; --left) {
        const Place current = client++;
        if (!current->ready || current->may(Privilege::elect) != may_lock) continue;
        if (process_.now() >= until) return;
        current->ready = false;
        clients_.splice(clients_.end(), clients_, current);
        receive(current);
      }
    }
  }

  void receive(Place client) {
    sys::LineConnection& socket = client->socket();
    socket.flush();
    const Instant until = process_.now() + kTurn;
    for (int i = 0; i < kMaxLinesAtOnce && socket.queued() == 0; ++i) {
      const std::optional<std::string> line = socket.line();
      if (!line) break;
      const std::string reply = answers_->answer(*client, *line);
      if (!reply.empty()) socket.write(reply);
      if (process_.now() >= until) break;
    }
    settle(client);
  }

  // Disconnects a client that is gone or does not read; else sets the events to poll for.
  void settle(Place client) {
    sys::LineConnection& socket = client->socket();
    if (socket.too_long())
      socket.write_final(ipc::refusal_line(
          {.code = ipc::Code::bad_request,
           .message = fmt::format(
               "a request has at most {} bytes; this one is longer, so the connection is closed",
               ipc::kMaxRequest)}));
    const bool waits_for_reply = !client->hung_up && (socket.queued() > 0 || client->pending() > 0);
    if (socket.broken() || (socket.finished() && !waits_for_reply))
      disconnect(client);
    else
      process_.loop->expect(socket.descriptor(), socket.events());
  }

  // Clients that wait for an answer or have a stream.
  void serve_waiting() {
    answers_->serve_streams();
    for (Place client = clients_.begin(); client != clients_.end();) {
      const Place current = client++;
      current->write_pending();
      if (current->take_notified()) settle(current);
    }
  }

  ServedProcess process_;
  sys::UnixListener listener_;
  Authorizer authorizer_;
  std::list<Connection> clients_;
  std::unique_ptr<Answers> answers_;
};

ControlServer::ControlServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlServer::ControlServer(ControlServer&&) noexcept = default;
ControlServer::~ControlServer() = default;

Result<ControlServer> ControlServer::open(Worker& worker, const std::string& path) {
  return open(
      {.loop = &worker.loop(),
       .now = [&worker] { return worker.now(); },
       .each_round =
           [&worker](std::function<void()> callback) { worker.each_round(std::move(callback)); },
       .candidates = worker.settings().group_users},
      std::make_unique<Requests>(worker), path);
}

Result<ControlServer> ControlServer::open(ServedProcess process, std::unique_ptr<Answers> answers,
                                          const std::string& path) {
  TRY(listener, sys::UnixListener::open(path, kEverybody));
  return ControlServer(
      std::make_unique<Impl>(std::move(process), std::move(answers), std::move(listener)));
}

}  // namespace tempo::daemon
