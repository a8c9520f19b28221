#include <fmt/core.h>

#include "cli/locks/lock.h"
#include "cli/operations/orders.h"

namespace tempo::cli {
namespace {

int change(const VoterArguments& arguments, ipc::Verb verb, const char* done) {
  ipc::Request request = request_of(verb);
  request.host = arguments.host;
  return give_order(arguments.daemon, request, fmt::format(fmt::runtime(done), arguments.host));
}

}  // namespace

int forget(const VoterArguments& arguments) {
  return change(arguments, ipc::Verb::forget,
                "{} has no vote on locks any more; 'tempo locks' says what is promised now.");
}

int admit(const VoterArguments& arguments) {
  return change(arguments, ipc::Verb::admit,
                "{} votes on locks; 'tempo locks' says what is promised now.");
}

}  // namespace tempo::cli
