#include "services/web/http_server.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <microhttpd.h>
#include <sys/socket.h>

namespace tempo::web {
namespace {

constexpr std::size_t kConnectionMemory = 16 * 1024;  // a request with more headers is refused
constexpr std::size_t kStreamBlock = 4096;
constexpr int kMaxSteps = 128;        // of a run
constexpr std::size_t kReserve = 16;  // free connections below which the oldest is closed

void keep_silent(void* /*self*/, const char* /*format*/, va_list /*values*/) {}

std::string_view header_of(MHD_Connection* connection, const char* name) {
  const char* const value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}
std::string_view argument_of(MHD_Connection* connection, const char* name) {
  const char* const value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
  return value == nullptr ? "" : value;
}

class HttpServerImpl final : public HttpServer {
 public:
  HttpServerImpl(const Site& site, const Messages& messages) : site_(site), messages_(messages) {}
  ~HttpServerImpl() override {
    for (auto& [connection, state] : connections_)
      if (state.stream && state.stream->waits) MHD_resume_connection(connection);
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }
  HttpServerImpl(const HttpServerImpl&) = delete;
  HttpServerImpl& operator=(const HttpServerImpl&) = delete;

  Result<void> listen(const sys::Address& address) {
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    if (address.family() == AF_INET6) flags |= MHD_USE_IPv6;
    daemon_ = MHD_start_daemon(
        flags, address.port(), nullptr, nullptr, &HttpServerImpl::on_request, this,
        MHD_OPTION_EXTERNAL_LOGGER, &keep_silent, nullptr, MHD_OPTION_SOCK_ADDR, address.raw(),
        MHD_OPTION_CONNECTION_LIMIT, kMaxConnections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        kConnectionMemory, MHD_OPTION_LISTEN_BACKLOG_SIZE, 256U, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_CONNECTION, &HttpServerImpl::on_connection, this,
        MHD_OPTION_NOTIFY_COMPLETED, &HttpServerImpl::on_completed, this, MHD_OPTION_END);
    if (daemon_ == nullptr)
      return std::unexpected(fmt::format("cannot listen on {}: {}; use another address or port",
                                         address.text_with_port(), std::strerror(errno)));
    const MHD_DaemonInfo* const info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_LISTEN_FD);
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (info != nullptr &&
        ::getsockname(info->listen_fd, reinterpret_cast<sockaddr*>(&bound), &size) == 0)
      address_ = sys::Address(reinterpret_cast<const sockaddr*>(&bound), size);
    return {};
  }

  int descriptor() const override {
    const MHD_DaemonInfo* const info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
    return info == nullptr ? -1 : info->epoll_fd;
  }

  bool run(Instant now) override {
    now_ = now;
    resume_streams();
    close_overdue();
    // The library takes one step of each connection per call; its descriptor does not say that
    // another step is possible, its timeout does.
    for (int i = 0; i < kMaxSteps; ++i) {
      MHD_run(daemon_);
      MHD_UNSIGNED_LONG_LONG wait_ms = 0;
      if (MHD_get_timeout(daemon_, &wait_ms) != MHD_YES || wait_ms != 0) return false;
    }
    return true;
  }

  sys::Address address() const override { return address_; }
  std::size_t connections() const override { return connections_.size(); }
  std::size_t streams() const override { return streams_; }

 private:
  struct Stream {
    HttpServerImpl* server;
    MHD_Connection* connection;
    Text message;            // of which a part is sent; null: none
    std::size_t sent = 0;    // bytes of it
    std::uint64_t next = 0;  // position of the next message
    bool waits = false;      // for a message: suspended
    bool ended = false;
    Instant active{};
  };
  struct Connection {
    int socket = -1;
    Instant since{};         // begin of the present request or response
    bool requested = false;  // a request is complete
    bool closing = false;
    std::unique_ptr<Stream> stream;
  };

  // --- callbacks of the library ---

  static void on_connection(void* self, MHD_Connection* connection, void** /*context*/,
                            MHD_ConnectionNotificationCode code) {
    static_cast<HttpServerImpl*>(self)->note_connection(connection, code);
  }
  void note_connection(MHD_Connection* connection, MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      const auto found = connections_.find(connection);
      if (found == connections_.end()) return;
      if (found->second.stream) --streams_;
      connections_.erase(found);
      return;
    }
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    Connection& state = connections_[connection];
    state.socket = info == nullptr ? -1 : info->connect_fd;
    state.since = now_;
    if (connections_.size() + kReserve > kMaxConnections) close_oldest();
  }

  static void on_completed(void* self, MHD_Connection* connection, void** /*context*/,
                           MHD_RequestTerminationCode /*code*/) {
    auto& server = *static_cast<HttpServerImpl*>(self);
    const auto found = server.connections_.find(connection);
    if (found == server.connections_.end()) return;
    if (found->second.stream) --server.streams_;
    found->second.stream.reset();
    found->second.requested = false;
    found->second.since = server.now_;
  }

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url,
                               const char* method, const char* /*version*/, const char* /*data*/,
                               std::size_t* size, void** context) {
    // Answered before any body arrives, another method ends the connection. Others are answered at
    // the end of the request, so that the connection stays; a body is dropped, within kRequestTime.
    static char headers_seen = 0;
    const bool reads = std::string_view(method) == "GET" || std::string_view(method) == "HEAD";
    if (reads && (*context == nullptr || *size != 0)) {
      *context = &headers_seen;
      *size = 0;
      return MHD_YES;
    }
    return static_cast<HttpServerImpl*>(self)->respond(connection, url, method);
  }

  static ssize_t on_read(void* stream, std::uint64_t /*position*/, char* into, std::size_t most) {
    auto& reader = *static_cast<Stream*>(stream);
    return reader.server->read(reader, into, most);
  }

  // --- requests ---

  MHD_Result respond(MHD_Connection* connection, const char* url, std::string_view method) {
    Connection& state = connections_[connection];
    state.requested = true;
    state.since = now_;
    if (method != "GET" && method != "HEAD")
      return refuse(connection, 405, "read only: GET or HEAD");
    const Response response = site_.answer({.path = url,
                                            .host = header_of(connection, "Host"),
                                            .authorization = header_of(connection, "Authorization"),
                                            .cookie = header_of(connection, "Cookie"),
                                            .accept = header_of(connection, "Accept"),
                                            .token = argument_of(connection, "token"),
                                            .id = argument_of(connection, "id"),
                                            .span_s = argument_of(connection, "span_s")},
                                           now_);
    if (response.stream && method == "GET") {
      if (streams_ >= kMaxStreams) return refuse(connection, 503, "too many event streams");
      return begin_stream(connection, state, response);
    }
    return send(connection, response.status, response.stream ? nullptr : response.body, response);
  }

  MHD_Result refuse(MHD_Connection* connection, unsigned status, const char* sentence) {
    const Response response{.status = status,
                            .body = std::make_shared<const std::string>(sentence)};
    return send(connection, status, response.body, response);
  }

  static void add_headers(MHD_Response* raw, const Response& response) {
    for (const Header& header : kHeaders) MHD_add_response_header(raw, header.name, header.value);
    MHD_add_response_header(raw, "Content-Type", std::string(response.type).c_str());
    for (const auto& [name, value] : response.headers)
      MHD_add_response_header(raw, std::string(name).c_str(), value.c_str());
  }

  static MHD_Result queue(MHD_Connection* connection, unsigned status, MHD_Response* raw) {
    if (raw == nullptr) return MHD_NO;
    const MHD_Result queued = MHD_queue_response(connection, status, raw);
    MHD_destroy_response(raw);
    return queued;
  }

  // The response shares the text, however long the client takes to read it.
  static MHD_Result send(MHD_Connection* connection, unsigned status, const Text& body,
                         const Response& response) {
    auto* const held = new Text(body);
    const std::size_t size = body == nullptr ? 0 : body->size();
    MHD_Response* const raw = MHD_create_response_from_buffer_with_free_callback_cls(
        size, size == 0 ? nullptr : const_cast<char*>(body->data()),
        [](void* text) { delete static_cast<Text*>(text); }, held);
    if (raw == nullptr) {
      delete held;
      return MHD_NO;
    }
    add_headers(raw, response);
    return queue(connection, status, raw);
  }

  // --- event streams ---

  MHD_Result begin_stream(MHD_Connection* connection, Connection& state, const Response& response) {
    state.stream = std::make_unique<Stream>(Stream{.server = this,
                                                   .connection = connection,
                                                   .message = response.body,
                                                   .next = messages_.next(),
                                                   .active = now_});
    ++streams_;
    MHD_Response* const raw = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, kStreamBlock, &HttpServerImpl::on_read, state.stream.get(), nullptr);
    if (raw == nullptr) return MHD_NO;
    add_headers(raw, response);
    return queue(connection, 200, raw);
  }

  ssize_t read(Stream& stream, char* into, std::size_t most) {
    if (stream.ended) return MHD_CONTENT_READER_END_WITH_ERROR;
    std::size_t filled = 0;
    while (filled < most) {
      if (stream.message == nullptr) {
        if (stream.next == messages_.next()) break;
        stream.message = messages_.at(stream.next);
        if (stream.message == nullptr) return MHD_CONTENT_READER_END_WITH_ERROR;  // too slow
        ++stream.next;
        stream.sent = 0;
      }
      const std::size_t size = std::min(most - filled, stream.message->size() - stream.sent);
      std::memcpy(into + filled, stream.message->data() + stream.sent, size);
      filled += size;
      stream.sent += size;
      if (stream.sent == stream.message->size()) stream.message = nullptr;
    }
    if (filled > 0) {
      stream.active = now_;
      return static_cast<ssize_t>(filled);
    }
    stream.waits = true;
    MHD_suspend_connection(stream.connection);
    return 0;
  }

  void resume_streams() {
    static const Text kAlive = std::make_shared<const std::string>(": alive\n\n");
    for (auto& [connection, state] : connections_) {
      if (!state.stream) continue;
      Stream& stream = *state.stream;
      if (!stream.waits) {
        // The reader has messages to take and has taken nothing for a while.
        if (now_ - stream.active > kResponseTime) close(state);
        continue;
      }
      const bool silent = now_ - stream.active >= kHeartbeat;
      if (stream.next == messages_.next() && !silent && !stream.ended) continue;
      if (stream.next == messages_.next()) {
        stream.message = kAlive;
        stream.sent = 0;
      }
      stream.waits = false;
      stream.active = now_;
      MHD_resume_connection(connection);
    }
  }

  // --- limits ---

  // The library notices the end of the connection and releases it.
  static void close(Connection& state) {
    if (state.closing) return;
    state.closing = true;
    if (state.stream) state.stream->ended = true;
    ::shutdown(state.socket, SHUT_RDWR);
  }

  void close_overdue() {
    if (now_ - checked_ < 250ms) return;
    checked_ = now_;
    for (auto& [connection, state] : connections_)
      if (!state.stream && now_ - state.since > (state.requested ? kResponseTime : kRequestTime))
        close(state);
  }

  void close_oldest() {
    Connection* oldest = nullptr;
    for (auto& [connection, state] : connections_)
      if (!state.requested && !state.closing && (oldest == nullptr || state.since < oldest->since))
        oldest = &state;
    if (oldest != nullptr) close(*oldest);
  }

  const Site& site_;
  const Messages& messages_;
  MHD_Daemon* daemon_ = nullptr;
  sys::Address address_;
  Instant now_{};
  Instant checked_{};
  std::map<MHD_Connection*, Connection> connections_;
  std::size_t streams_ = 0;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::open(const sys::Address& listen, const Site& site,
                                                     const Messages& messages) {
  auto server = std::make_unique<HttpServerImpl>(site, messages);
  if (auto listens = server->listen(listen); !listens) return std::unexpected(listens.error());
  return server;
}

}  // namespace tempo::web
