#include "api/control_protocol.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "api/group_requests.h"
#include "base/check.h"
#include "base/number_text.h"

namespace tempo::ipc {
namespace {

constexpr auto kVerbNames = std::to_array<std::string_view>(
    {"status",       "members",  "now",        "watch",           "events",
     "reelect",      "set-time", "trace",      "trace-follow",    "doctor",
     "keys",         "invite",   "lock",       "unlock",          "resume",
     "locks",        "forget",   "admit",      "nominate-voters", "bootstrap-again",
     "give-back",    "elect",    "offer",      "stopped",         "withdraw",
     "resign-group", "groups",   "watch-group"});
static_assert(kVerbNames.size() == std::to_underlying(Verb::count));

constexpr auto kCodeNames =
    std::to_array<std::string_view>({"bad-request", "wrong-version", "unknown-verb", "not-allowed",
                                     "not-master", "no-master", "unavailable"});
static_assert(kCodeNames.size() == std::to_underlying(Code::count));

constexpr auto kLockStates = std::to_array<std::string_view>(
    {"granted", "extended", "released", "lost", "refused", "wanted", "busy"});
static_assert(kLockStates.size() == std::to_underlying(LockUpdate::State::count));

constexpr auto kLockKinds = std::to_array<std::string_view>({"lease", "silent", "explicit"});
static_assert(kLockKinds.size() == std::to_underlying(LockKind::count));

constexpr auto kLockObstacles = std::to_array<std::string_view>(
    {"", "off", "no-voters", "no-majority", "abstaining", "unwritable", "record-lost",
     "other-voters", "clone", "too-many-machines"});
static_assert(kLockObstacles.size() == std::to_underlying(LockObstacle::count));

// A larger token would leave no room to count on (protocol/lock/lock_mail.h).
constexpr std::uint64_t kMaxToken = ((std::uint64_t{1} << 40) - (std::uint64_t{1} << 20)) << 24;

std::unexpected<Refusal> refuse(Code code, std::string message) {
  return std::unexpected(Refusal{.code = code, .message = std::move(message)});
}

std::string verb_list() {
  std::string list;
  for (const std::string_view name : kVerbNames) {
    if (!list.empty()) list += ", ";
    list += name;
  }
  return list;
}

// A received text, shortened and printable, for error messages.
std::string quoted(std::string_view text) {
  constexpr std::size_t kMaxShown = 40;
  std::string shown;
  for (const char c : text.substr(0, kMaxShown)) shown += c >= ' ' && c <= '~' ? c : '?';
  return '\'' + shown + (text.size() > kMaxShown ? "..." : "") + '\'';
}

std::vector<std::string_view> members_of(Verb verb) {
  if (verb == Verb::set_time) return {"v", "do", "by_ns", "to_ns"};
  if (verb == Verb::trace) return {"v", "do", "on"};
  if (verb == Verb::doctor) return {"v", "do", "all", "host"};
  if (asks_others(verb)) return {"v", "do", "host"};
  if (verb == Verb::lock)
    return {"v",    "do",       "name",      "shared",    "id",
            "kind", "lease_ns", "resumable", "waited_ns", "no_wait"};
  if (verb == Verb::resume)
    return {"v", "do", "name", "shared", "id", "lease_ns", "token", "session", "until_ns"};
  if (verb == Verb::unlock) return {"v", "do", "id"};
  if (votes(verb)) return {"v", "do", "host"};
  if (verb == Verb::give_back) return {"v", "do", "name"};
  if (verb == Verb::bootstrap_again) return {"v", "do", "above"};
  if (verb == Verb::nominate_voters) return {"v", "do", "hosts"};
  if (auto members = group_members(verb); !members.empty()) return members;
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
  return verb == Verb::watch || verb == Verb::events || verb == Verb::trace_follow ||
         verb == Verb::watch_group;
}

bool changes(Verb verb) {
  return verb == Verb::reelect || verb == Verb::set_time || verb == Verb::trace ||
         verb == Verb::invite || verb == Verb::give_back || verb == Verb::bootstrap_again ||
         verb == Verb::nominate_voters;
}

bool locks(Verb verb) { return verb == Verb::lock || verb == Verb::unlock || verb == Verb::resume; }

bool votes(Verb verb) { return verb == Verb::forget || verb == Verb::admit; }

bool asks_others(Verb verb) {
  return verb == Verb::status || verb == Verb::members || verb == Verb::locks ||
         verb == Verb::doctor || verb == Verb::now;
}

bool elects(Verb verb) {
  return verb == Verb::elect || verb == Verb::offer || verb == Verb::stopped ||
         verb == Verb::withdraw || verb == Verb::resign_group;
}

bool orders(Verb verb) { return changes(verb) || votes(verb) || verb == Verb::resign_group; }

// --- daemon side ---

namespace {

std::uint64_t token_at(const Json& json) {
  return parse_number<std::uint64_t>(json.text_at("token").value_or("")).value_or(0);
}

Result<void, Refusal> read_lock(const Json& json, Request& request) {
  const auto id = json.whole_at("id");
  if (!id)
    return refuse(Code::bad_request,
                  fmt::format(R"({} needs "id", a whole number chosen by the client)",
                              name_of(request.verb)));
  request.id = *id;
  if (request.verb == Verb::unlock) return {};
  const auto name = json.text_at("name");
  if (!name)
    return refuse(Code::bad_request,
                  fmt::format(R"({} needs "name", the name of the lock)", name_of(request.verb)));
  request.name = *name;
  if (json.has("kind")) {
    const auto* const kind = std::ranges::find(kLockKinds, json.text_at("kind").value_or(""));
    if (kind == kLockKinds.end())
      return refuse(Code::bad_request, R"("kind" must be lease, silent or explicit)");
    request.kind = static_cast<LockKind>(kind - kLockKinds.begin());
  }
  if (json.has("lease_ns")) {
    request.lease_ns = json.whole_at("lease_ns").value_or(0);
    if (request.lease_ns <= 0)
      return refuse(Code::bad_request, R"("lease_ns" must be a whole number above 0)");
  }
  if (json.has("waited_ns")) {
    request.waited_ns = json.whole_at("waited_ns").value_or(-1);
    if (request.waited_ns < 0)
      return refuse(Code::bad_request, R"("waited_ns" must be a whole number, 0 or larger)");
  }
  for (const auto& [key, into] :
       {std::pair{"resumable", &request.resumable}, std::pair{"no_wait", &request.no_wait}}) {
    if (!json.has(key)) continue;
    const auto flag = json.flag_at(key);
    if (!flag) return refuse(Code::bad_request, fmt::format(R"("{}" must be true or false)", key));
    *into = *flag;
  }
  if (request.verb == Verb::resume) {
    request.token = token_at(json);
    request.session = json.text_at("session").value_or("");
    request.until_ns = json.whole_at("until_ns").value_or(0);
    if (request.token == 0 || request.session.empty() || request.until_ns <= 0)
      return refuse(Code::bad_request,
                    R"(resume needs "token", "session" and "until_ns" of the lock as granted)");
  }
  if (!json.has("shared")) return {};
  const auto shared = json.flag_at("shared");
  if (!shared) return refuse(Code::bad_request, R"("shared" must be true or false)");
  request.shared = *shared;
  return {};
}

}  // namespace

Result<Request, Refusal> parse_request(std::string_view line) {
  if (line.size() > kMaxRequest)
    return refuse(Code::bad_request,
                  fmt::format("the request has {1} bytes; at most {0} bytes are allowed",
                              kMaxRequest, line.size()));
  const auto json = Json::parse(line);
  if (!json || !json->is_object())
    return refuse(
        Code::bad_request,
        R"(a request must be one JSON object on one line, for example {"v":1,"do":"status"})");
  const auto version = json->whole_at("v");
  if (!version)
    return refuse(Code::wrong_version,
                  fmt::format(R"(the protocol version is missing; add "v":{})", kVersion));
  if (*version != kVersion)
    return refuse(
        Code::wrong_version,
        fmt::format("this tempod speaks version {}, not {}; use the tempo that came with it",
                    kVersion, *version));
  const auto name = json->text_at("do");
  if (!name)
    return refuse(Code::bad_request,
                  fmt::format(R"("do" is missing; it must be one of {})", verb_list()));
  if (*name == "resign")
    return refuse(Code::bad_request, R"('resign' was merged into 'reelect'; send "do":"reelect")");
  const auto found = std::ranges::find(kVerbNames, *name);
  if (found == kVerbNames.end())
    return refuse(Code::unknown_verb, fmt::format("unknown request {}; \"do\" must be one of {}",
                                                  quoted(*name), verb_list()));

  Request request{.verb = static_cast<Verb>(found - kVerbNames.begin()), .by_ns = {}, .to_ns = {}};
  const auto known = members_of(request.verb);
  for (const std::string& key : json->keys())
    if (std::ranges::find(known, key) == known.end())
      return refuse(Code::bad_request, fmt::format("{} has no member {}; remove it",
                                                   name_of(request.verb), quoted(key)));
  for (const auto& [key, into] : {std::pair{"by_ns", &request.by_ns}, {"to_ns", &request.to_ns}}) {
    if (!json->has(key)) continue;
    *into = json->whole_at(key);
    if (!*into)
      return refuse(Code::bad_request,
                    fmt::format("{} must be a whole number of nanoseconds", key));
  }
  if (request.verb == Verb::set_time && request.by_ns.has_value() == request.to_ns.has_value())
    return refuse(Code::bad_request,
                  "set-time needs either by_ns or to_ns, a whole number of nanoseconds");
  if (request.verb == Verb::trace) {
    const auto on = json->flag_at("on");
    if (!on) return refuse(Code::bad_request, R"(trace needs "on":true or "on":false)");
    request.on = *on;
  }
  if (request.verb == Verb::doctor && json->has("all")) {
    const auto all = json->flag_at("all");
    if (!all) return refuse(Code::bad_request, R"("all" must be true or false)");
    request.all = *all;
  }
  if (locks(request.verb))
    if (auto read = read_lock(*json, request); !read) return std::unexpected(read.error());
  if (votes(request.verb)) {
    const auto host = json->text_at("host");
    if (!host)
      return refuse(
          Code::bad_request,
          fmt::format(R"({} needs "host", the name or id of a machine)", name_of(request.verb)));
    request.host = *host;
  }
  if (request.verb == Verb::nominate_voters) {
    const auto hosts = json->at("hosts").value_or(Json::array()).elements();
    for (const Json& host : hosts)
      if (const auto text = host.as_text(); text && !text->empty()) request.hosts.push_back(*text);
    if (hosts.empty() || hosts.size() > kMaxVoters || request.hosts.size() != hosts.size())
      return refuse(
          Code::bad_request,
          fmt::format(
              R"(nominate-voters needs "hosts", a list of 1 to {} names or ids of machines)",
              kMaxVoters));
  }
  if (request.verb == Verb::give_back) {
    const auto lock = json->text_at("name");
    if (!lock) return refuse(Code::bad_request, R"(give-back needs "name", the name of the lock)");
    request.name = *lock;
  }
  if (asks_others(request.verb) && json->has("host")) {
    const auto host = json->text_at("host");
    if (!host || host->empty())
      return refuse(Code::bad_request, R"("host" must be the name or id of a member)");
    if (request.all)
      return refuse(Code::bad_request, R"(doctor takes either "all" or "host", not both)");
    request.host = *host;
  }
  if (request.verb == Verb::bootstrap_again && json->has("above")) {
    const auto above = parse_number<std::uint64_t>(json->text_at("above").value_or(""));
    if (!above || *above > kMaxToken)
      return refuse(
          Code::bad_request,
          fmt::format(R"("above" must be a token, a string of digits up to {})", kMaxToken));
    request.above = *above;
  }
  if (!group_members(request.verb).empty())
    if (auto read = read_group_request(*json, request); !read) return std::unexpected(read.error());
  return request;
}

std::string done_line() { return head(true) + '}'; }

std::string refusal_line(const Refusal& refusal) {
  Json json = Json::object().add("v", kVersion).add("ok", false);
  json.add("error", refusal.message).add("code", name_of(refusal.code));
  if (refusal.id) json.add("id", *refusal.id);
  return json.line();
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
                      .add("time_ns", std::to_string(now.time_ns))
                      .add("earliest_ns", std::to_string(now.earliest_ns))
                      .add("latest_ns", std::to_string(now.latest_ns))
                      .add("status", now.status)
                      .add("generation", std::int64_t{now.generation}))
      .line();
}

std::string event_line(const Event& event) {
  return Json::object()
      .add("v", kVersion)
      .add("ok", true)
      .add("event", Json::object()
                        .add("name", event.name)
                        .add("at_ns", std::to_string(event.at_ns))
                        .add("text", event.text))
      .line();
}

std::string reelected_line(const Reelected& reelected) {
  return Json::object()
      .add("v", kVersion)
      .add("ok", true)
      .add("reelect",
           Json::object().add("master", reelected.master).add("network", reelected.network))
      .line();
}

std::string invited_line(const Invited& invited) {
  return Json::object()
      .add("v", kVersion)
      .add("ok", true)
      .add("invitation", Json::object()
                             .add("token", invited.token)
                             .add("valid_s", std::uint64_t{invited.valid_s})
                             .add("cluster", invited.cluster)
                             .add("port", std::uint64_t{invited.port}))
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
                  .add("code", finding.code)
                  .add("what", finding.what)
                  .add("evidence", finding.evidence)
                  .add("cure", finding.cure));
  return list;
}

std::vector<Finding> findings_in(const Json& list) {
  std::vector<Finding> findings;
  for (const Json& element : list.elements())
    findings.push_back({element.text_at("level").value_or("note"),
                        element.text_at("what").value_or(""), element.text_at("cure").value_or(""),
                        element.text_at("code").value_or(""),
                        element.text_at("evidence").value_or("")});
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

std::string_view name_of(LockUpdate::State state) {
  CHECK(state < LockUpdate::State::count);
  return kLockStates[std::to_underlying(state)];
}

std::string_view name_of(LockKind kind) {
  CHECK(kind < LockKind::count);
  return kLockKinds[std::to_underlying(kind)];
}

// Formatted directly for speed; nothing in it needs escaping.
std::string lock_line(const LockUpdate& update) {
  std::string line = fmt::format(R"({},"lock":{{"id":{},"state":"{}")", head(true), update.id,
                                 name_of(update.state));
  if (update.state == LockUpdate::State::granted && update.token != 0)
    line += fmt::format(R"(,"token":"{}")", update.token);
  if (update.state == LockUpdate::State::granted || update.state == LockUpdate::State::extended)
    line += fmt::format(R"(,"until_ns":"{}")", update.until_ns);
  if (!update.session.empty()) line += fmt::format(R"(,"session":"{}")", update.session);
  return line + "}}";
}

std::string_view name_of(LockObstacle obstacle) {
  CHECK(obstacle < LockObstacle::count);
  return kLockObstacles[std::to_underlying(obstacle)];
}

std::string locks_line(const LocksView& view) {
  Json voters = Json::array();
  for (const VoterView& voter : view.voters)
    voters.push(Json::object()
                    .add("host", voter.host)
                    .add("votes", std::uint64_t{voter.votes})
                    .add("reachable", voter.reachable)
                    .add("state", voter.state)
                    .add("heard_ago_s", voter.heard_ago_s));
  Json list = Json::array();
  for (const LockView& lock : view.locks) {
    Json clients = Json::array();
    for (const LockView::Client& client : lock.clients)
      clients.push(Json::object()
                       .add("pid", std::uint64_t{client.pid})
                       .add("shared", client.shared)
                       .add("inside", client.inside)
                       .add("since_s", client.since_s)
                       .add("token", fmt::format("{}", client.token)));
    Json elsewhere = Json::array();
    for (const LockView::Waiter& waiter : lock.elsewhere)
      elsewhere.push(Json::object()
                         .add("host", waiter.host)
                         .add("shared", waiter.shared)
                         .add("since_s", waiter.since_s));
    list.push(Json::object()
                  .add("name", lock.name)
                  .add("kind", name_of(lock.kind))
                  .add("shared", lock.shared)
                  .add("holder", lock.holder)
                  .add("here", lock.here)
                  .add("left_s", lock.left_s)
                  .add("clients", clients)
                  .add("elsewhere", elsewhere));
  }
  Json reply = Json::object()
                   .add("v", kVersion)
                   .add("ok", true)
                   .add("guarantee", view.guarantee)
                   .add("obstacle", name_of(view.obstacle))
                   .add("voters", voters)
                   .add("votes_needed", std::uint64_t{view.votes_needed});
  if (view.losses_survived) reply.add("losses_survived", std::uint64_t{*view.losses_survived});
  return reply.add("locks", list).line();
}

// --- client side ---

std::string request_line(const Request& request) {
  Json json = Json::object().add("v", kVersion).add("do", name_of(request.verb));
  if (request.by_ns) json.add("by_ns", *request.by_ns);
  if (request.to_ns) json.add("to_ns", *request.to_ns);
  if (request.verb == Verb::trace) json.add("on", request.on);
  if (request.all) json.add("all", true);
  if (locks(request.verb)) json.add("id", request.id);
  if (votes(request.verb) || (asks_others(request.verb) && !request.host.empty()))
    json.add("host", request.host);
  if (request.verb == Verb::give_back) json.add("name", request.name);
  if (!request.hosts.empty()) {
    Json hosts = Json::array();
    for (const std::string& host : request.hosts) hosts.push(host);
    json.add("hosts", hosts);
  }
  if (request.above != 0) json.add("above", fmt::format("{}", request.above));
  if (request.verb == Verb::lock || request.verb == Verb::resume)
    json.add("name", request.name).add("shared", request.shared);
  if (request.resumable && locks(request.verb)) json.add("resumable", true);
  if (request.waited_ns != 0) json.add("waited_ns", request.waited_ns);
  if (request.no_wait) json.add("no_wait", true);
  if (request.verb == Verb::resume)
    json.add("token", fmt::format("{}", request.token))
        .add("session", request.session)
        .add("until_ns", request.until_ns);
  if (request.kind != LockKind::lease) json.add("kind", name_of(request.kind));
  if (request.lease_ns != 0) json.add("lease_ns", request.lease_ns);
  write_group_request(request, json);
  return json.line();
}

Result<Reply> parse_reply(std::string_view line) {
  TRY(json, Json::parse(line));
  if (json.whole_at("v") != kVersion)
    return std::unexpected(fmt::format("it is not a reply of protocol version {}", kVersion));
  const auto ok = json.flag_at("ok");
  if (!ok) return std::unexpected(std::string("it has no member \"ok\""));
  Reply reply;
  if (!*ok) {
    Refusal refusal{Code::unavailable, json.text_at("error").value_or("tempod gave no reason"),
                    json.whole_at("id")};
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
std::unexpected<std::string> missing(const char* what) {
  return std::unexpected(fmt::format("tempod's reply has no {}", what));
}
}  // namespace

Result<Now> now_of(const Reply& reply) {
  const auto json = reply.body.at("now");
  if (!json) return missing("time");
  const auto time = json->whole_at("time_ns");
  const auto earliest = json->whole_at("earliest_ns");
  const auto latest = json->whole_at("latest_ns");
  const auto status = json->text_at("status");
  if (!time || !earliest || !latest || !status) return missing("complete time");
  const std::int64_t generation = json->whole_at("generation").value_or(0);
  return Now{*time, *earliest, *latest, *status, static_cast<std::uint32_t>(generation)};
}

Result<Event> event_of(const Reply& reply) {
  const auto json = reply.body.at("event");
  if (!json) return missing("event");
  const auto name = json->text_at("name");
  if (!name) return missing("event name");
  return Event{*name, json->whole_at("at_ns").value_or(0), json->text_at("text").value_or("")};
}

Result<Reelected> reelected_of(const Reply& reply) {
  const auto json = reply.body.at("reelect");
  if (!json) return missing("reelect");
  const auto master = json->text_at("master");
  if (!master) return missing("master that has resigned");
  return Reelected{.master = *master, .network = json->text_at("network").value_or("")};
}

Result<Invited> invited_of(const Reply& reply) {
  const auto json = reply.body.at("invitation");
  if (!json) return missing("invitation");
  const auto token = json->text_at("token");
  const auto port = json->count_at("port");
  if (!token || !port || !std::in_range<std::uint16_t>(*port)) return missing("valid invitation");
  return Invited{.token = *token,
                 .valid_s = static_cast<std::uint32_t>(json->count_at("valid_s").value_or(0)),
                 .cluster = json->text_at("cluster").value_or(""),
                 .port = static_cast<std::uint16_t>(*port)};
}

Result<std::string> trace_of(const Reply& reply) {
  const auto text = reply.body.text_at("trace");
  if (!text) return missing("trace");
  return *text;
}

Result<std::vector<Finding>> findings_of(const Reply& reply) {
  const auto list = reply.body.at("findings");
  if (!list || !list->is_array()) return missing("list of findings");
  return findings_in(*list);
}

Result<std::vector<MemberFindings>> members_findings_of(const Reply& reply) {
  const auto list = reply.body.at("members");
  if (!list || !list->is_array()) return missing("list of member findings");
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

namespace {

// A token is a JSON string: not every language has 64-bit integers.
}  // namespace

Result<LockUpdate> lock_of(const Reply& reply) {
  const auto json = reply.body.at("lock");
  if (!json) return missing("lock");
  const auto id = json->whole_at("id");
  const auto* const state = std::ranges::find(kLockStates, json->text_at("state").value_or(""));
  if (!id || state == kLockStates.end()) return missing("valid lock");
  return LockUpdate{.id = *id,
                    .state = static_cast<LockUpdate::State>(state - kLockStates.begin()),
                    .token = token_at(*json),
                    .until_ns = json->whole_at("until_ns").value_or(0),
                    .session = json->text_at("session").value_or("")};
}

Result<std::vector<LockView>> locks_of(const Reply& reply) {
  const auto list = reply.body.at("locks");
  if (!list || !list->is_array()) return missing("list of locks");
  std::vector<LockView> locks;
  for (const Json& element : list->elements()) {
    LockView& lock = locks.emplace_back();
    lock.name = element.text_at("name").value_or("");
    const auto* const kind =
        std::ranges::find(kLockKinds, element.text_at("kind").value_or("lease"));
    if (kind != kLockKinds.end()) lock.kind = static_cast<LockKind>(kind - kLockKinds.begin());
    lock.shared = element.flag_at("shared").value_or(false);
    lock.holder = element.text_at("holder").value_or("");
    lock.here = element.flag_at("here").value_or(false);
    lock.left_s = element.number_at("left_s").value_or(0);
    const auto elsewhere = element.at("elsewhere");
    for (const Json& waiter : elsewhere ? elsewhere->elements() : std::vector<Json>{})
      lock.elsewhere.push_back({.host = waiter.text_at("host").value_or(""),
                                .shared = waiter.flag_at("shared").value_or(false),
                                .since_s = waiter.number_at("since_s").value_or(0)});
    const auto clients = element.at("clients");
    if (!clients) continue;
    for (const Json& client : clients->elements())
      lock.clients.push_back({.pid = static_cast<std::uint32_t>(client.count_at("pid").value_or(0)),
                              .shared = client.flag_at("shared").value_or(false),
                              .inside = client.flag_at("inside").value_or(false),
                              .since_s = client.number_at("since_s").value_or(0),
                              .token = token_at(client)});
  }
  return locks;
}

Result<LocksView> locks_view_of(const Reply& reply) {
  TRY(locks, locks_of(reply));
  LocksView view{.guarantee = reply.body.text_at("guarantee").value_or(""),
                 .locks = std::move(locks)};
  const auto* const obstacle =
      std::ranges::find(kLockObstacles, reply.body.text_at("obstacle").value_or(""));
  if (obstacle != kLockObstacles.end())
    view.obstacle = static_cast<LockObstacle>(obstacle - kLockObstacles.begin());
  const auto voters = reply.body.at("voters");
  for (const Json& voter : voters ? voters->elements() : std::vector<Json>{})
    view.voters.push_back({.host = voter.text_at("host").value_or(""),
                           .votes = static_cast<std::uint32_t>(voter.count_at("votes").value_or(0)),
                           .reachable = voter.flag_at("reachable").value_or(false),
                           .state = voter.text_at("state").value_or(""),
                           .heard_ago_s = voter.number_at("heard_ago_s").value_or(0)});
  view.votes_needed = static_cast<std::uint32_t>(reply.body.count_at("votes_needed").value_or(0));
  if (const auto losses = reply.body.count_at("losses_survived"))
    view.losses_survived = static_cast<std::uint32_t>(*losses);
  return view;
}

}  // namespace tempo::ipc
