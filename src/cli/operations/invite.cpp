#include "cli/operations/invite.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "api/settings.h"
#include "base/json.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "platform/host.h"
#include "platform/interfaces.h"
#include "platform/network.h"
#include "platform/whole_file.h"
#include "protocol/auth/invitation.h"

namespace tempo::cli {
namespace {

constexpr Nanos kRepeat = 500ms;  // a request may be lost

// --- before the token is used: everything that could fail on this machine ---

struct Place {
  config::Settings settings{};  // of this machine
  bool configured = false;      // there is a configuration file
  std::string key_file{};
};

Result<Place> place_of(const JoinArguments& arguments) {
  Place place;
  std::error_code ignored;
  place.configured = std::filesystem::exists(arguments.config, ignored);
  const auto settings = config::load_settings(arguments.config, place.configured, {});
  if (!settings)
    return std::unexpected(
        fmt::format("{}: {}", settings.error().front().where, settings.error().front().what));
  place.settings = *settings;
  place.key_file = arguments.key_file.empty() ? settings->key_file : arguments.key_file;
  if (place.key_file.empty())
    return std::unexpected(
        fmt::format("{} says key-file = \"\": this machine uses no key; remove that line first",
                    arguments.config));
  if (!arguments.force && std::filesystem::exists(place.key_file, ignored))
    return std::unexpected(fmt::format(
        "{} exists: this machine has a key already; --force replaces it", place.key_file));
  for (const std::string& path : {place.key_file, arguments.config}) {
    const auto directory = std::filesystem::path(path).parent_path();
    std::filesystem::create_directories(directory, ignored);
    if (::access(directory.c_str(), W_OK) != 0)
      return std::unexpected(fmt::format("cannot write to {}; use sudo", directory.string()));
  }
  return place;
}

// --- the request ---

// Each address by a socket of its own, so that one without a route does not keep others from being
// asked.
Result<void> add_addresses(const std::vector<std::string>& addresses, std::uint16_t port,
                           std::vector<sys::NetworkOptions>& ways) {
  for (const std::string& text : addresses) {
    TRY(address, sys::Address::parse(text, port));
    TRY(any, sys::Address::parse(address.family() == AF_INET ? "0.0.0.0" : "[::]:0", 0));
    ways.push_back({.label = text, .bind = {any}, .everyone = {address}});
  }
  return {};
}

Result<std::vector<sys::NetworkOptions>> ways_to_members(const JoinArguments& arguments,
                                                         const auth::AddressedToken& token) {
  std::vector<sys::NetworkOptions> ways;
  if (arguments.peers.empty()) {
    if (auto added = add_addresses(token.addresses, JoinArguments{}.port, ways); !added)
      return std::unexpected(added.error() + ", after @ in the token; copy it again");
    for (const bool ipv6 : {false, true}) {
      TRY(found, sys::find_networks({}, arguments.port, ipv6));
      for (sys::NetworkOptions& network : found) {
        network.bind.resize(1);
        network.bind[0] = network.bind[0].with_port(0);
        network.multicast = false;
        network.port = 0;
        ways.push_back(std::move(network));
      }
    }
    if (ways.empty())
      return std::unexpected("no network interface is up; give a member with --peer ADDRESS");
    return ways;
  }
  if (auto added = add_addresses(arguments.peers, arguments.port, ways); !added)
    return std::unexpected(added.error());
  return ways;
}

struct Answer {
  auth::Membership membership{};
  sys::Address from{};  // of the member
};

// Repeats the request until a member answers; nullopt: none does.
std::optional<Answer> ask_members(const auth::JoinAttempt& attempt,
                                  std::vector<std::unique_ptr<sys::Network>>& networks,
                                  Nanos timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  auto next = std::chrono::steady_clock::now();
  std::vector<pollfd> waiting;
  for (const auto& network : networks)
    for (const int descriptor : network->descriptors())
      waiting.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return std::nullopt;
    if (now >= next) {
      for (const auto& network : networks) network->broadcast(attempt.request());
      next = now + kRepeat;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(next, end) - now);
    ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
    for (const auto& network : networks)
      for (int i = 0; i < sys::Network::kMaxAtOnce; ++i) {
        const auto arrival = network->receive();
        if (!arrival) break;
        if (auto membership = attempt.open(arrival->bytes))
          return Answer{.membership = *std::move(membership), .from = arrival->from};
      }
  }
}

// --- the result ---

std::string quoted(const std::string& text) {
  const std::string line = Json::array().push(text).line();  // a JSON string is a TOML string too
  return line.substr(1, line.size() - 2);
}

// Lines that the configuration needs for this cluster.
std::vector<std::string> lines_for(const Place& place, const auth::Membership& membership) {
  std::vector<std::string> lines;
  if (place.settings.cluster != membership.cluster)
    lines.push_back("cluster = " + quoted(membership.cluster));
  if (place.settings.port != membership.port)
    lines.push_back(fmt::format("port = {}", membership.port));
  if (place.settings.key_file != place.key_file)
    lines.push_back("key-file = " + quoted(place.key_file));
  return lines;
}

int finish(const JoinArguments& arguments, const Place& place, const Answer& answer) {
  const auth::Membership& membership = answer.membership;
  const auto written =
      sys::write_secret(place.key_file, auth::key_file_text(membership.keys),
                        arguments.force ? sys::WriteMode::replace : sys::WriteMode::create);
  if (!written)
    return print_error(kViolation,
                       written.error() + "; the invitation is used up: make another one");
  const std::vector<std::string> lines = lines_for(place, membership);
  std::string missing;
  for (const std::string& line : lines) missing += line + '\n';
  if (!lines.empty() && place.configured)
    return print_error(
        kViolation,
        fmt::format("the key is in {}, but {} does not fit this cluster; set there, before any "
                    "table:\n{}",
                    place.key_file, arguments.config, missing));
  if (!lines.empty()) {
    const auto configured = sys::replace_file(arguments.config, missing);
    if (!configured)
      return print_error(kViolation,
                         fmt::format("{}; write there:\n{}", configured.error(), missing));
  }
  const std::string address = answer.from.text();
  const bool beyond_router = !sys::on_link(answer.from);
  const std::string key = auth::key_name_of(auth::Keyring(membership.keys).sealing_id());
  if (arguments.json)
    print_json(Json::object()
                   .add("cluster", membership.cluster)
                   .add("port", std::uint64_t{membership.port})
                   .add("member", membership.member)
                   .add("address", address)
                   .add("beyond_router", beyond_router)
                   .add("key_file", place.key_file)
                   .add("key_id", key)
                   .add("config_written", !lines.empty()));
  else
    print(
        "This machine has joined cluster {0} by {1} ({2}). Its key {3} is in {4}.\n"
        "{5}Start the daemon with 'systemctl enable --now tempod', or restart it if it runs.\n",
        membership.cluster, membership.member, address, key, place.key_file,
        beyond_router
            ? fmt::format(
                  "{0} is beyond a router, where broadcasts do not go: set peers = [\"{1}\"] "
                  "in {2}, and there an address of this machine.\n",
                  membership.member, address, arguments.config)
            : "");
  return kDone;
}

Result<auth::AddressedToken> token_of(const std::string& given) {
  std::string text = given;
  if (given == "-") {
    text.clear();
    for (char c = 0; text.size() <= auth::AddressedToken::kMaxText && std::cin.get(c) && c != '\n';)
      text += c;
  }
  return auth::parse_addressed_token(text);
}

}  // namespace

int invite(const DaemonArguments& arguments) {
  const auto reply = ask(arguments, request_of(ipc::Verb::invite));
  if (!reply) return reply.error();
  const auto invited = ipc::invited_of(*reply);
  if (!invited)
    return print_error(kNoDaemon,
                       fmt::format("invalid reply from tempod: {}; use the tempo that came with it",
                                   invited.error()));
  if (arguments.json) {
    print_json(data_of(*reply));
    return kDone;
  }
  print("{}\n", invited->token);
  print_error(
      "Run on the new machine within {} minutes: sudo tempo join{} TOKEN\n"
      "The token is valid for one machine. It gives the key of cluster {}: do not publish it.\n",
      invited->valid_s / 60,
      invited->port == JoinArguments{}.port ? "" : fmt::format(" --port {}", invited->port),
      invited->cluster);
  return kDone;
}

int join(const JoinArguments& arguments) {
  const auto token = token_of(arguments.token);
  if (!token) return print_error(kBadUsage, token.error());
  const auto timeout = span_of(arguments.timeout, "--timeout");
  if (!timeout) return timeout.error();
  const auto place = place_of(arguments);
  if (!place) return print_error(kBadUsage, place.error());
  const auto ways = ways_to_members(arguments, *token);
  if (!ways) return print_error(kBadUsage, ways.error());
  const std::unique_ptr<sys::Oscillator> clock = sys::real_oscillator();
  std::vector<std::unique_ptr<sys::Network>> networks;
  std::string error;
  for (const sys::NetworkOptions& way : *ways) {
    auto network = sys::Network::open(way, *clock);
    if (network)
      networks.push_back(*std::move(network));
    else
      error = network.error();
  }
  if (networks.empty())
    return print_error(kViolation, fmt::format("cannot use any network: {}", error));
  const auth::JoinAttempt attempt(token->token, sys::host_name());
  const auto answer = ask_members(attempt, networks, *timeout);
  if (!answer)
    return print_error(
        kViolation,
        fmt::format(
            "no member answered within {}: the token may have been used or be older than "
            "ten minutes, or its member is not reached by UDP port {}; make another one with "
            "'tempo invite', or name that member with --peer ADDRESS",
            arguments.timeout, arguments.port));
  return finish(arguments, *place, *answer);
}

}  // namespace tempo::cli
