#include "services/vip/status.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/table.h"

namespace tempo::vip {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::array<std::pair<std::string_view, Request>, 3> kRequests{
    {{"status", Request::status}, {"suspend", Request::suspend}, {"resume", Request::resume}}};

Json head() { return Json::object().add("version", kVersion); }

double seconds(Nanos span) { return std::chrono::duration<double>(span).count(); }

std::string span_of(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

// The states of the holder in the words of users.
std::string state_of(const Json& group) {
  const std::string state = group.text_at("state").value_or("");
  const std::string leader = group.text_at("leader").value_or("");
  const std::string reason = group.text_at("reason").value_or("");
  if (state == "hold") return "here";
  if (state == "prepare" || state == "probe" || state == "open") return "being taken";
  if (state == "lapsed") return "lease not extended";
  if (state == "away") return reason.empty() ? "not a candidate" : "not a candidate: " + reason;
  if (!group.flag_at("tempod").value_or(false))
    return reason.empty() ? "waiting for tempod" : reason;
  return leader.empty() ? "no leader" : "on " + leader;
}

std::string enforced_by(const Json& group) {
  const double closes = group.number_at("closes_in_s").value_or(0);
  if (closes <= 0) return "";
  return fmt::format("kernel: tables {0} and {0}-own close in {1}",
                     group.text_at("gate").value_or(""), span_of(closes));
}

}  // namespace

Result<Request> request_in(std::string_view line) {
  const auto json = Json::parse(line);
  const std::string verb = json ? json->text_at("do").value_or("") : "";
  for (const auto& [name, request] : kRequests)
    if (name == verb) return request;
  return std::unexpected("unknown request; use status, suspend or resume");
}

std::string request_line(Request request) {
  const auto* const found =
      std::ranges::find(kRequests, request, [](const auto& entry) { return entry.second; });
  return Json::object().add("do", found->first).line();
}

std::string status_line(const std::vector<GroupStatus>& groups) {
  Json list = Json::array();
  for (const GroupStatus& one : groups) {
    Json addresses = Json::array();
    for (const std::string& address : one.addresses) addresses.push(std::string_view{address});
    list.push(Json::object()
                  .add("group", one.group)
                  .add("interface", one.interface)
                  .add("addresses", addresses)
                  .add("state", one.state)
                  .add("here", one.state == "hold")
                  .add("leader", one.leader)
                  .add("term", fmt::format("{}", one.term))
                  .add("since_s", seconds(one.since))
                  .add("reason", one.reason)
                  .add("tempod", one.tempod)
                  .add("closes_in_s", seconds(one.closes_in))
                  .add("gate", one.gate));
  }
  return head().add("data", Json::object().add("groups", list)).line();
}

std::string done_line() { return head().add("data", Json::object()).line(); }

std::string error_line(const std::string& message) {
  return head().add("error", Json::object().add("message", message)).line();
}

Result<Json> data_in(std::string_view line) {
  TRY(json, Json::parse(line));
  if (const auto error = json.at("error"))
    return std::unexpected(error->text_at("message").value_or("tempo-vip refused the request"));
  const auto data = json.at("data");
  if (!data) return std::unexpected("the answer of tempo-vip has no data");
  return *data;
}

std::string status_text(const Json& data) {
  const auto groups = data.at("groups");
  if (!groups || groups->elements().empty()) return "no addresses\n";
  report::Table table({"group", "addresses", "interface", "state", "since", "enforced by"});
  for (const Json& group : groups->elements()) {
    std::string addresses;
    if (const auto list = group.at("addresses"))
      for (const Json& one : list->elements())
        addresses += (addresses.empty() ? "" : ", ") + one.as_text().value_or("");
    table.row({group.text_at("group").value_or(""), addresses,
               group.text_at("interface").value_or(""), state_of(group),
               span_of(group.number_at("since_s").value_or(0)), enforced_by(group)});
  }
  return table.text();
}

}  // namespace tempo::vip
