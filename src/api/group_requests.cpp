#include "api/group_requests.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "base/number_text.h"

namespace tempo::ipc {
namespace {

constexpr auto kStates =
    std::to_array<std::string_view>({"stands", "leads", "extended", "stop", "lost", "follows",
                                     "no-majority", "job-done", "withdrawn"});
static_assert(kStates.size() == std::to_underlying(LeadershipUpdate::State::count));

constexpr std::int64_t kMaxStay = 365LL * 24 * 3600 * 1'000'000'000;

std::unexpected<Refusal> refuse(std::string message) {
  return std::unexpected(Refusal{.code = Code::bad_request, .message = std::move(message)});
}

Json head() { return Json::object().add("v", kVersion).add("ok", true); }

std::uint64_t number_in(const Json& json, const char* key) {
  return parse_number<std::uint64_t>(json.text_at(key).value_or("")).value_or(0);
}

Json json_of(const GroupView& group) {
  Json candidates = Json::array();
  for (const GroupView::Candidate& one : group.candidates)
    candidates.push(Json::object()
                        .add("host", one.host)
                        .add("capacity", fmt::format("{}", one.capacity))
                        .add("here", one.here));
  return Json::object()
      .add("name", group.name)
      .add("leader", group.leader)
      .add("term", fmt::format("{}", group.term))
      .add("here", group.here)
      .add("criterion", group.criterion)
      .add("algorithm", group.algorithm)
      .add("held", group.held)
      .add("state", group.state)
      .add("candidates", candidates);
}

GroupView view_in(const Json& json) {
  GroupView group{.name = json.text_at("name").value_or(""),
                  .leader = json.text_at("leader").value_or(""),
                  .term = number_in(json, "term"),
                  .here = json.flag_at("here").value_or(false),
                  .criterion = json.text_at("criterion").value_or(""),
                  .algorithm = json.text_at("algorithm").value_or(""),
                  .held = json.text_at("held").value_or(""),
                  .state = json.text_at("state").value_or("")};
  if (const auto list = json.at("candidates"); list && list->is_array())
    for (const Json& one : list->elements())
      group.candidates.push_back({.host = one.text_at("host").value_or(""),
                                  .capacity = one.whole_at("capacity").value_or(0),
                                  .here = one.flag_at("here").value_or(false)});
  return group;
}

}  // namespace

// --- requests ---

std::vector<std::string_view> group_members(Verb verb) {
  if (verb == Verb::elect)
    return {"v",           "do",   "id",          "group",     "capacity", "criterion", "algorithm",
            "min_stay_ns", "once", "keeps_lease", "resumable", "term",     "session",   "until_ns"};
  if (verb == Verb::offer) return {"v", "do", "id", "capacity"};
  if (verb == Verb::stopped) return {"v", "do", "id"};
  if (verb == Verb::withdraw) return {"v", "do", "id", "job_done"};
  if (verb == Verb::resign_group || verb == Verb::watch_group) return {"v", "do", "group"};
  return {};
}

Result<void, Refusal> read_group_request(const Json& json, Request& request) {
  const auto members = group_members(request.verb);
  const auto takes = [&](std::string_view key) {
    return std::ranges::find(members, key) != members.end();
  };
  const std::string_view verb = name_of(request.verb);
  if (takes("id")) {
    const auto id = json.whole_at("id");
    if (!id)
      return refuse(fmt::format(R"({} needs "id", a whole number chosen by the client)", verb));
    request.id = *id;
  }
  if (takes("group")) {
    const auto group = json.text_at("group");
    if (!group) return refuse(fmt::format(R"({} needs "group", the name of the group)", verb));
    request.name = *group;
  }
  if (takes("capacity")) {
    const auto capacity = json.whole_at("capacity");
    if (!capacity || *capacity < 0)
      return refuse(fmt::format(R"({} needs "capacity", a whole number of at least 0)", verb));
    request.capacity = *capacity;
  }
  for (const auto& [key, into] :
       {std::pair{"criterion", &request.criterion}, std::pair{"algorithm", &request.algorithm}}) {
    if (!takes(key)) continue;
    const auto text = json.text_at(key);
    if (!text) return refuse(fmt::format(R"({} needs "{}", a string)", verb, key));
    *into = *text;
  }
  if (takes("min_stay_ns")) {
    const auto stay = json.whole_at("min_stay_ns");
    if (!stay || *stay < 0 || *stay > kMaxStay)
      return refuse(fmt::format(
          R"({} needs "min_stay_ns", a whole number of nanoseconds, at most one year)", verb));
    request.min_stay_ns = *stay;
  }
  if (request.verb == Verb::elect) {
    request.token = number_in(json, "term");
    request.session = json.text_at("session").value_or("");
    request.until_ns = json.whole_at("until_ns").value_or(0);
    const bool none = !json.has("term") && !json.has("session") && !json.has("until_ns");
    if (!none && (request.token == 0 || request.session.empty() || request.until_ns <= 0))
      return refuse(R"(elect needs all of "term", "session" and "until_ns" of the lead, or none)");
  }
  for (const auto& [key, into] :
       {std::pair{"once", &request.once}, std::pair{"job_done", &request.once},
        std::pair{"keeps_lease", &request.keeps_lease},
        std::pair{"resumable", &request.resumable}}) {
    if (!takes(key) || !json.has(key)) continue;
    const auto flag = json.flag_at(key);
    if (!flag) return refuse(fmt::format(R"("{1}" of {0} must be true or false)", verb, key));
    *into = *flag;
  }
  return {};
}

void write_group_request(const Request& request, Json& json) {
  for (const std::string_view key : group_members(request.verb)) {
    if (key == "id") json.add("id", request.id);
    if (key == "group") json.add("group", request.name);
    if (key == "capacity") json.add("capacity", request.capacity);
    if (key == "criterion") json.add("criterion", request.criterion);
    if (key == "algorithm") json.add("algorithm", request.algorithm);
    if (key == "min_stay_ns") json.add("min_stay_ns", request.min_stay_ns);
    if (key == "once") json.add("once", request.once);
    if (key == "keeps_lease" && request.keeps_lease) json.add("keeps_lease", true);
    if (key == "job_done") json.add("job_done", request.once);
    if (key == "resumable" && request.resumable) json.add("resumable", true);
    if (request.token == 0) continue;
    if (key == "term") json.add("term", fmt::format("{}", request.token));
    if (key == "session") json.add("session", request.session);
    if (key == "until_ns") json.add("until_ns", request.until_ns);
  }
}

// --- replies ---

std::string_view name_of(LeadershipUpdate::State state) {
  CHECK(state < LeadershipUpdate::State::count);
  return kStates[std::to_underlying(state)];
}

std::string election_line(const LeadershipUpdate& update) {
  using State = LeadershipUpdate::State;
  Json json = Json::object().add("id", update.id).add("state", name_of(update.state));
  if (update.state == State::leads || update.state == State::follows)
    json.add("term", fmt::format("{}", update.term));
  if (update.state == State::leads || update.state == State::extended ||
      update.state == State::stop)
    json.add("until_ns", fmt::format("{}", update.until_ns));
  if (update.state == State::follows || update.state == State::job_done)
    json.add("leader", update.leader);
  if (!update.session.empty()) json.add("session", update.session);
  return head().add("election", json).line();
}

Result<LeadershipUpdate> election_of(const Reply& reply) {
  const auto json = reply.body.at("election");
  if (!json) return std::unexpected("tempod's reply has no election");
  const auto id = json->whole_at("id");
  const auto* const state = std::ranges::find(kStates, json->text_at("state").value_or(""));
  if (!id || state == kStates.end()) return std::unexpected("tempod's reply has no valid election");
  return LeadershipUpdate{.id = *id,
                          .state = static_cast<LeadershipUpdate::State>(state - kStates.begin()),
                          .term = number_in(*json, "term"),
                          .until_ns = json->whole_at("until_ns").value_or(0),
                          .leader = json->text_at("leader").value_or(""),
                          .session = json->text_at("session").value_or("")};
}

std::string groups_line(const std::vector<GroupView>& groups) {
  Json list = Json::array();
  for (const GroupView& group : groups) list.push(json_of(group));
  return head().add("groups", list).line();
}

std::string group_line(const GroupView& group) {
  return head().add("group", json_of(group)).line();
}

Result<std::vector<GroupView>> groups_of(const Reply& reply) {
  const auto list = reply.body.at("groups");
  if (!list || !list->is_array()) return std::unexpected("tempod's reply has no list of groups");
  std::vector<GroupView> groups;
  for (const Json& element : list->elements()) groups.push_back(view_in(element));
  return groups;
}

Result<GroupView> group_of(const Reply& reply) {
  const auto json = reply.body.at("group");
  if (!json) return std::unexpected("tempod's reply has no group");
  return view_in(*json);
}

}  // namespace tempo::ipc
