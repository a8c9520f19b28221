#include "client/status_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace tempo {
namespace {

using std::chrono::nanoseconds;

// By the value of TimeStatus.
constexpr std::array<std::string_view, 6> kStatusNames{"unsynchronized", "holdover", "synchronized",
                                                       "leads",          "minority", "alone"};

std::int64_t since_1970(NetworkTime time) { return time.time_since_epoch().count(); }

std::string first_master(const Json& snapshot) {
  const auto networks = snapshot.at("networks");
  if (!networks) return "";
  for (const Json& network : networks->elements()) return network.text_at("master").value_or("");
  return "";
}

}  // namespace

Now now_of(const ipc::Now& reply) {
  Now now;
  now.time = NetworkTime{nanoseconds{reply.time_ns}};
  const auto* const found = std::ranges::find(kStatusNames, reply.status);
  // An unknown status of a later tempod counts as unsynchronized.
  if (found != kStatusNames.end())
    now.status = static_cast<TimeStatus>(found - kStatusNames.begin());
  now.generation = reply.generation;
  if (now.status == TimeStatus::unsynchronized) return now;
  now.earliest = NetworkTime{nanoseconds{reply.earliest_ns}};
  now.latest = NetworkTime{nanoseconds{reply.latest_ns}};
  return now;
}

ipc::Now ipc_now_of(const Now& now) {
  return {.time_ns = since_1970(now.time),
          .earliest_ns = since_1970(now.earliest),
          .latest_ns = since_1970(now.latest),
          .status = std::string(kStatusNames[static_cast<std::size_t>(now.status)]),
          .generation = now.generation};
}

Status status_of(const Json& snapshot) {
  Status status;
  status.name = snapshot.text_at("name").value_or("");
  status.cluster = snapshot.text_at("cluster").value_or("");
  status.version = snapshot.text_at("version").value_or("");
  status.now = now_of(ipc::Now{.time_ns = snapshot.whole_at("time_ns").value_or(0),
                               .earliest_ns = snapshot.whole_at("earliest_ns").value_or(0),
                               .latest_ns = snapshot.whole_at("latest_ns").value_or(0),
                               .status = snapshot.text_at("status").value_or(""),
                               .generation = static_cast<std::uint32_t>(
                                   snapshot.whole_at("timescale_generation").value_or(0))});
  status.master = first_master(snapshot);
  status.locks = snapshot.text_at("locks").value_or("");
  if (const auto members = snapshot.at("members"))
    for (const Json& member : members->elements())
      status.members.push_back({.name = member.text_at("name").value_or(""),
                                .address = member.text_at("address").value_or(""),
                                .role = member.text_at("role").value_or(""),
                                .self = member.flag_at("self").value_or(false),
                                .faulty = member.flag_at("faulty").value_or(false),
                                .heard_ago_s = member.number_at("heard_ago_s").value_or(0)});
  if (const auto warnings = snapshot.at("warnings"))
    for (const Json& warning : warnings->elements())
      status.warnings.push_back(warning.as_text().value_or(""));
  status.json = snapshot.line();
  return status;
}

Json snapshot_of(const Status& status) {
  const ipc::Now now = ipc_now_of(status.now);
  Json members = Json::array();
  for (const Member& member : status.members)
    members.push(Json::object()
                     .add("name", member.name)
                     .add("address", member.address)
                     .add("role", member.role)
                     .add("self", member.self)
                     .add("faulty", member.faulty)
                     .add("heard_ago_s", member.heard_ago_s));
  Json warnings = Json::array();
  for (const std::string& warning : status.warnings) warnings.push(warning);
  return Json::object()
      .add("version", status.version)
      .add("name", status.name)
      .add("cluster", status.cluster)
      .add("status", now.status)
      .add("time_ns", std::to_string(now.time_ns))
      .add("earliest_ns", std::to_string(now.earliest_ns))
      .add("latest_ns", std::to_string(now.latest_ns))
      .add("locks", status.locks)
      .add("warnings", warnings)
      .add("networks", Json::array().push(Json::object().add("master", status.master)))
      .add("members", members);
}

}  // namespace tempo
