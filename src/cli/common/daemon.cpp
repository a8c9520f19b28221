#include "cli/common/daemon.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/span_text.h"
#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"

namespace tempo::cli {

int print_error(int status, const std::string& message) {
  print_error("tempo: {}\n", message);
  return status;
}

int report(const client::Error& error) {
  using client::ErrorCode;
  const bool refused = error.code == ErrorCode::refused || error.code == ErrorCode::not_allowed ||
                       error.code == ErrorCode::bad_request;
  return print_error(refused ? kRefused : kNoDaemon, error.message);
}

ipc::Request request_of(ipc::Verb verb) { return {.verb = verb, .by_ns = {}, .to_ns = {}}; }

std::expected<Nanos, int> span_of(const std::string& text, const char* option) {
  const auto span = parse_span(text);
  if (!span)
    return std::unexpected(print_error(kBadUsage, fmt::format("{}: {}", option, span.error())));
  return *span;
}

std::expected<client::Client, int> connect(const DaemonArguments& arguments) {
  TRY(timeout, span_of(arguments.timeout, "--timeout"));
  auto client = client::Client::connect(arguments.socket, timeout);
  if (!client) return std::unexpected(report(client.error()));
  return *std::move(client);
}

std::expected<ipc::Reply, int> ask(const DaemonArguments& arguments, const ipc::Request& request) {
  TRY(client, connect(arguments));
  ipc::Request asked = request;
  if (!arguments.host.empty()) asked.host = arguments.host;
  auto reply = client.ask(asked);
  if (!reply) return std::unexpected(report(reply.error()));
  return *std::move(reply);
}

std::expected<ipc::Reply, int> order(const DaemonArguments& arguments, const ipc::Request& request,
                                     const char* check) {
  constexpr Nanos kSlice = 100ms;  // a signal just before a wait is noticed after it
  TRY(timeout, span_of(arguments.timeout, "--timeout"));
  const InterruptGuard guard;
  TRY(client, connect(arguments));
  if (const auto sent = client.send(request); !sent) return std::unexpected(report(sent.error()));
  const auto withdrawn = [&](int status, const std::string& why) {
    return std::unexpected(print_error(
        status, fmt::format("{}; tempod withdraws the order unless it has already taken effect: "
                            "'{}' shows whether it has",
                            why, check)));
  };
  for (const Instant deadline = steady_now() + timeout;;) {
    const Nanos left = deadline - steady_now();
    if (interrupted()) return withdrawn(kInterrupted, "interrupted before tempod answered");
    if (left <= Nanos{0})
      return withdrawn(kNoDaemon,
                       fmt::format("tempod did not answer within {}", span_text(timeout)));
    auto reply = client.next(std::min(left, kSlice));
    if (!reply) return std::unexpected(report(reply.error()));
    if (*reply) return **std::move(reply);
  }
}

Json data_of(const ipc::Reply& reply) {
  Json data = Json::object();
  for (const std::string& key : reply.body.keys())
    if (key != "v" && key != "ok") data.add(key, *reply.body.at(key));
  return data;
}

std::expected<obs::Snapshot, int> snapshot_in(const ipc::Reply& reply) {
  const auto status = reply.body.at("status");
  if (!status)
    return std::unexpected(print_error(
        kNoDaemon, "invalid reply from tempod: no status; use the tempo that came with it"));
  auto snapshot = obs::from_json(status->line());
  if (!snapshot)
    return std::unexpected(print_error(
        kNoDaemon, fmt::format("invalid reply from tempod: {}; use the tempo that came with it",
                               snapshot.error())));
  return *std::move(snapshot);
}

std::expected<obs::Snapshot, int> ask_status(const DaemonArguments& arguments) {
  TRY(reply, ask(arguments, request_of(ipc::Verb::status)));
  return snapshot_in(reply);
}

}  // namespace tempo::cli
