#include "cli/operations/master.h"

#include <fmt/core.h>

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"

namespace tempo::cli {

int master(const DaemonArguments& arguments) {
  const auto snapshot = ask_status(arguments);
  if (!snapshot) return snapshot.error();
  bool everywhere = !snapshot->networks.empty();
  Json list = Json::array();
  std::string text;
  for (const obs::NetworkView& network : snapshot->networks) {
    // A network without a name of its master may be led by this machine.
    const bool self = network.state == "master";
    const std::string name = self ? snapshot->name : network.master;
    everywhere = everywhere && !name.empty();
    list.push(Json::object()
                  .add("network", network.name)
                  .add("master", name)
                  .add("id", self ? snapshot->id : network.master_id)
                  .add("epoch_round", network.epoch_round)
                  .add("self", self));
    text +=
        fmt::format("{}: {}\n", network.name,
                    name.empty() ? "no master; an election is in progress"
                                 : fmt::format("{}{}, epoch {}", name,
                                               self ? " (this machine)" : "", network.epoch_round));
  }
  if (snapshot->networks.empty() && !arguments.json)
    return print_error(kViolation, "tempod uses no network; run 'tempo doctor' to find the reason");
  if (arguments.json)
    print_json(list);
  else
    print("{}", text);
  return everywhere ? kDone : kViolation;
}

}  // namespace tempo::cli
