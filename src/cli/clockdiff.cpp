#include "cli/clockdiff.h"

#include <algorithm>

#include <fmt/core.h>

#include "cli/exit_codes.h"

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
  return names.empty() ? "nobody" : names;
}

}  // namespace

int clockdiff(const ClockdiffArguments& arguments) {
  const auto snapshot = ask_status(arguments.daemon);
  if (!snapshot) return snapshot.error();
  obs::Snapshot chosen;
  Json list = Json::array();
  std::string unknown;
  for (const std::string& host : arguments.hosts) {
    const auto member = std::ranges::find_if(snapshot->members, [&](const obs::MemberView& m) {
      return m.name == host || m.address == host || m.id == host;
    });
    if (member == snapshot->members.end()) {
      unknown += (unknown.empty() ? "" : ", ") + host;
      continue;
    }
    chosen.members.push_back(*member);
    Json json = Json::object().add("name", member->name).add("id", member->id);
    add_if_known(json, "offset_us", member->offset_us);
    add_if_known(json, "bound_us", member->bound_us);
    add_if_known(json, "rate_ppm", member->rate_ppm);
    add_if_known(json, "sigma_us", member->sigma_us);
    list.push(json.add("faulty", member->faulty));
  }
  if (arguments.daemon.json)
    fmt::print("{}", list.text());
  else if (!chosen.members.empty())
    fmt::print("{}", members_text(chosen));
  if (!unknown.empty())
    return complain(kBrokenPromise, fmt::format("tempod knows no member {}; it knows {}", unknown,
                                                names_of(snapshot->members)));
  return kDone;
}

}  // namespace tempo::cli
