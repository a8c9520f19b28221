// The model and the site: what readers get, and who gets nothing.
#include "services/web/site.h"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/web/assets.h"

namespace tempo::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Instant kNow{100s};

Json status(const std::string& master, double offset_us = 1.5) {
  obs::Snapshot s;
  s.name = "bow";
  s.status = "synchronized";
  s.time_ns = 1'700'000'000'000'000'000;
  s.earliest_ns = s.time_ns - 1000;
  s.latest_ns = s.time_ns + 1000;
  s.networks.emplace_back().master = master;
  obs::MemberView& self = s.members.emplace_back();
  self.name = "bow";
  self.id = "b0";
  self.self = true;
  self.state = "up";
  self.offset_us = offset_us;
  self.bound_us = 4;
  return *Json::parse(obs::to_json(s));
}

ipc::Reply locks_reply(const std::string& holder) {
  ipc::LocksView view;
  ipc::LockView& lock = view.locks.emplace_back();
  lock.name = "backup";
  lock.holder = holder;
  return *ipc::parse_reply(ipc::locks_line(view));
}

// The text of the messages from `position` on.
std::string messages_from(const Model& model, std::uint64_t position) {
  std::string text;
  for (; position < model.messages().next(); ++position) text += *model.messages().at(position);
  return text;
}

TEST(Series, KeepsExcursionsAndIsBounded) {
  Series series;
  for (int second = 0; second < 200'000; ++second)
    series.add(1e9 + second, second == 199'000 ? 50 : 1, 2);
  const auto day = Json::parse(series.json(86400));
  ASSERT_TRUE(day);
  EXPECT_EQ(day->count_at("step_s"), 240U);
  EXPECT_EQ(day->at("points")->elements().size(), 360U);
  EXPECT_THAT(series.json(86400), HasSubstr(",1,50,2]"));
  EXPECT_EQ(Json::parse(series.json(600))->at("points")->elements().size(), 300U);
}

TEST(Series, DropsWhatLiesAheadOfAClockThatWasSetBack) {
  Series series;
  for (int second = 0; second < 100; ++second) series.add(2e9 + second, 1, 1);
  series.add(1e9, 7, 1);
  EXPECT_EQ(series.json(600), R"({"step_s":2,"points":[[1000000000,7,7,1]]})");
  series.add(1e300, 7, 1);  // no time at all
  EXPECT_EQ(series.json(600), R"({"step_s":2,"points":[[1000000000,7,7,1]]})");
}

TEST(Messages, AreBounded) {
  Messages messages;
  for (int i = 0; i < 1000; ++i) messages.push(Messages::format("a", "{}"));
  EXPECT_EQ(messages.next(), 1000U);
  EXPECT_EQ(messages.at(0), nullptr);
  EXPECT_NE(messages.at(1000 - Messages::kMaxMessages), nullptr);
  EXPECT_EQ(messages.at(999 - Messages::kMaxMessages), nullptr);
  const std::string large(Messages::kMaxBytes / 3, 'x');
  for (int i = 0; i < 5; ++i) messages.push(Messages::format("a", large));
  EXPECT_EQ(messages.at(1002), nullptr);
  EXPECT_NE(messages.at(1004), nullptr);
}

TEST(Model, SendsMembersWhenTheirStateChangesElseSeldom) {
  Model model;
  model.on_connection(true, "");
  model.on_status(status("mast"), kNow);
  EXPECT_THAT(messages_from(model, 0), HasSubstr("event: members\n"));
  std::uint64_t before = model.messages().next();
  model.on_status(status("mast", 2.5), kNow + 300ms);
  EXPECT_THAT(messages_from(model, before), Not(HasSubstr("event: members\n")));
  EXPECT_THAT(messages_from(model, before), HasSubstr("event: status\n"));
  before = model.messages().next();
  Json changed = status("mast");
  obs::Snapshot silent = *obs::from_json(changed.line());
  silent.members[0].state = "silent";
  model.on_status(*Json::parse(obs::to_json(silent)), kNow + 600ms);
  EXPECT_THAT(messages_from(model, before), HasSubstr("event: members\n"));
}

TEST(Model, RecordsHandOversOfLocks) {
  Model model;
  model.on_locks(locks_reply("bow"), kNow + 1s);
  model.on_locks(locks_reply(""), kNow + 2s);  // between two holders
  model.on_locks(locks_reply("mast"), kNow + 3s);
  model.on_locks(locks_reply("mast"), kNow + 4s);
  const std::string state = *model.state();
  EXPECT_THAT(state, HasSubstr(R"("name":"backup","from":"","to":"bow")"));
  EXPECT_THAT(state, HasSubstr(R"("name":"backup","from":"bow","to":"mast")"));
  EXPECT_THAT(state, Not(HasSubstr(R"("from":"mast")")));
}

// Each hand-over is sent once: a reader got the whole history with each.
TEST(Model, SendsAHandOverOnceAndLongListsSeldom) {
  Model model;
  model.on_locks(locks_reply("bow"), kNow);
  const std::uint64_t before = model.messages().next();
  model.on_locks(locks_reply("mast"), kNow + 1s);
  const std::string sent = messages_from(model, before);
  EXPECT_THAT(sent, HasSubstr("event: moves\ndata: [{"));
  EXPECT_THAT(sent, Not(HasSubstr("\"to\":\"bow\"")));
  ipc::LocksView view;
  for (int i = 0; i < 5000; ++i) view.locks.emplace_back().name = "lock" + std::to_string(i);
  const auto many = [&](const char* guarantee, Nanos after) {
    view.guarantee = guarantee;
    const std::uint64_t first = model.messages().next();
    model.on_locks(*ipc::parse_reply(ipc::locks_line(view)), kNow + after);
    return messages_from(model, first).size();
  };
  EXPECT_GT(many("a", 20s), 100'000U);
  EXPECT_EQ(many("b", 20s + 500ms), 0U);
  EXPECT_THAT(model.locks(), HasSubstr(R"("guarantee":"b")"));
  EXPECT_GT(many("b", 60s), 100'000U);  // late, not lost
}

class SiteTest : public ::testing::Test {
 protected:
  SiteTest() {
    model_.on_connection(true, "");
    model_.on_status(status("mast"), kNow);
  }
  Response get(std::string_view path, std::string_view host = "localhost:8525") const {
    return open_.answer({.path = path, .host = host}, kNow);
  }

  Model model_;
  Site open_{model_, {.hosts = {"localhost", "::1"}, .token = "", .page = ""}};
  Site closed_{model_, {.hosts = {"mast.lan"}, .token = "0123456789abcdef", .page = ""}};
};

TEST_F(SiteTest, ServesPageApiAndMetrics) {
  EXPECT_THAT(*get("/").body, HasSubstr("<title>tempo</title>"));
  EXPECT_EQ(get("/app.js").type, "text/javascript; charset=utf-8");
  EXPECT_THAT(*get("/troubleshooting.md").body, HasSubstr("### T001"));
  const Response api = get("/api/v1/status");
  EXPECT_EQ(api.status, 200U);
  const auto parsed = Json::parse(*api.body);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->whole_at("version"), 1);
  EXPECT_EQ(parsed->at("data")->text_at("name"), "bow");
  EXPECT_THAT(*get("/api/v1/members").body, HasSubstr(R"({"version":1,"data":[{"name":"bow")"));
  EXPECT_THAT(*get("/metrics").body, HasSubstr("tempo_status{status=\"synchronized\"} 1\n"));
  const Response open = open_.answer(
      {.path = "/metrics", .host = "localhost", .accept = "application/openmetrics-text"}, kNow);
  EXPECT_TRUE(open.body->ends_with("# EOF\n"));
  EXPECT_TRUE(get("/events").stream);
  EXPECT_EQ(get("/healthz").status, 200U);
  EXPECT_EQ(get("/etc/passwd").status, 404U);
  EXPECT_EQ(get("/api/v1/set-time").status, 404U);
}

TEST_F(SiteTest, HasTheHistoryOfMembers) {
  const Response history = open_.answer(
      {.path = "/api/v1/history", .host = "localhost", .id = "b0", .span_s = "600"}, kNow);
  EXPECT_THAT(*history.body, HasSubstr(R"("points":[[1700000000,1.5,1.5,4]])"));
  for (const char* id : {"", "b1", "../b0"})
    EXPECT_EQ(open_.answer({.path = "/api/v1/history", .host = "localhost", .id = id}, kNow).status,
              404U);
}

// A silent tempod is not a healthy network.
TEST_F(SiteTest, SaysThatTempodIsSilent) {
  const Instant later = kNow + Model::kFresh + 1s;
  for (const char* path : {"/healthz", "/metrics", "/api/v1/status", "/api/v1/history"})
    EXPECT_EQ(open_.answer({.path = path, .host = "localhost"}, later).status, 503U) << path;
  EXPECT_EQ(open_.answer({.path = "/", .host = "localhost"}, later).status, 200U);
}

// A foreign page that gives this server a name of its own (DNS rebinding) learns nothing.
TEST_F(SiteTest, AnswersOnlyUnderItsNames) {
  for (const char* host : {"localhost", "LOCALHOST:1", "[::1]:8525", "[::1]"})
    EXPECT_EQ(get("/api/v1/status", host).status, 200U) << host;
  for (const char* host : {"", "evil.example", "localhost.evil.example", "[", "::1", ":", "[]:"})
    EXPECT_EQ(get("/api/v1/status", host).status, 421U) << host;
}

TEST_F(SiteTest, RequiresTheToken) {
  const auto ask = [&](Request request) {
    if (request.path.empty()) request.path = "/api/v1/status";
    request.host = "mast.lan";
    return closed_.answer(request, kNow);
  };
  EXPECT_EQ(ask({}).status, 401U);
  for (const char* wrong :
       {"", "Bearer ", "Bearer 0123456789abcdeX", "0123456789abcdef", "Bearer 0123456789abcdef0"})
    EXPECT_EQ(ask({.authorization = wrong}).status, 401U) << wrong;
  EXPECT_EQ(ask({.authorization = "Bearer 0123456789abcdef"}).status, 200U);
  EXPECT_EQ(ask({.cookie = "a=b; tempo-token=0123456789abcdef"}).status, 200U);
  EXPECT_EQ(ask({.cookie = "tempo-token=; a=0123456789abcdef"}).status, 401U);
  EXPECT_EQ(ask({.token = "0123456789abcdef"}).status, 401U);  // only of the page
  const Response entered = ask({.path = "/", .token = "0123456789abcdef"});
  EXPECT_EQ(entered.status, 303U);
  EXPECT_THAT(entered.headers[1].second, HasSubstr("HttpOnly; SameSite=Strict"));
  EXPECT_EQ(ask({.path = "/healthz"}).status, 200U);
}

}  // namespace
}  // namespace tempo::web
