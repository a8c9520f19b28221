// The lines about groups of doc/reference/control-protocol.md, and the refusals.
#include "api/group_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::ipc {
namespace {

using ::testing::HasSubstr;

constexpr const char* kElect =
    R"({"v":1,"do":"elect","id":3,"group":"web","capacity":70,"criterion":"weight",)"
    R"("algorithm":"b1","min_stay_ns":30000000000,"once":true})";

std::string refused(std::string_view line) {
  const auto request = parse_request(line);
  return request ? "" : request.error().message;
}

std::string without(std::string_view key) {
  Json whole = *Json::parse(kElect);
  Json less = Json::object();
  for (const std::string& one : whole.keys())
    if (one != key && one != "once") {
      if (const auto text = whole.text_at(one.c_str()))
        less.add(one, *text);
      else
        less.add(one, *whole.whole_at(one.c_str()));
    }
  return refused(less.line());
}

TEST(GroupRequests, AreParsed) {
  const auto elect = parse_request(kElect);
  ASSERT_TRUE(elect);
  EXPECT_EQ(elect->verb, Verb::elect);
  EXPECT_EQ(elect->name, "web");
  EXPECT_EQ(elect->id, 3);
  EXPECT_EQ(elect->capacity, 70);
  EXPECT_EQ(elect->criterion, "weight");
  EXPECT_EQ(elect->algorithm, "b1");
  EXPECT_EQ(elect->min_stay_ns, 30'000'000'000);
  EXPECT_TRUE(elect->once);
  EXPECT_EQ(parse_request(R"({"v":1,"do":"offer","id":3,"capacity":8})")->capacity, 8);
  EXPECT_EQ(parse_request(R"({"v":1,"do":"stopped","id":3})")->id, 3);
  EXPECT_TRUE(parse_request(R"({"v":1,"do":"withdraw","id":3,"job_done":true})")->once);
  EXPECT_EQ(parse_request(R"({"v":1,"do":"resign-group","group":"web"})")->name, "web");
  EXPECT_EQ(parse_request(R"({"v":1,"do":"watch-group","group":"web"})")->name, "web");
  EXPECT_EQ(parse_request(R"({"v":1,"do":"groups"})")->verb, Verb::groups);
}

TEST(GroupRequests, RoundTrip) {
  for (const char* line : {kElect, R"({"v":1,"do":"offer","id":3,"capacity":8})",
                           R"({"v":1,"do":"withdraw","id":3,"job_done":true})",
                           R"({"v":1,"do":"watch-group","group":"web"})"}) {
    const auto request = parse_request(line);
    ASSERT_TRUE(request) << line;
    EXPECT_EQ(*parse_request(request_line(*request)), *request) << line;
  }
}

TEST(GroupRequests, LeadOn) {
  const std::string begin(kElect, std::string_view(kElect).size() - 1);
  const auto first = parse_request(begin + R"(,"resumable":true})");
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->resumable);
  EXPECT_EQ(*parse_request(request_line(*first)), *first);
  const auto again = parse_request(begin + R"(,"term":"77","session":"s","until_ns":9})");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->token, 77U);
  EXPECT_EQ(again->session, "s");
  EXPECT_EQ(again->until_ns, 9);
  EXPECT_EQ(*parse_request(request_line(*again)), *again);
  for (const char* part :
       {R"("term":"77")", R"("term":"77","session":"s")", R"("session":"s","until_ns":9)",
        R"("term":"x","session":"s","until_ns":9)"})
    EXPECT_THAT(refused(begin + ',' + part + '}'), HasSubstr("or none")) << part;
  EXPECT_THAT(refused(begin + R"(,"resumable":1})"), HasSubstr("true or false"));
}

TEST(GroupRequests, AreRefusedIfIncomplete) {
  EXPECT_EQ(without(""), "") << "complete";
  EXPECT_THAT(without("id"), HasSubstr("elect needs \"id\""));
  EXPECT_THAT(without("group"), HasSubstr("elect needs \"group\""));
  EXPECT_THAT(without("capacity"), HasSubstr("at least 0"));
  EXPECT_THAT(without("criterion"), HasSubstr("elect needs \"criterion\""));
  EXPECT_THAT(without("algorithm"), HasSubstr("elect needs \"algorithm\""));
  EXPECT_THAT(without("min_stay_ns"), HasSubstr("at most one year"));
  EXPECT_THAT(refused(R"({"v":1,"do":"offer","id":3,"capacity":-1})"), HasSubstr("at least 0"));
  EXPECT_THAT(refused(R"({"v":1,"do":"stopped","id":3,"group":"x"})"),
              HasSubstr("has no member 'group'"));
  EXPECT_THAT(refused(R"({"v":1,"do":"withdraw","id":3,"job_done":1})"),
              HasSubstr(R"("job_done" of withdraw)"));
}

TEST(GroupReplies, AreFormattedAndParsed) {
  using State = LeadershipUpdate::State;
  EXPECT_EQ(election_line({.id = 3, .state = State::leads, .term = 77, .until_ns = 5}),
            R"({"v":1,"ok":true,"election":{"id":3,"state":"leads","term":"77","until_ns":"5"}})");
  EXPECT_EQ(election_line({.id = 3, .state = State::job_done, .leader = "host1"}),
            R"({"v":1,"ok":true,"election":{"id":3,"state":"job-done","leader":"host1"}})");
  for (const LeadershipUpdate& update :
       {LeadershipUpdate{.id = 1},
        LeadershipUpdate{.id = 2, .state = State::leads, .term = 1, .until_ns = 2},
        LeadershipUpdate{.id = 2, .state = State::leads, .term = 1, .until_ns = 2, .session = "5e"},
        LeadershipUpdate{.id = 2, .state = State::stop, .until_ns = 2},
        LeadershipUpdate{.id = 2, .state = State::follows, .term = 9, .leader = "x"},
        LeadershipUpdate{.id = 2, .state = State::no_majority}})
    EXPECT_EQ(election_of(*parse_reply(election_line(update))).value(), update);
  const GroupView view{.name = "web",
                       .leader = "host1",
                       .term = 1099528404993,
                       .here = true,
                       .criterion = "load",
                       .algorithm = "b1",
                       .held = "c",
                       .state = "lead",
                       .candidates = {{"host1", 5, true}, {"host2", 4, false}}};
  EXPECT_EQ(group_of(*parse_reply(group_line(view))).value(), view);
  EXPECT_EQ(groups_of(*parse_reply(groups_line({view, view}))).value().size(), 2);
  EXPECT_FALSE(group_of(*parse_reply(done_line())));
  EXPECT_FALSE(election_of(*parse_reply(R"({"v":1,"ok":true,"election":{"id":1}})")));
}

}  // namespace
}  // namespace tempo::ipc
