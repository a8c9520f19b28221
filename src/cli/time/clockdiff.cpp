#include "cli/time/clockdiff.h"

#include <algorithm>

#include <fmt/core.h>

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"

namespace tempo::cli {
namespace {

void add_if_known(Json& json, const char* key, const std::optional<double>& value) {
  if (value)
    json.add(key, *value);
  else
    json.add_null(key);
}

std::string names_of(const std::vector<obs::MemberView>& members) {
  std::string names;
  for (const obs::MemberView& member : members) names += (names.empty() ? "" : ", ") + member.name;
  return names.empty() ? "none" : names;
}

// Only the master measures other members. Every machine knows its own offset, and the offset of the
// clock that all machines follow is 0 by definition.
obs::MemberView with_derived_offset(const obs::Snapshot& snapshot, obs::MemberView member) {
  if (member.offset_us) return member;
  const bool leads = snapshot.status == "leads";
  if (member.self && (leads || snapshot.status == "synchronized")) {
    member.offset_us = leads ? 0 : snapshot.offset_us;
    member.bound_us = snapshot.bound_us();
  }
  const bool root = std::ranges::any_of(snapshot.networks, [&](const obs::NetworkView& network) {
    return network.root == member.name && network.master_id == member.id;
  });
  if (!member.self && root) member.offset_us = 0;
  return member;
}

// Error for members whose offset this machine does not know.
std::string cure(const obs::Snapshot& snapshot, const std::string& hosts) {
  for (const obs::NetworkView& network : snapshot.networks)
    if (network.state == "follower" && !network.master.empty())
      return fmt::format(
          "this machine has no offset of {0}; the master measures it: run 'tempo clockdiff {0}' on "
          "{1}",
          hosts, network.master);
  return fmt::format("no offset of {} is known yet; try again after 'tempo wait-sync'", hosts);
}

}  // namespace

int clockdiff(const ClockdiffArguments& arguments) {
  const auto snapshot = ask_status(arguments.daemon);
  if (!snapshot) return snapshot.error();
  obs::Snapshot chosen;
  Json list = Json::array();
  std::string unknown;
  std::string unmeasured;
  for (const std::string& host : arguments.hosts) {
    const auto member = std::ranges::find_if(snapshot->members, [&](const obs::MemberView& m) {
      return m.name == host || m.address == host || m.id == host;
    });
    if (member == snapshot->members.end()) {
      unknown += (unknown.empty() ? "" : ", ") + host;
      continue;
    }
    const obs::MemberView& known =
        chosen.members.emplace_back(with_derived_offset(*snapshot, *member));
    if (!known.offset_us) unmeasured += (unmeasured.empty() ? "" : " ") + host;
    Json json = Json::object().add("name", known.name).add("id", known.id);
    add_if_known(json, "offset_us", known.offset_us);
    add_if_known(json, "bound_us", known.bound_us);
    add_if_known(json, "rate_ppm", known.rate_ppm);
    add_if_known(json, "sigma_us", known.sigma_us);
    list.push(json.add("faulty", known.faulty));
  }
  if (arguments.daemon.json)
    print_json(list);
  else if (!chosen.members.empty())
    print("{}", members_text(chosen));
  if (!unknown.empty())
    return print_error(kViolation, fmt::format("unknown member {}; the members are {}", unknown,
                                               names_of(snapshot->members)));
  if (!unmeasured.empty()) return print_error(kViolation, cure(*snapshot, unmeasured));
  return kDone;
}

}  // namespace tempo::cli
