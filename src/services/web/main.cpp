// tempo-web: a page, a JSON API, an event stream and metrics. See man/tempo-web.8.
#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "api/page_file.h"
#include "platform/clocks/oscillator.h"
#include "platform/confinement.h"
#include "platform/host.h"
#include "platform/whole_file.h"
#include "services/web/feed.h"
#include "services/web/http_server.h"
#include "services/web/model.h"
#include "services/web/site.h"
#include "tempo_version.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr std::uint16_t kPort = 8525;
constexpr std::size_t kShortestToken = 16;  // characters
constexpr std::size_t kLongestToken = 256;

volatile int g_stop = 0;

int fail(int code, const std::string& sentence) {
  fmt::print(stderr, "tempo-web: {}\n", sentence);
  return code;
}

bool loopback(const tempo::sys::Address& address) {
  return address.text().starts_with("127.") || address.text() == "::1";
}

// Port 0 is any free one, which Address::parse takes for a mistake.
tempo::Result<tempo::sys::Address> listen_address(const std::string& text) {
  constexpr std::string_view kAnyPort = ":0";
  if (!text.ends_with(kAnyPort) || text.ends_with("::0"))
    return tempo::sys::Address::parse(text, kPort);
  TRY(address, tempo::sys::Address::parse(text.substr(0, text.size() - kAnyPort.size()), kPort));
  return address.with_port(0);
}

// The token is the first line of a file that only its owner can read.
tempo::Result<std::string> read_token(const std::string& path) {
  const std::vector<uid_t> owners{geteuid()};
  const auto file = tempo::sys::read_secret(path, kLongestToken + 1, owners);
  if (file.state == tempo::sys::FileState::absent)
    return std::unexpected(fmt::format(
        "there is no token file {0}; create it: (umask 077; openssl rand -hex 32 > {0})", path));
  if (file.state == tempo::sys::FileState::lost) return std::unexpected(file.error);
  const std::string token = file.text.substr(0, file.text.find('\n'));
  const bool valid = std::ranges::all_of(
      token, [](char c) { return c > ' ' && c <= '~' && c != ';' && c != ','; });
  if (token.size() < kShortestToken || !valid)
    return std::unexpected(fmt::format(
        "{}: a token has at least {} letters and digits; create one with 'openssl rand -hex 32'",
        path, kShortestToken));
  return token;
}

// `user`: to switch to, if this process is root's.
tempo::Result<void> confine(const std::string& user) {
  auto dropped = tempo::sys::drop_privileges(
      {.user = geteuid() == 0 ? user : "", .set_clock = false, .bind_low_port = false});
  return dropped ? tempo::sys::filter_system_calls({.http_server = true}) : dropped;
}

void serve(tempo::web::Feed& feed, tempo::web::HttpServer& server) {
  constexpr int kLongestWaitMs = 100;  // limits the delay of a signal that arrives before the wait
  std::vector<pollfd> polled;
  bool more = false;
  while (g_stop == 0) {
    polled.assign(1, {.fd = server.descriptor(), .events = POLLIN, .revents = 0});
    for (const int descriptor : feed.descriptors())
      polled.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    ::poll(polled.data(), polled.size(), more ? 0 : kLongestWaitMs);
    const tempo::Instant now = tempo::sys::raw_now();
    feed.run(now);
    more = server.run(now);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "tempo-web: shows the network's time, leaders and locks in a browser.\n"
      "It serves one page, a JSON API, an event stream and metrics, from tempod of this machine.\n"
      "It changes nothing."};
  std::string socket = tempo::client::kDefaultSocket;
  std::string listen = fmt::format("127.0.0.1:{}", kPort);
  std::string token_file;
  std::vector<std::string> names;
  std::string user = "nobody";
  app.add_option("--socket", socket, "control socket of tempod")
      ->envname("TEMPO_SOCKET")
      ->capture_default_str();
  app.add_option("--listen", listen,
                 "address and port; port 0: any free one. An address other than the loopback's "
                 "requires --token-file")
      ->capture_default_str();
  app.add_option("--token-file", token_file,
                 "file with the token that readers must have, readable by its owner only");
  app.add_option("--host-name", names,
                 "name under which browsers reach this server, beside its address; repeatable");
  app.add_option("--user", user, "user to switch to when started as root")->capture_default_str();
  app.set_version_flag("--version", version_line("tempo-web"));
  app.footer(
      "Exit status: 0 stopped on request, 1 failed, 2 invalid usage.\n\n"
      "Examples:\n"
      "  tempo-web                                      http://127.0.0.1:8525/\n"
      "  tempo-web --listen 0.0.0.0:8525 --token-file /etc/tempo/web-token --host-name mast.lan\n"
      "  curl -s http://127.0.0.1:8525/api/v1/status | jq .data.status");
  CLI11_PARSE(app, argc, argv);

  const auto address = listen_address(listen);
  if (!address) return fail(kBadUsage, fmt::format("--listen: {}", address.error()));
  if (!loopback(*address) && token_file.empty())
    return fail(kBadUsage,
                fmt::format("{} is not a loopback address: give --token-file, or keep 127.0.0.1 "
                            "and use a reverse proxy that checks its users",
                            address->text()));
  std::string token;
  if (!token_file.empty()) {
    auto read = read_token(token_file);
    if (!read) return fail(kBadUsage, read.error());
    token = *std::move(read);
  }
  names.insert(names.end(),
               {"localhost", "127.0.0.1", "::1", address->text(), tempo::sys::host_name()});

  struct sigaction action{};
  action.sa_handler = [](int signal) { g_stop = signal; };
  for (const int signal : {SIGTERM, SIGINT}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  tempo::web::Model model;
  const tempo::web::Site site(
      model, {.hosts = names, .token = token, .page = tempo::page::path_for(socket)});
  const auto server = tempo::web::HttpServer::open(*address, site, model.messages());
  if (!server) return fail(kFailed, server.error());
  if (const auto confined = confine(user); !confined) return fail(kFailed, confined.error());
  fmt::print(stderr, "tempo-web: http://{}/\n", (*server)->address().text_with_port());
  tempo::web::Feed feed(model, socket);
  serve(feed, **server);
  return 0;
}
