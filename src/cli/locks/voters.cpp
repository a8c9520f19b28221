#include <fmt/core.h>

#include "cli/locks/lock.h"
#include "cli/operations/requests.h"

namespace tempo::cli {
namespace {

int change(const VoterArguments& arguments, ipc::Verb verb, const char* done) {
  ipc::Request request = request_of(verb);
  request.host = arguments.host;
  return send_order(arguments.daemon, request, fmt::format(fmt::runtime(done), arguments.host),
                    "tempo locks");
}

}  // namespace

int unlock(const UnlockArguments& arguments) {
  ipc::Request request = request_of(ipc::Verb::give_back);
  request.name = arguments.name;
  return send_order(arguments.daemon, request,
                    fmt::format("Lock '{}' was given back.", arguments.name), "tempo locks");
}

int forget(const VoterArguments& arguments) {
  return change(arguments, ipc::Verb::forget,
                "{} no longer votes on locks; 'tempo locks' shows the state of locks.");
}

int admit(const VoterArguments& arguments) {
  return change(arguments, ipc::Verb::admit,
                "{} votes on locks; 'tempo locks' shows the state of locks.");
}

}  // namespace tempo::cli
