// Requests to tempod, for all commands: its socket, the longest wait, and error messages.
#pragma once

#include <expected>
#include <string>

#include "api/control_protocol.h"
#include "api/snapshot.h"
#include "base/json.h"
#include "base/result.h"
#include "base/units.h"
#include "client/client.h"

namespace tempo::cli {

struct DaemonArguments {
  std::string socket = client::kDefaultSocket;
  std::string timeout = "5s";  // longest wait for an answer
  bool json = false;
  std::string host{};  // member that tempod asks; empty: tempod answers itself
};

// Each returns the answer, or the exit status after it has printed an error.
std::expected<client::Client, int> connect(const DaemonArguments& arguments);
std::expected<ipc::Reply, int> ask(const DaemonArguments& arguments, const ipc::Request& request);
// The same for an order. tempod withdraws an order whose client goes away: Ctrl-C and the end of
// the timeout report that. `check`: a command that shows whether the order has taken effect.
std::expected<ipc::Reply, int> order(const DaemonArguments& arguments, const ipc::Request& request,
                                     const char* check);
std::expected<obs::Snapshot, int> snapshot_in(const ipc::Reply& reply);
std::expected<obs::Snapshot, int> ask_status(const DaemonArguments& arguments);
// The answer in a reply, for --json: its members without those of the control protocol.
Json data_of(const ipc::Reply& reply);
std::expected<Nanos, int> span_of(const std::string& text, const char* option);

// Prints the error; returns its exit status.
int report(const client::Error& error);
// Prints `message` as an error of tempo; returns `status`.
int print_error(int status, const std::string& message);

ipc::Request request_of(ipc::Verb verb);

}  // namespace tempo::cli
