#include "live/ipc/protocol.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"

namespace tempo::ipc {
namespace {

constexpr auto kVerbNames =
    std::to_array<std::string_view>({"status", "members", "now", "watch", "events", "reelect",
                                     "resign", "set-time", "trace", "trace-follow", "doctor"});
static_assert(kVerbNames.size() == std::to_underlying(Verb::count));

constexpr auto kCodeNames =
    std::to_array<std::string_view>({"bad-request", "wrong-version", "unknown-verb", "not-allowed",
                                     "not-master", "no-master", "unavailable"});
static_assert(kCodeNames.size() == std::to_underlying(Code::count));

std::unexpected<Refusal> refuse(Code code, std::string sentence) {
  return std::unexpected(Refusal{code, std::move(sentence)});
}

std::string verb_list() {
  std::string list;
  for (const std::string_view name : kVerbNames) {
    if (!list.empty()) list += ", ";
    list += name;
  }
  return list;
}

// What was sent, short and printable enough to stand in a sentence.
std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string shown;
  for (const char c : text.substr(0, kMost)) shown += c >= ' ' && c <= '~' ? c : '?';
  return '\'' + shown + (text.size() > kMost ? "..." : "") + '\'';
}

std::vector<std::string_view> members_of(Verb verb) {
  if (verb == Verb::set_time) return {"v", "do", "by_ns", "to_ns"};
  if (verb == Verb::trace) return {"v", "do", "on"};
  if (verb == Verb::doctor) return {"v", "do", "all"};
  return {"v", "do"};
}

std::string head(bool ok) { return fmt::format(R"({{"v":{},"ok":{})", kVersion, ok); }

}  // namespace

std::string_view name_of(Verb verb) {
  CHECK(verb < Verb::count);
  return kVerbNames[std::to_underlying(verb)];
}

std::string_view name_of(Code code) {
  CHECK(code < Code::count);
  return kCodeNames[std::to_underlying(code)];
}

bool streams(Verb verb) {
  return verb == Verb::watch || verb == Verb::events || verb == Verb::trace_follow;
}

bool changes(Verb verb) {
  return verb == Verb::reelect || verb == Verb::resign || verb == Verb::set_time ||
         verb == Verb::trace;
}

// --- the daemon's side ---

Result<Request, Refusal> parse_request(std::string_view line) {
  if (line.size() > kMostRequest)
    return refuse(Code::bad_request, fmt::format("a request has at most {} bytes, this one has {}",
                                                 kMostRequest, line.size()));
  const auto json = Json::parse(line);
  if (!json || !json->is_object())
    return refuse(Code::bad_request,
                  R"(a request is one JSON object on one line, for example {"v":1,"do":"status"})");
  const auto version = json->whole_at("v");
  if (!version)
    return refuse(Code::wrong_version,
                  fmt::format(R"(say which version is spoken: "v":{})", kVersion));
  if (*version != kVersion)
    return refuse(
        Code::wrong_version,
        fmt::format("this tempod speaks version {}, not {}; use the tempo that came with it",
                    kVersion, *version));
  const auto name = json->text_at("do");
  if (!name)
    return refuse(Code::bad_request,
                  fmt::format(R"(say what to do: "do" is one of {})", verb_list()));
  const auto found = std::ranges::find(kVerbNames, *name);
  if (found == kVerbNames.end())
    return refuse(Code::unknown_verb,
                  fmt::format("there is no {}; \"do\" is one of {}", quoted(*name), verb_list()));

  Request request{.verb = static_cast<Verb>(found - kVerbNames.begin()), .by_ns = {}, .to_ns = {}};
  const auto known = members_of(request.verb);
  for (const std::string& key : json->keys())
    if (std::ranges::find(known, key) == known.end())
      return refuse(Code::bad_request, fmt::format("{} takes no {}; leave it out",
                                                   name_of(request.verb), quoted(key)));
  for (const auto& [key, into] : {std::pair{"by_ns", &request.by_ns}, {"to_ns", &request.to_ns}}) {
    if (!json->has(key)) continue;
    *into = json->whole_at(key);
    if (!*into)
      return refuse(Code::bad_request, fmt::format("{} is a whole number of nanoseconds", key));
  }
  if (request.verb == Verb::set_time && request.by_ns.has_value() == request.to_ns.has_value())
    return refuse(Code::bad_request,
                  "set-time takes either by_ns or to_ns, a whole number of nanoseconds");
  if (request.verb == Verb::trace) {
    const auto on = json->flag_at("on");
    if (!on) return refuse(Code::bad_request, R"(trace takes "on":true or "on":false)");
    request.on = *on;
  }
  if (request.verb == Verb::doctor && json->has("all")) {
    const auto all = json->flag_at("all");
    if (!all) return refuse(Code::bad_request, R"(doctor takes "all":true or "all":false)");
    request.all = *all;
  }
  return request;
}

std::string done_line() { return head(true) + '}'; }

std::string refusal_line(const Refusal& refusal) {
  return Json::object()
      .add("v", kVersion)
      .add("ok", false)
      .add("error", refusal.sentence)
      .add("code", name_of(refusal.code))
      .line();
}

std::string status_line(std::string_view snapshot_json) {
  return fmt::format(R"({},"status":{}}})", head(true), snapshot_json);
}

std::string members_line(std::string_view members_json) {
  return fmt::format(R"({},"members":{}}})", head(true), members_json);
}

std::string now_line(const Now& now) {
  return Json::object()
      .add("v", kVersion)
      .add("ok", true)
      .add("now", Json::object()
                      .add("time_ns", now.time_ns)
                      .add("earliest_ns", now.earliest_ns)
                      .add("latest_ns", now.latest_ns)
                      .add("status", now.status))
      .line();
}

std::string event_line(const Event& event) {
  return Json::object()
      .add("v", kVersion)
      .add("ok", true)
      .add("event",
           Json::object().add("name", event.name).add("at_ns", event.at_ns).add("text", event.text))
      .line();
}

std::string trace_line(std::string_view trace) {
  return Json::object().add("v", kVersion).add("ok", true).add("trace", trace).line();
}

namespace {

Json list_of(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings)
    list.push(Json::object()
                  .add("level", finding.level)
                  .add("what", finding.what)
                  .add("cure", finding.cure));
  return list;
}

std::vector<Finding> findings_in(const Json& list) {
  std::vector<Finding> findings;
  for (const Json& element : list.elements())
    findings.push_back({element.text_at("level").value_or("note"),
                        element.text_at("what").value_or(""),
                        element.text_at("cure").value_or("")});
  return findings;
}

}  // namespace

std::string findings_line(const std::vector<Finding>& findings) {
  return Json::object()
      .add("v", kVersion)
      .add("ok", true)
      .add("findings", list_of(findings))
      .line();
}

std::string findings_line(const std::vector<Finding>& findings,
                          const std::vector<MemberFindings>& members) {
  Json list = Json::array();
  for (const MemberFindings& member : members)
    list.push(Json::object()
                  .add("name", member.name)
                  .add("id", member.id)
                  .add("answered", member.answered)
                  .add("missing", std::uint64_t{member.missing})
                  .add("findings", list_of(member.findings)));
  return Json::object()
      .add("v", kVersion)
      .add("ok", true)
      .add("findings", list_of(findings))
      .add("members", list)
      .line();
}

// --- the client's side ---

std::string request_line(const Request& request) {
  Json json = Json::object().add("v", kVersion).add("do", name_of(request.verb));
  if (request.by_ns) json.add("by_ns", *request.by_ns);
  if (request.to_ns) json.add("to_ns", *request.to_ns);
  if (request.verb == Verb::trace) json.add("on", request.on);
  if (request.all) json.add("all", true);
  return json.line();
}

Result<Reply> parse_reply(std::string_view line) {
  TRY(json, Json::parse(line));
  if (json.whole_at("v") != kVersion)
    return std::unexpected(
        fmt::format("it is not an answer in version {} of the protocol", kVersion));
  const auto ok = json.flag_at("ok");
  if (!ok) return std::unexpected(std::string("it does not say whether all is well"));
  Reply reply;
  if (!*ok) {
    Refusal refusal{Code::unavailable, json.text_at("error").value_or("tempod gave no reason")};
    const std::string code = json.text_at("code").value_or("");
    const auto found = std::ranges::find(kCodeNames, code);
    if (found != kCodeNames.end())
      refusal.code = static_cast<Code>(found - kCodeNames.begin());
    else
      reply.unknown_code = code;
    reply.refusal = std::move(refusal);
  }
  reply.body = std::move(json);
  return reply;
}

namespace {
std::unexpected<std::string> not_in_it(const char* what) {
  return std::unexpected(fmt::format("there is no {} in tempod's answer", what));
}
}  // namespace

Result<Now> now_of(const Reply& reply) {
  const auto json = reply.body.at("now");
  if (!json) return not_in_it("time");
  const auto time = json->whole_at("time_ns");
  const auto earliest = json->whole_at("earliest_ns");
  const auto latest = json->whole_at("latest_ns");
  const auto status = json->text_at("status");
  if (!time || !earliest || !latest || !status) return not_in_it("complete time");
  return Now{*time, *earliest, *latest, *status};
}

Result<Event> event_of(const Reply& reply) {
  const auto json = reply.body.at("event");
  if (!json) return not_in_it("event");
  const auto name = json->text_at("name");
  if (!name) return not_in_it("name of an event");
  return Event{*name, json->whole_at("at_ns").value_or(0), json->text_at("text").value_or("")};
}

Result<std::string> trace_of(const Reply& reply) {
  const auto text = reply.body.text_at("trace");
  if (!text) return not_in_it("trace");
  return *text;
}

Result<std::vector<Finding>> findings_of(const Reply& reply) {
  const auto list = reply.body.at("findings");
  if (!list || !list->is_array()) return not_in_it("list of findings");
  return findings_in(*list);
}

Result<std::vector<MemberFindings>> members_findings_of(const Reply& reply) {
  const auto list = reply.body.at("members");
  if (!list || !list->is_array()) return not_in_it("list of the members' findings");
  std::vector<MemberFindings> members;
  for (const Json& element : list->elements()) {
    MemberFindings& member = members.emplace_back();
    member.name = element.text_at("name").value_or("");
    member.id = element.text_at("id").value_or("");
    member.answered = element.flag_at("answered").value_or(false);
    member.missing = static_cast<std::size_t>(element.whole_at("missing").value_or(0));
    if (const auto findings = element.at("findings"); findings && findings->is_array())
      member.findings = findings_in(*findings);
  }
  return members;
}

}  // namespace tempo::ipc
