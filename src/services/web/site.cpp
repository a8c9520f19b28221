#include "services/web/site.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/core.h>

#include "api/control_protocol.h"
#include "base/json.h"
#include "base/number_text.h"
#include "services/web/assets.h"

namespace tempo::web {
namespace {

constexpr std::string_view kJson = "application/json; charset=utf-8";
constexpr std::string_view kCookie = "tempo-token=";
constexpr double kLongestSpan = 86400;

Text text_of(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

Response plain(unsigned status, std::string sentence) {
  return {.status = status, .body = text_of(std::move(sentence) + '\n')};
}

// One object, as the commands print with --json.
Response json_error(unsigned status, const char* code, const std::string& message) {
  return {.status = status,
          .type = kJson,
          .body = text_of(Json::object()
                              .add("version", std::uint64_t{1})
                              .add("error", Json::object()
                                                .add("status", std::uint64_t{3})
                                                .add("code", code)
                                                .add("message", message))
                              .line() +
                          '\n')};
}

Response json_data(const std::string& data) {
  return {.type = kJson, .body = text_of(fmt::format("{{\"version\":1,\"data\":{}}}\n", data))};
}

// Takes as long for a wrong token as for the right one.
bool equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(a[i]) ^ static_cast<unsigned>(b[i]);
  return difference == 0;
}

std::string_view cookie_of(std::string_view cookies) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(kCookie)) return one.substr(kCookie.size());
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return "";
}

// The host of "host", "host:port", "[address]" and "[address]:port".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

std::string status_name(page::Status status) {
  constexpr std::array<const char*, 6> kNames{"unsynchronized", "holdover", "synchronized",
                                              "leads",          "minority", "alone"};
  const auto i = static_cast<std::size_t>(status);
  return i < kNames.size() ? kNames[i] : "unsynchronized";
}

}  // namespace

bool Site::known_host(std::string_view host) const {
  const std::string_view name = without_port(host);
  return std::ranges::any_of(options_.hosts,
                             [&](const std::string& known) { return same_name(known, name); });
}

bool Site::has_token(const Request& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  if (options_.token.empty()) return true;
  if (request.authorization.starts_with(kBearer))
    return equal(request.authorization.substr(kBearer.size()), options_.token);
  return equal(cookie_of(request.cookie), options_.token);
}

Response Site::answer(const Request& request, Instant now) const {
  if (request.path == "/healthz")
    return model_->fresh(now)
               ? plain(200, "ok")
               : plain(503, model_->error().empty() ? "tempod is silent" : model_->error());
  if (!known_host(request.host))
    return plain(421, "this server does not answer under that name; give it with --host-name NAME");
  if (!has_token(request)) {
    if (request.path == "/" && !request.token.empty() && equal(request.token, options_.token)) {
      Response response = plain(303, "see /");
      response.headers.emplace_back("Location", "/");
      response.headers.emplace_back(
          "Set-Cookie",
          fmt::format("{}{}; Path=/; HttpOnly; SameSite=Strict", kCookie, options_.token));
      return response;
    }
    Response response =
        plain(401, "a token is required: open /?token=TOKEN once, or send it as a bearer token");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  for (const Asset& asset : assets())
    if (request.path == asset.path) return {.type = asset.type, .body = asset.body};
  if (request.path == "/events")
    return {.type = "text/event-stream", .body = model_->state(), .stream = true};
  if (request.path == "/metrics") {
    const bool open = request.accept.find("application/openmetrics-text") != request.accept.npos;
    if (!model_->fresh(now)) return plain(503, "tempod does not answer: " + model_->error());
    return {.type = open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                         : "text/plain; version=0.0.4; charset=utf-8",
            .body = text_of(model_->metrics(open ? obs::MetricsFormat::openmetrics
                                                 : obs::MetricsFormat::prometheus))};
  }
  constexpr std::string_view kApi = "/api/v1/";
  if (request.path.starts_with(kApi)) return api(request.path.substr(kApi.size()), request, now);
  return plain(404, "no such page; see /");
}

Response Site::api(std::string_view verb, const Request& request, Instant now) const {
  if (verb == "now") {
    const std::string json = now_json();
    return json.empty() ? json_error(503, "no-daemon", "there is no time page: tempod does not run")
                        : json_data(json);
  }
  if (!model_->fresh(now))
    return json_error(503, "no-daemon", "tempod does not answer: " + model_->error());
  if (verb == "history") {
    const auto span = parse_number<double>(request.span_s);
    const std::string json =
        model_->history(request.id, span && *span > 0 ? std::min(*span, kLongestSpan) : 600);
    return json.empty() ? json_error(404, "refused", "no history of a member with that id")
                        : json_data(json);
  }
  std::string json;
  if (verb == "status")
    json = model_->status();
  else if (verb == "members")
    json = model_->members();
  else if (verb == "locks")
    json = model_->locks();
  else if (verb == "groups")
    json = model_->groups();
  else if (verb == "doctor")
    json = model_->findings();
  else if (verb == "events")
    json = model_->events();
  else
    return json_error(404, "refused",
                      "no such answer; there are status, members, now, locks, groups, doctor, "
                      "events and history");
  return json.empty() ? json_error(503, "no-daemon", "tempod has not answered this yet")
                      : json_data(json);
}

std::string Site::now_json() const {
  if (options_.page.empty()) return "";
  if (!reader_) {
    auto opened = page::Reader::open(options_.page);
    if (!opened) return "";
    reader_.emplace(*std::move(opened));
  }
  const page::Reading reading = reader_->now();
  const auto text = [](WallTime time) { return std::to_string(time.time_since_epoch().count()); };
  return Json::object()
      .add("time_ns", text(reading.time))
      .add("earliest_ns", text(reading.earliest))
      .add("latest_ns", text(reading.latest))
      .add("status", status_name(reading.status))
      .add("generation", std::uint64_t{reading.generation})
      .line();
}

}  // namespace tempo::web
