// The lines of doc/reference/control-protocol.md, one by one, and the refusals.
#include "api/control_protocol.h"

#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::ipc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Request good(std::string_view line) {
  const auto request = parse_request(line);
  if (!request) ADD_FAILURE() << line << ": " << request.error().message;
  return request.value_or(Request{.verb = Verb::count, .by_ns = {}, .to_ns = {}});
}

std::string refused(std::string_view line) {
  const auto request = parse_request(line);
  if (request) return "accepted";
  return std::string(name_of(request.error().code)) + ": " + request.error().message;
}

TEST(Requests, AreParsed) {
  for (int i = 0; i < static_cast<int>(Verb::count); ++i) {
    Request request{.verb = static_cast<Verb>(i), .by_ns = {}, .to_ns = {}};
    if (request.verb == Verb::set_time) request.by_ns = -5;
    if (request.verb == Verb::resume) {
      request.token = 5;
      request.session = "s";
      request.until_ns = 7;
    }
    if (request.verb == Verb::nominate_voters) request.hosts = {"bow"};
    EXPECT_EQ(good(request_line(request)), request) << request_line(request);
  }
  EXPECT_EQ(good(R"( {"do":"status", "v":1} )").verb, Verb::status);
  EXPECT_EQ(good(R"({"v":1,"do":"set-time","by_ns":-1500000000})").by_ns, -1'500'000'000);
  EXPECT_EQ(good(R"({"v":1,"do":"set-time","to_ns":1700000000000000000})").to_ns,
            1'700'000'000'000'000'000);
  EXPECT_TRUE(good(R"({"v":1,"do":"trace","on":true})").on);
  EXPECT_FALSE(good(R"({"v":1,"do":"trace","on":false})").on);
}

TEST(Requests, ForLocksAreParsed) {
  const Request lock = good(R"({"v":1,"do":"lock","name":"door","shared":true,"id":-7})");
  EXPECT_EQ(lock.name, "door");
  EXPECT_TRUE(lock.shared);
  EXPECT_EQ(lock.id, -7);
  EXPECT_FALSE(good(R"({"v":1,"do":"lock","name":"door","id":1})").shared);
  EXPECT_EQ(lock.kind, LockKind::lease);
  EXPECT_EQ(good(R"({"v":1,"do":"lock","name":"x","id":1,"kind":"silent"})").kind,
            LockKind::silent);
  EXPECT_EQ(good(R"({"v":1,"do":"lock","name":"x","id":1,"kind":"explicit"})").kind,
            LockKind::explicit_replies);
  EXPECT_EQ(refused(R"({"v":1,"do":"lock","name":"x","id":1,"kind":"loud"})"),
            R"(bad-request: "kind" must be lease, silent or explicit)");
  EXPECT_EQ(lock.lease_ns, 0);
  const Request longer = good(R"({"v":1,"do":"lock","name":"x","id":1,"lease_ns":10000000000})");
  EXPECT_EQ(longer.lease_ns, 10'000'000'000);
  EXPECT_EQ(good(request_line(longer)), longer);
  for (const char* wrong : {"0", "-5", "1.5", "\"10s\""})
    EXPECT_EQ(
        refused(fmt::format(R"({{"v":1,"do":"lock","name":"x","id":1,"lease_ns":{}}})", wrong)),
        R"(bad-request: "lease_ns" must be a whole number above 0)");
  const Request again =
      good(R"({"v":1,"do":"lock","name":"x","id":1,"resumable":true,"waited_ns":5000})");
  EXPECT_TRUE(again.resumable);
  EXPECT_EQ(again.waited_ns, 5'000);
  EXPECT_EQ(good(request_line(again)), again);
  EXPECT_EQ(refused(R"({"v":1,"do":"lock","name":"x","id":1,"waited_ns":-1})"),
            R"(bad-request: "waited_ns" must be a whole number, 0 or larger)");
  EXPECT_EQ(refused(R"({"v":1,"do":"lock","name":"x","id":1,"resumable":1})"),
            R"(bad-request: "resumable" must be true or false)");
  const Request at_once = good(R"({"v":1,"do":"lock","name":"x","id":1,"no_wait":true})");
  EXPECT_TRUE(at_once.no_wait);
  EXPECT_EQ(good(request_line(at_once)), at_once);
  const Request resume = good(
      R"({"v":1,"do":"resume","name":"x","id":1,"shared":true,"token":"9","session":"s","until_ns":7})");
  EXPECT_EQ(resume.token, 9U);
  EXPECT_EQ(resume.session, "s");
  EXPECT_EQ(resume.until_ns, 7);
  EXPECT_EQ(good(request_line(resume)), resume);
  for (const char* wrong : {R"("token":"9","session":"s")", R"("token":"9","until_ns":7)",
                            R"("session":"s","until_ns":7)"})
    EXPECT_EQ(
        refused(fmt::format(R"({{"v":1,"do":"resume","name":"x","id":1,{}}})", wrong)),
        R"(bad-request: resume needs "token", "session" and "until_ns" of the lock as granted)");
  EXPECT_EQ(good(R"({"v":1,"do":"forget","host":"db3"})").host, "db3");
  EXPECT_EQ(good(R"({"v":1,"do":"admit","host":"db3"})").verb, Verb::admit);
  EXPECT_EQ(refused(R"({"v":1,"do":"forget"})"),
            R"(bad-request: forget needs "host", the name or id of a machine)");
  EXPECT_EQ(good(R"({"v":1,"do":"unlock","id":3})").id, 3);
  EXPECT_EQ(refused(R"({"v":1,"do":"lock","name":"door"})"),
            R"(bad-request: lock needs "id", a whole number chosen by the client)");
  EXPECT_EQ(refused(R"({"v":1,"do":"unlock"})"),
            R"(bad-request: unlock needs "id", a whole number chosen by the client)");
  EXPECT_EQ(refused(R"({"v":1,"do":"lock","id":1})"),
            R"(bad-request: lock needs "name", the name of the lock)");
  EXPECT_EQ(refused(R"({"v":1,"do":"lock","id":1,"name":7})"),
            R"(bad-request: lock needs "name", the name of the lock)");
  EXPECT_EQ(refused(R"({"v":1,"do":"lock","id":1,"name":"x","shared":1})"),
            R"(bad-request: "shared" must be true or false)");
  EXPECT_EQ(refused(R"({"v":1,"do":"unlock","id":1,"name":"x"})"),
            "bad-request: unlock has no member 'name'; remove it");
}

TEST(Replies, ForLocksAreFormatted) {
  using State = LockUpdate::State;
  EXPECT_EQ(
      lock_line(
          {.id = 7, .state = State::granted, .token = 18446744073709551615U, .until_ns = 123}),
      R"({"v":1,"ok":true,"lock":{"id":7,"state":"granted",)"
      R"("token":"18446744073709551615","until_ns":"123"}})");
  EXPECT_EQ(lock_line({.id = 7, .state = State::extended, .until_ns = 124}),
            R"({"v":1,"ok":true,"lock":{"id":7,"state":"extended","until_ns":"124"}})");
  EXPECT_EQ(lock_line({.id = 7, .until_ns = 123}),
            R"({"v":1,"ok":true,"lock":{"id":7,"state":"granted","until_ns":"123"}})")
      << "only leases have a token";
  EXPECT_EQ(lock_line({.id = 7, .state = State::lost}),
            R"({"v":1,"ok":true,"lock":{"id":7,"state":"lost"}})");
  EXPECT_EQ(refusal_line({.code = Code::unavailable, .message = "no", .id = 7}),
            R"({"v":1,"ok":false,"error":"no","code":"unavailable","id":7})");
}

TEST(Replies, ForLocksRoundTrip) {
  using State = LockUpdate::State;
  for (const State state : {State::granted, State::extended, State::released, State::lost,
                            State::refused, State::wanted, State::busy}) {
    LockUpdate update{.id = 3, .state = state};
    if (state == State::granted) update.token = 1U << 31U;
    if (state == State::granted || state == State::extended) update.until_ns = 5;
    EXPECT_EQ(lock_of(parse_reply(lock_line(update)).value()).value(), update);
  }
  EXPECT_FALSE(lock_of(parse_reply(R"({"v":1,"ok":true})").value()));
  EXPECT_FALSE(lock_of(parse_reply(R"({"v":1,"ok":true,"lock":{"id":1,"state":"?"}})").value()));
  const std::vector<LockView> locks{
      {.name = "door",
       .kind = LockKind::silent,
       .shared = true,
       .holder = "bow",
       .here = true,
       .left_s = 1.5,
       .clients = {{.pid = 7, .shared = true, .inside = true, .since_s = 0.5, .token = 99}},
       .elsewhere = {{.host = "stern", .shared = true, .since_s = 2.5}}}};
  LocksView view{
      .guarantee = "locks work",
      .obstacle = LockObstacle::no_majority,
      .voters = {{.host = "bow", .votes = 2, .reachable = true, .state = "up", .heard_ago_s = 1.5}},
      .votes_needed = 2,
      .losses_survived = 0,
      .locks = locks};
  const auto reply = parse_reply(locks_line(view)).value();
  EXPECT_EQ(locks_of(reply).value(), locks);
  EXPECT_EQ(locks_view_of(reply).value(), view);
  view.losses_survived.reset();
  EXPECT_EQ(locks_view_of(parse_reply(locks_line(view)).value()).value(), view);
  EXPECT_EQ(reply.body.text_at("guarantee"), "locks work");
  EXPECT_EQ(
      parse_reply(refusal_line({.code = Code::unavailable, .message = "no", .id = 7}))->refusal->id,
      7);
}

TEST(Requests, AreFormatted) {
  EXPECT_EQ(request_line({.verb = Verb::trace_follow, .by_ns = {}, .to_ns = {}}),
            R"({"v":1,"do":"trace-follow"})");
  EXPECT_EQ(request_line({.verb = Verb::set_time, .by_ns = 7, .to_ns = {}}),
            R"({"v":1,"do":"set-time","by_ns":7})");
  EXPECT_EQ(request_line({.verb = Verb::trace, .by_ns = {}, .to_ns = {}, .on = true}),
            R"({"v":1,"do":"trace","on":true})");
}

TEST(Requests, AreRefusedWithTheCure) {
  const std::string shape =
      "bad-request: a request must be one JSON object on one line, for example "
      R"({"v":1,"do":"status"})";
  EXPECT_EQ(refused(""), shape);
  EXPECT_EQ(refused("status"), shape);
  EXPECT_EQ(refused("[]"), shape);
  EXPECT_EQ(refused(R"({"v":1,"do":"status"}{})"), shape);
  EXPECT_EQ(refused(R"({"do":"status"})"),
            R"(wrong-version: the protocol version is missing; add "v":1)");
  EXPECT_EQ(refused(R"({"v":"one","do":"status"})"),
            R"(wrong-version: the protocol version is missing; add "v":1)");
  EXPECT_EQ(refused(R"({"v":2,"do":"status"})"),
            "wrong-version: this tempod speaks version 1, not 2; use the tempo that came with it");
  EXPECT_THAT(refused(R"({"v":1})"), HasSubstr("bad-request: \"do\" is missing"));
  EXPECT_THAT(refused(R"({"v":1,"do":["status"]})"), HasSubstr("bad-request: \"do\" is missing"));
  EXPECT_THAT(
      refused(R"({"v":1,"do":"dance"})"),
      HasSubstr("unknown-verb: unknown request 'dance'; \"do\" must be one of status, members"));
  EXPECT_THAT(refused("{\"v\":1,\"do\":\"\\u0007" + std::string(100, 'x') + "\"}"),
              HasSubstr("unknown request '?" + std::string(39, 'x') + "...'"));
  EXPECT_EQ(refused(R"({"v":1,"do":"resign"})"),
            R"(bad-request: 'resign' was merged into 'reelect'; send "do":"reelect")");
  EXPECT_EQ(refused(R"({"v":1,"do":"status","on":true})"),
            "bad-request: status has no member 'on'; remove it");
  EXPECT_EQ(refused(R"({"v":1,"do":"trace"})"),
            R"(bad-request: trace needs "on":true or "on":false)");
  EXPECT_EQ(refused(R"({"v":1,"do":"trace","on":1})"),
            R"(bad-request: trace needs "on":true or "on":false)");
  const std::string either =
      "bad-request: set-time needs either by_ns or to_ns, a whole number of nanoseconds";
  EXPECT_EQ(refused(R"({"v":1,"do":"set-time"})"), either);
  EXPECT_EQ(refused(R"({"v":1,"do":"set-time","by_ns":1,"to_ns":1})"), either);
  EXPECT_EQ(refused(R"({"v":1,"do":"set-time","by_ns":1.5})"),
            "bad-request: by_ns must be a whole number of nanoseconds");
  EXPECT_EQ(refused(R"({"v":1,"do":"set-time","to_ns":9223372036854775808})"),
            "bad-request: to_ns must be a whole number of nanoseconds");
  EXPECT_EQ(refused(std::string(kMaxRequest + 1, ' ')),
            "bad-request: the request has 4097 bytes; at most 4096 bytes are allowed");
}

TEST(Verbs, AreClassified) {
  int streaming = 0, changing = 0;
  for (int i = 0; i < static_cast<int>(Verb::count); ++i) {
    streaming += streams(static_cast<Verb>(i)) ? 1 : 0;
    changing += changes(static_cast<Verb>(i)) ? 1 : 0;
  }
  EXPECT_EQ(streaming, 4);
  EXPECT_EQ(changing, 7);
}

TEST(Requests, BeginTheLockRecordAgain) {
  const auto above = [](const std::string& token) {
    return parse_request(R"({"v":1,"do":"bootstrap-again","above":)" + token + "}");
  };
  EXPECT_EQ(above(R"("7696614948869")")->above, 7'696'614'948'869U);
  EXPECT_EQ(parse_request(R"({"v":1,"do":"bootstrap-again"})")->above, 0U);
  EXPECT_FALSE(above("7696614948869")) << "a number";
  EXPECT_FALSE(above(R"("-1")"));
  EXPECT_FALSE(above(R"("18446744073709551615")")) << "no room to count on";
  Request request{.verb = Verb::bootstrap_again, .by_ns = {}, .to_ns = {}};
  request.above = 5;
  EXPECT_EQ(*parse_request(request_line(request)), request);
  EXPECT_TRUE(orders(Verb::bootstrap_again));
}

TEST(Requests, NominateVoters) {
  const auto nominates = [](const std::string& hosts) {
    return parse_request(R"({"v":1,"do":"nominate-voters","hosts":)" + hosts + "}");
  };
  EXPECT_THAT(nominates(R"(["bow","stern"])")->hosts, ElementsAre("bow", "stern"));
  for (const std::string bad :
       {"[]", R"("bow")", "[7]", R"(["bow",""])", R"(["1","2","3","4","5","6","7","8","9"])"})
    EXPECT_THAT(nominates(bad).error().message, HasSubstr("a list of 1 to 8 names")) << bad;
  EXPECT_FALSE(parse_request(R"({"v":1,"do":"nominate-voters"})"));
  Request request{
      .verb = Verb::nominate_voters, .by_ns = {}, .to_ns = {}, .hosts = {"bow", "stern"}};
  EXPECT_EQ(parse_request(request_line(request)).value(), request);
  EXPECT_TRUE(orders(Verb::nominate_voters));
}

TEST(Replies, AreFormatted) {
  EXPECT_EQ(done_line(), R"({"v":1,"ok":true})");
  EXPECT_EQ(refusal_line({Code::not_master, "no \"master\""}),
            R"({"v":1,"ok":false,"error":"no \"master\"","code":"not-master"})");
  EXPECT_EQ(status_line(R"({"name":"a"})"), R"({"v":1,"ok":true,"status":{"name":"a"}})");
  EXPECT_EQ(members_line("[]"), R"({"v":1,"ok":true,"members":[]})");
  EXPECT_EQ(now_line({3, 1, 5, "leads"}),
            R"({"v":1,"ok":true,"now":{"time_ns":"3","earliest_ns":"1","latest_ns":"5",)"
            R"("status":"leads","generation":0}})");
  EXPECT_EQ(event_line({"became-master", 3, "bow is master"}),
            R"({"v":1,"ok":true,"event":{"name":"became-master","at_ns":"3",)"
            R"("text":"bow is master"}})");
  EXPECT_EQ(reelected_line({.master = "bow", .network = "eth0"}),
            R"({"v":1,"ok":true,"reelect":{"master":"bow","network":"eth0"}})");
  const Invited invited{.token = "abcd", .valid_s = 600, .cluster = "lab", .port = 525};
  EXPECT_EQ(invited_line(invited),
            R"({"v":1,"ok":true,"invitation":{"token":"abcd","valid_s":600,"cluster":"lab",)"
            R"("port":525}})");
  EXPECT_EQ(invited_of(parse_reply(invited_line(invited)).value()), invited);
  EXPECT_FALSE(invited_of(parse_reply(done_line()).value()));
  EXPECT_EQ(trace_line("1 becomes master"), R"({"v":1,"ok":true,"trace":"1 becomes master"})");
  EXPECT_EQ(
      findings_line({{"problem", "a", "b"}}),
      R"({"v":1,"ok":true,"findings":[{"level":"problem","code":"","what":"a","evidence":"","cure":"b"}]})");
}

TEST(Replies, RoundTrip) {
  const auto reply = [](const std::string& line) { return *parse_reply(line); };
  EXPECT_EQ(now_of(reply(now_line({3, 1, 5, "leads", 9}))), (Now{3, 1, 5, "leads", 9}));
  EXPECT_EQ(event_of(reply(event_line({"a", -3, "b"}))), (Event{"a", -3, "b"}));
  EXPECT_EQ(reelected_of(reply(reelected_line({.master = "a", .network = "b, c"}))),
            (Reelected{.master = "a", .network = "b, c"}));
  EXPECT_FALSE(reelected_of(reply(done_line())));
  EXPECT_EQ(trace_of(reply(trace_line("x\ny"))), "x\ny");
  const std::vector<Finding> findings{{"ok", "a", ""}, {"note", "b", "c"}};
  EXPECT_EQ(findings_of(reply(findings_line(findings))), findings);
  EXPECT_EQ(reply(refusal_line({Code::not_master, "b"})).refusal, (Refusal{Code::not_master, "b"}));
  EXPECT_FALSE(reply(done_line()).refusal);
}

// A newer daemon may refuse with an unknown code.
TEST(Replies, OfANewerDaemonAreParsed) {
  const auto reply = parse_reply(R"({"v":1,"ok":false,"error":"too warm","code":"heat","x":1})");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->refusal, (Refusal{Code::unavailable, "too warm"}));
  EXPECT_EQ(reply->unknown_code, "heat");
}

TEST(Replies, AreRefusedIfInvalid) {
  EXPECT_FALSE(parse_reply("x"));
  EXPECT_FALSE(parse_reply("[]"));
  EXPECT_FALSE(parse_reply(R"({"ok":true})"));
  EXPECT_FALSE(parse_reply(R"({"v":2,"ok":true})"));
  EXPECT_FALSE(parse_reply(R"({"v":1})"));
  EXPECT_FALSE(parse_reply(R"({"v":1,"ok":1})"));
  const auto empty = *parse_reply(done_line());
  EXPECT_FALSE(now_of(empty));
  EXPECT_FALSE(event_of(empty));
  EXPECT_FALSE(trace_of(empty));
  EXPECT_FALSE(findings_of(empty));
  EXPECT_FALSE(now_of(*parse_reply(R"({"v":1,"ok":true,"now":{"time_ns":1}})")));
  EXPECT_FALSE(findings_of(*parse_reply(R"({"v":1,"ok":true,"findings":{}})")));
}

// Requests that another member can answer name it.
TEST(Requests, MayNameAnotherMember) {
  for (const Verb verb : {Verb::status, Verb::members, Verb::locks, Verb::doctor, Verb::now}) {
    Request request{.verb = verb, .by_ns = {}, .to_ns = {}};
    request.host = "stern";
    EXPECT_EQ(parse_request(request_line(request)).value(), request);
  }
  EXPECT_FALSE(parse_request(R"({"v":1,"do":"status","host":""})"));
  EXPECT_FALSE(parse_request(R"({"v":1,"do":"reelect","host":"stern"})"));
  EXPECT_FALSE(parse_request(R"({"v":1,"do":"doctor","all":true,"host":"stern"})"));
}

}  // namespace
}  // namespace tempo::ipc
