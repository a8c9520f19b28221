// What the commands that talk to tempod share: where it is, how long to wait, how failures read.
#pragma once

#include <expected>
#include <string>

#include "api/control_protocol.h"
#include "api/snapshot.h"
#include "base/result.h"
#include "base/units.h"
#include "client/client.h"

namespace tempo::cli {

struct DaemonArguments {
  std::string socket = client::kDefaultSocket;
  std::string timeout = "5s";
  bool json = false;
};

// Each gives what was asked for, or the exit status after a sentence on standard error.
std::expected<client::Client, int> connect(const DaemonArguments& arguments);
std::expected<ipc::Reply, int> ask(const DaemonArguments& arguments, const ipc::Request& request);
std::expected<obs::Snapshot, int> snapshot_in(const ipc::Reply& reply);
std::expected<obs::Snapshot, int> ask_status(const DaemonArguments& arguments);
std::expected<Nanos, int> span_of(const std::string& text, const char* option);

// Prints the sentence; gives the exit status that goes with it.
int report(const client::Error& error);
int print_error(int status, const std::string& sentence);

ipc::Request request_of(ipc::Verb verb);

}  // namespace tempo::cli
