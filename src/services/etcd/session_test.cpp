// A session with a scripted etcd: the test sees every request and decides when it is answered.
#include "services/etcd/session.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>

namespace tempo::etcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = ipc::LockUpdate::State;

std::string base64(const std::string& bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();
  return text;
}

Json parsed(const std::string& text) {
  auto json = Json::parse(text);
  if (!json) ADD_FAILURE() << text;
  return json ? *json : Json::object();
}

BootTime at(Nanos span) { return BootTime{1000s + span}; }

class EtcdSession : public ::testing::Test, public Session::Driver {
 protected:
  struct Asked {
    std::uint64_t number;
    std::string path, body;
  };

  void ask(std::uint64_t number, const Request& request) override {
    asked_.push_back({number, request.path, request.body});
  }
  void notify(const ipc::LockUpdate& update) override {
    updates_.push_back(
        update.state == State::granted
            ? fmt::format("{} granted {} until {}", update.id, update.token, shown(update.until_ns))
        : update.state == State::extended
            ? fmt::format("{} extended until {}", update.id, shown(update.until_ns))
            : fmt::format("{} {}", update.id, ipc::name_of(update.state)));
  }
  void refuse(std::int64_t id, const std::string& sentence) override {
    updates_.push_back(fmt::format("{} refused: {}", id, sentence));
  }

  static std::string shown(std::int64_t ns) {
    return fmt::format("{} ms", (BootTime{Nanos{ns}} - at(0s)) / 1ms);
  }

  std::vector<std::string> updates() { return std::exchange(updates_, {}); }
  std::vector<std::string> asked() const {
    std::vector<std::string> paths;
    for (const Asked& asked : asked_) paths.push_back(asked.path.substr(4));
    return paths;
  }

  // The first open request with this path.
  Asked take(const std::string& path) {
    const auto found =
        std::ranges::find_if(asked_, [&](const Asked& one) { return one.path == "/v3/" + path; });
    if (found == asked_.end()) {
      ADD_FAILURE() << "no request for " << path;
      return {};
    }
    const Asked asked = *found;
    asked_.erase(found);
    return asked;
  }
  void answer(Nanos when, const std::string& path, const std::string& text) {
    session_.answered(at(when), take(path).number, parsed(text));
  }
  void no_answer(Nanos when, const std::string& path) {
    session_.answered(at(when), take(path).number, std::unexpected("it cannot be reached"));
  }

  static std::string lease(int seconds, int term = 7, int id = 77) {
    return fmt::format(R"({{"header":{{"raft_term":"{}"}},"ID":"{}","TTL":"{}"}})", term, id,
                       seconds);
  }
  static std::string kept(int seconds, int term) {
    return fmt::format(R"({{"result":{}}})", lease(seconds, term));
  }
  static std::string term(int term) {
    return fmt::format(R"({{"header":{{"raft_term":"{}"}}}})", term);
  }
  // Keys of the lock "door", with their creation revisions.
  static std::string keys(const std::vector<std::pair<std::string, int>>& line) {
    std::string list;
    for (const auto& [key, created] : line)
      list += fmt::format(R"({}{{"key":"{}","create_revision":"{}"}})", list.empty() ? "" : ",",
                          base64("/tempo/ship/locks/door/" + key), created);
    return fmt::format(R"({{"kvs":[{}]}})", list);
  }
  static std::string entered(const std::vector<std::pair<std::string, int>>& line) {
    return fmt::format(R"({{"succeeded":true,"responses":[{{"response_put":{{}}}},)"
                       R"({{"response_range":{}}}]}})",
                       keys(line));
  }

  // "1" holds the lock from `when` on, with token 5, until 1.998 s.
  void one_inside(Nanos when = 0s) {
    session_.acquire(at(0s), 1, "door", false);
    answer(when, "lease/grant", lease(2));
    answer(when, "kv/txn", entered({{"x-77-1", 5}}));
    EXPECT_THAT(updates(), ElementsAre("1 granted 5 until 1998 ms"));
  }

  std::vector<Asked> asked_;
  std::vector<std::string> updates_;
  Session session_{{.cluster = "ship", .host = "bow", .lease = 2s}, *this};
};

TEST_F(EtcdSession, DeadlineCountsFromBeforeTheRequest) {
  session_.acquire(at(0s), 1, "door", false);
  EXPECT_THAT(asked(), ElementsAre("lease/grant"));
  EXPECT_THAT(asked_[0].body, HasSubstr(R"("TTL":"2")"));
  answer(900ms, "lease/grant", lease(2));
  const std::string body = asked_[0].body;
  EXPECT_THAT(body, HasSubstr(base64("/tempo/ship/locks/door/x-77-1")));
  EXPECT_THAT(body, HasSubstr(base64("bow")));
  EXPECT_THAT(body, HasSubstr(R"("lease":"77")"));
  answer(1500ms, "kv/txn", entered({{"x-77-1", 5}}));
  // The deadline is two seconds less one thousandth; the token is the creation revision of the key.
  EXPECT_THAT(updates(), ElementsAre("1 granted 5 until 1998 ms"));
}

TEST_F(EtcdSession, AcceptsALongerLease) {
  session_.acquire(at(0s), 1, "door", false);
  answer(0s, "lease/grant", lease(10));
  answer(0s, "kv/txn", entered({{"x-77-1", 5}}));
  EXPECT_THAT(updates(), ElementsAre("1 granted 5 until 9990 ms"));
}

TEST_F(EtcdSession, RenewalNeedsTheSameLeader) {
  one_inside();
  EXPECT_EQ(session_.due(), at(Nanos{2s} / 3));
  session_.on_timer(at(700ms));
  answer(800ms, "lease/keepalive", kept(2, 7));
  EXPECT_THAT(updates(), IsEmpty()) << "not before a linearizable read confirms it";
  EXPECT_THAT(asked(), ElementsAre("kv/range"));
  EXPECT_THAT(asked_[0].body, ::testing::Not(HasSubstr("serializable")));
  answer(900ms, "kv/range", term(7));
  EXPECT_THAT(updates(), ElementsAre("1 extended until 2698 ms"));
}

TEST_F(EtcdSession, RenewalByAFormerLeaderDoesNotCount) {
  one_inside();
  session_.on_timer(at(700ms));
  answer(800ms, "lease/keepalive", kept(2, 7));
  answer(900ms, "kv/range", term(8));
  EXPECT_THAT(updates(), IsEmpty());
  session_.on_timer(at(950ms));
  answer(960ms, "lease/keepalive", kept(2, 8));
  answer(970ms, "kv/range", term(8));
  EXPECT_THAT(updates(), ElementsAre("1 extended until 2948 ms"));
}

TEST_F(EtcdSession, LosesTheLockAtItsDeadlineWithoutAnswers) {
  one_inside();
  session_.on_timer(at(700ms));
  no_answer(1200ms, "lease/keepalive");
  session_.on_timer(at(1400ms));
  session_.on_timer(at(1997ms));
  EXPECT_THAT(updates(), IsEmpty());
  session_.on_timer(at(1998ms));
  EXPECT_THAT(updates(), ElementsAre("1 lost"));
  EXPECT_FALSE(session_.has(1));
  answer(2100ms, "lease/keepalive", kept(2, 7));  // too late
  EXPECT_THAT(updates(), IsEmpty());
  EXPECT_THAT(asked(), ElementsAre("lease/revoke"));
}

TEST_F(EtcdSession, LosesTheLockOfAnExpiredLease) {
  one_inside();
  session_.on_timer(at(700ms));
  answer(800ms, "lease/keepalive", R"({"result":{"header":{"raft_term":"7"},"ID":"77"}})");
  EXPECT_THAT(updates(), ElementsAre("1 lost"));
}

TEST_F(EtcdSession, DoesNotRenewForASilentTempod) {
  one_inside();
  for (int i = 1; i < 4; ++i) {
    session_.on_timer(at(700ms * i));
    answer(700ms * i, "lease/keepalive", kept(2, 7));
    answer(700ms * i, "kv/range", term(7));
    if (i == 2) session_.tempod_active(at(1400ms));
  }
  EXPECT_THAT(updates(), ElementsAre("1 extended until 2698 ms", "1 extended until 3398 ms",
                                     "1 extended until 4098 ms"));
  session_.on_timer(at(3500ms));  // more than one lease since the last message of tempod
  EXPECT_THAT(asked(), IsEmpty());
  session_.on_timer(at(4098ms));
  EXPECT_THAT(updates(), ElementsAre("1 lost"));
}

TEST_F(EtcdSession, GrantsTheFirstKey) {
  one_inside();
  session_.acquire(at(100ms), 2, "door", false);
  session_.acquire(at(100ms), 3, "door", true);
  answer(100ms, "kv/txn", entered({{"x-77-1", 5}, {"x-77-2", 6}}));
  answer(100ms, "kv/txn", entered({{"x-77-1", 5}, {"x-77-2", 6}, {"s-77-3", 7}}));
  EXPECT_THAT(updates(), IsEmpty());
  session_.release(at(200ms), 1);
  EXPECT_THAT(asked(), ElementsAre("kv/deleterange"));
  answer(210ms, "kv/deleterange", "{}");
  session_.changed(at(220ms), "another");
  EXPECT_THAT(asked(), IsEmpty());
  session_.changed(at(220ms), "door");
  answer(230ms, "kv/range", keys({{"x-77-2", 6}, {"s-77-3", 7}}));
  EXPECT_THAT(updates(), ElementsAre("2 granted 6 until 1998 ms"));
}

TEST_F(EtcdSession, GrantsReadersTogetherAndAWriterAfterThem) {
  session_.acquire(at(0s), 1, "door", true);
  answer(0s, "lease/grant", lease(2));
  answer(0s, "kv/txn", entered({{"s-11-9", 4}, {"s-77-1", 5}}));
  EXPECT_THAT(updates(), ElementsAre("1 granted 5 until 1998 ms"));
  session_.acquire(at(0s), 2, "door", false);
  answer(0s, "kv/txn", entered({{"s-11-9", 4}, {"s-77-1", 5}, {"x-77-2", 6}}));
  session_.acquire(at(0s), 3, "door", true);
  answer(0s, "kv/txn", entered({{"s-11-9", 4}, {"s-77-1", 5}, {"x-77-2", 6}, {"s-77-3", 7}}));
  EXPECT_THAT(updates(), IsEmpty()) << "a reader does not overtake a waiting writer";
}

TEST_F(EtcdSession, LosesTheLockIfItsKeyIsRemoved) {
  one_inside();
  session_.changed(at(100ms), "door");
  answer(100ms, "kv/range", keys({}));
  EXPECT_THAT(updates(), ElementsAre("1 lost"));
}

TEST_F(EtcdSession, IgnoresALookFromBeforeTheKey) {
  one_inside();
  session_.changed(at(100ms), "door");  // sent before 2 has a key
  session_.acquire(at(100ms), 2, "door", false);
  answer(110ms, "kv/txn", entered({{"x-77-1", 5}, {"x-77-2", 6}}));
  answer(120ms, "kv/range", keys({{"x-77-1", 5}}));
  EXPECT_THAT(updates(), IsEmpty());
  EXPECT_THAT(asked(), IsEmpty()) << "2 stays in the queue";
}

TEST_F(EtcdSession, LooksWithoutEvents) {
  one_inside();
  session_.acquire(at(100ms), 2, "door", false);
  answer(100ms, "kv/txn", entered({{"x-77-1", 5}, {"x-77-2", 6}}));
  session_.release(at(100ms), 1);
  answer(100ms, "kv/deleterange", "{}");
  for (int i = 1; i < 4; ++i) {  // kept alive meanwhile, without an event
    session_.tempod_active(at(650ms * i));
    session_.on_timer(at(700ms * i));
    answer(700ms * i, "lease/keepalive", kept(2, 7));
    if (i == 3) answer(700ms * i, "kv/range", keys({{"x-77-2", 6}}));
    answer(700ms * i, "kv/range", term(7));
  }
  EXPECT_THAT(updates(), ElementsAre("2 granted 6 until 3398 ms", "2 extended until 4098 ms"));
}

TEST_F(EtcdSession, RemovesAKeyReleasedWhileEntering) {
  session_.acquire(at(0s), 1, "door", false);
  answer(0s, "lease/grant", lease(2));
  session_.release(at(0s), 1);
  EXPECT_THAT(asked(), ElementsAre("kv/txn")) << "the removal must not overtake it";
  answer(100ms, "kv/txn", entered({{"x-77-1", 5}}));
  EXPECT_THAT(updates(), IsEmpty());
  EXPECT_THAT(asked(), ElementsAre("kv/deleterange"));
  EXPECT_THAT(asked_[0].body, HasSubstr(base64("/tempo/ship/locks/door/x-77-1")));
}

TEST_F(EtcdSession, RepeatsARequestWithTheSameKey) {
  session_.acquire(at(0s), 1, "door", false);
  answer(0s, "lease/grant", lease(2));
  const std::string body = asked_[0].body;
  no_answer(500ms, "kv/txn");
  session_.on_timer(at(700ms));
  EXPECT_EQ(take("kv/txn").body, body);
}

TEST_F(EtcdSession, RemovesAnUncertainKeyTwice) {
  session_.acquire(at(0s), 1, "door", false);
  answer(0s, "lease/grant", lease(2));
  session_.release(at(0s), 1);
  no_answer(500ms, "kv/txn");
  answer(510ms, "kv/deleterange", "{}");
  EXPECT_EQ(session_.size(), 1U);
  session_.tempod_active(at(600ms));
  session_.on_timer(at(700ms));
  answer(700ms, "lease/keepalive", kept(2, 7));
  answer(700ms, "kv/range", term(7));
  session_.on_timer(at(2510ms));
  answer(2520ms, "kv/deleterange", "{}");
  EXPECT_EQ(session_.size(), 0U);
}

TEST_F(EtcdSession, RepeatsARemovalUntilAnswered) {
  one_inside();
  session_.release(at(100ms), 1);
  no_answer(200ms, "kv/deleterange");
  EXPECT_EQ(session_.due(), at(400ms));
  session_.on_timer(at(400ms));
  answer(410ms, "kv/deleterange", "{}");
  EXPECT_EQ(session_.size(), 0U);
}

TEST_F(EtcdSession, RefusesWithAReasonWithoutEtcd) {
  session_.acquire(at(0s), 1, "door", false);
  session_.acquire(at(0s), 2, "window", false);
  no_answer(1s, "lease/grant");
  EXPECT_THAT(updates(),
              ElementsAre("1 refused: it cannot be reached", "2 refused: it cannot be reached"));
  session_.acquire(at(2s), 3, "door", false);
  answer(2s, "lease/grant", R"({"error":"etcdserver: no space","code":8})");
  EXPECT_THAT(updates(), ElementsAre("3 refused: etcd error: etcdserver: no space"));
}

TEST_F(EtcdSession, QueuesAgainUnderANewLease) {
  one_inside();
  session_.acquire(at(100ms), 2, "door", false);
  answer(100ms, "kv/txn",
         R"({"error":"etcdserver: requested lease not found","message":"","code":5})");
  EXPECT_THAT(updates(), ElementsAre("1 lost"));
  answer(200ms, "lease/grant", lease(2, 7, 78));
  answer(300ms, "kv/txn", entered({{"x-78-3", 9}}));
  EXPECT_THAT(updates(), ElementsAre("2 granted 9 until 2098 ms"));
}

TEST_F(EtcdSession, KeepsHeldLocksWhenTempodIsGone) {
  one_inside();
  session_.acquire(at(100ms), 2, "door", false);
  answer(100ms, "kv/txn", entered({{"x-77-1", 5}, {"x-77-2", 6}}));
  session_.close(at(200ms));
  ASSERT_THAT(asked(), ElementsAre("kv/deleterange"));
  EXPECT_THAT(asked_[0].body, HasSubstr(base64("/tempo/ship/locks/door/x-77-2")));
  session_.on_timer(at(1s));
  EXPECT_THAT(asked(), ElementsAre("kv/deleterange")) << "the lease is not renewed";
}

TEST_F(EtcdSession, RevokesTheLeaseWhenTempodIsGone) {
  one_inside();
  session_.release(at(100ms), 1);
  answer(100ms, "kv/deleterange", "{}");
  session_.close(at(200ms));
  EXPECT_THAT(asked(), ElementsAre("lease/revoke"));
}

TEST_F(EtcdSession, RevokesTheLeaseWhenIdle) {
  one_inside();
  session_.release(at(100ms), 1);
  answer(100ms, "kv/deleterange", "{}");
  session_.on_timer(at(700ms));
  EXPECT_THAT(asked(), ElementsAre("lease/revoke"));
  EXPECT_EQ(session_.due(), kNever);
}

}  // namespace
}  // namespace tempo::etcd
