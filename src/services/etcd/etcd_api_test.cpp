// Requests to etcd and its answers, as text.
#include "services/etcd/etcd_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::etcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Json parsed(const char* text) {
  auto json = Json::parse(text);
  if (!json) ADD_FAILURE() << text;
  return json ? *json : Json::object();
}

TEST(EtcdKeys, OfTwoLocksDoNotMix) {
  EXPECT_EQ(directory_of("ship", "door"), "/tempo/ship/locks/door/");
  EXPECT_EQ(directory_of("ship", "a/b%"), "/tempo/ship/locks/a%2fb%25/");
  EXPECT_THAT(directory_of("ship", "a/b"), Not(HasSubstr(directory_of("ship", "a"))));
}

TEST(EtcdKeys, NameTheirLock) {
  for (const std::string name : {"door", "a/b%", "%2f", "x"}) {
    const std::string key = key_of(directory_of("s/1", name), true, "77", 3);
    EXPECT_EQ(name_of("s/1", key), name) << key;
    EXPECT_EQ(name_of("s", key), "") << key;
  }
  EXPECT_EQ(name_of("s", "/tempo/s/locks/"), "");
  EXPECT_EQ(name_of("s", "/elsewhere/x"), "");
}

TEST(EtcdRequests, CoverExactlyOneDirectory) {
  // The range end is the directory with "0" instead of the last slash: the next byte.
  EXPECT_THAT(look("/tempo/s/locks/a/").body, HasSubstr(R"("key":"L3RlbXBvL3MvbG9ja3MvYS8=")"));
  EXPECT_THAT(look("/tempo/s/locks/a/").body,
              HasSubstr(R"("range_end":"L3RlbXBvL3MvbG9ja3MvYTA=")"));
}

TEST(EtcdAnswers, AreSortedByCreation) {
  const auto line = queue_of(parsed(
      R"({"kvs":[{"key":"L3QveC0x","create_revision":"9"},{"key":"L3Qvcy0y","create_revision":"4"}]})"));
  ASSERT_TRUE(line);
  ASSERT_EQ(line->size(), 2U);
  EXPECT_EQ((*line)[0].key, "/t/s-2");
  EXPECT_TRUE((*line)[0].shared);
  EXPECT_EQ((*line)[0].created, 4U);
  EXPECT_FALSE((*line)[1].shared);
  EXPECT_THAT(*queue_of(parsed("{}")), IsEmpty());
}

TEST(EtcdAnswers, AreRejectedIfInvalid) {
  EXPECT_FALSE(queue_of(parsed(R"({"kvs":[{"key":"*"}]})")));
  EXPECT_FALSE(queue_of(parsed(R"({"kvs":[{"key":"L3Q=","create_revision":"-1"}]})")));
  EXPECT_FALSE(queue_of(parsed(R"({"responses":[]})")));
  EXPECT_FALSE(lease_of(parsed("{}")));
  EXPECT_FALSE(lease_of(parsed(R"({"ID":"1","TTL":"5"})"))) << "no term";
  EXPECT_FALSE(lease_of(parsed(R"({"header":{},"ID":"1","TTL":"99999999999"})")));
  EXPECT_FALSE(term_of(parsed(R"({"header":{"raft_term":7}})"))) << "numbers are strings";
  EXPECT_FALSE(changed_keys(parsed(R"({"result":{"events":[{"kv":{"key":"?"}}]}})")));
}

TEST(EtcdAnswers, OfAStreamNameChangedKeys) {
  EXPECT_THAT(*changed_keys(parsed(R"({"result":{"created":true}})")), IsEmpty());
  EXPECT_THAT(
      *changed_keys(parsed(R"({"result":{"events":[{"type":"DELETE","kv":{"key":"L3QveC0x"}}]}})")),
      ElementsAre("/t/x-1"));
}

TEST(EtcdAnswers, ContainErrors) {
  EXPECT_EQ(error_in(parsed(R"({"error":"bad","code":3})")), "bad");
  EXPECT_EQ(error_in(parsed(R"({"error":{"message":"worse"}})")), "worse");
  EXPECT_EQ(error_in(parsed(R"({"header":{}})")), "");
  EXPECT_TRUE(lease_expired("etcd error: etcdserver: requested lease not found"));
  EXPECT_FALSE(lease_expired("etcdserver: no leader"));
}

}  // namespace
}  // namespace tempo::etcd
