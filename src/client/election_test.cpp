// Candidates of a group, in the network that users test with: the code behind the types is the one
// that talks to tempod.
#include "tempo/election.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tempo/election_c.h"
#include "tempo/fake.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A candidate that writes down what it is told.
class Candidate {
 public:
  explicit Candidate(const FakeNetwork& network, const CandidateOptions& options = {})
      : Candidate(network.stand("web", options)) {}

  Election& operator*() { return election_; }
  Election* operator->() { return &election_; }
  // Whether that comes true with what is heard.
  template <class Condition>
  bool hears(Condition condition) {
    for (int i = 0; i < 1000 && !condition(); ++i)
      if (!election_.dispatch(10ms)) break;
    return condition();
  }
  bool leads() {
    return hears([&] { return election_.term() != 0; });
  }
  const std::vector<std::string>& told() const { return told_; }

 private:
  explicit Candidate(Expected<Election, Error> election) : election_(*std::move(election)) {
    election_.on_lead([this](std::uint64_t) { told_.emplace_back("lead"); });
    election_.on_stop([this] { told_.emplace_back("stop"); });
    election_.on_follow([this](const std::string& who) { told_.push_back("follow " + who); });
    election_.on_job_done([this](const std::string& by) { told_.push_back("done by " + by); });
    election_.on_no_majority([this] { told_.emplace_back("no majority"); });
  }

  Election election_;
  std::vector<std::string> told_;
};

TEST(Election, LeadsForAsLongAsItsLeaseIsExtended) {
  FakeNetwork network;
  Candidate candidate(network, {.capacity = 7});
  ASSERT_TRUE(candidate.leads());
  EXPECT_GT(candidate->remaining(), 0s);
  EXPECT_LE(candidate->remaining(), 2s);
  EXPECT_TRUE(network.leads("web"));
  EXPECT_EQ(network.capacity("web"), 7);
  const auto deadline = candidate->deadline();
  network.advance(1h);
  EXPECT_TRUE(candidate.hears([&] { return candidate->deadline() >= deadline + 1h; }));
  EXPECT_GT(candidate->remaining(), 0s);
  EXPECT_THAT(candidate.told(), ElementsAre("lead"));
}

TEST(Election, StopsBeforeAnotherLeadsAndLeadsAgainInALaterTerm) {
  FakeNetwork network;
  Candidate candidate(network);
  ASSERT_TRUE(candidate.leads());
  const std::uint64_t first = candidate->term();
  network.elect_elsewhere("web", "db2");
  EXPECT_TRUE(network.leads("web")) << "it has not stopped yet";
  EXPECT_TRUE(candidate.hears([&] { return candidate.told().size() == 3; }));
  EXPECT_THAT(candidate.told(), ElementsAre("lead", "stop", "follow db2"));
  EXPECT_FALSE(network.leads("web"));
  EXPECT_EQ(candidate->term(), 0U);
  EXPECT_EQ(candidate->remaining(), 0s);
  network.elect_here("web");
  ASSERT_TRUE(candidate.leads());
  EXPECT_GT(candidate->term(), first);
}

TEST(Election, MayTakeItsTimeToStop) {
  FakeNetwork network;
  Candidate candidate(network);
  candidate->stops_later();
  ASSERT_TRUE(candidate.leads());
  network.elect_elsewhere("web");
  ASSERT_TRUE(candidate.hears([&] { return candidate->term() == 0; }));
  EXPECT_TRUE(network.leads("web"));
  EXPECT_GT(candidate->remaining(), 0s) << "it has its lease, to stop in";
  candidate->stopped();
  EXPECT_EQ(candidate->remaining(), 0s);
  EXPECT_TRUE(candidate.hears([&] { return candidate.told().back() == "follow elsewhere"; }));
  EXPECT_FALSE(network.leads("web"));
}

// What tempod said to a program that slept is old when it is heard.
TEST(Election, OfOneThatSleptIsNotLedInATermThatIsOver) {
  FakeNetwork network;
  Candidate candidate(network);
  ASSERT_TRUE(network.leads("web"));
  network.pause();
  network.advance(3s);
  ASSERT_TRUE(candidate->dispatch());
  EXPECT_THAT(candidate.told(), ElementsAre());
  EXPECT_EQ(candidate->term(), 0U);
  EXPECT_EQ(candidate->remaining(), 0s);
  network.resume();
  ASSERT_TRUE(candidate.leads());
  EXPECT_THAT(candidate.told(), ElementsAre("lead"));
  EXPECT_EQ(candidate->term(), 2U) << "it is another";
}

TEST(Election, OfOneThatSleptWhileItsLeaseWasExtendedIsLed) {
  FakeNetwork network;
  Candidate candidate(network);
  network.advance(3s);
  ASSERT_TRUE(candidate.leads());
  EXPECT_THAT(candidate.told(), ElementsAre("lead"));
  EXPECT_EQ(candidate->term(), 1U);
  EXPECT_GT(candidate->remaining(), 0s);
}

TEST(Election, IsLostWithoutAMajority) {
  FakeNetwork network;
  Candidate candidate(network);
  ASSERT_TRUE(candidate.leads());
  network.lose_majority("web");
  EXPECT_TRUE(candidate.hears([&] { return candidate.told().size() == 3; }));
  EXPECT_THAT(candidate.told(), ElementsAre("lead", "stop", "no majority"));
  EXPECT_EQ(candidate->remaining(), 0s);
  EXPECT_TRUE(candidate->stands());
}

TEST(Election, ForOneJobIsOverWhenAnotherHasDoneIt) {
  FakeNetwork network;
  network.elect_elsewhere("web", "db2");
  Candidate candidate(network, {.once = true});
  network.finish_elsewhere("web", "db2");
  EXPECT_TRUE(candidate.hears([&] { return !candidate->stands(); }));
  EXPECT_THAT(candidate.told(), ElementsAre("follow db2", "done by db2"));
  EXPECT_EQ(network.capacity("web"), std::nullopt);
}

TEST(Election, HasOneCandidateAHostWhoseOfferMayChange) {
  FakeNetwork network;
  Candidate candidate(network, {.capacity = 1});
  const auto second = network.stand("web");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().sentence, HasSubstr("one candidate per host"));
  candidate->offer(9);
  EXPECT_TRUE(candidate.hears([&] { return network.capacity("web") == 9; }));
  candidate->withdraw();
  EXPECT_FALSE(candidate->stands());
  EXPECT_EQ(candidate->remaining(), 0s);
  EXPECT_TRUE(candidate.hears([&] { return network.capacity("web") == std::nullopt; }));
  network.refuse(ErrorCode::not_allowed, "groups are not for you");
  const auto refused = network.stand("web");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_allowed);
}

TEST(Election, LastsUntilItsDeadlineWhenTempodRestarts) {
  FakeNetwork network;
  Candidate candidate(network);
  ASSERT_TRUE(candidate.leads());
  network.restart();
  EXPECT_FALSE(candidate.hears([&] { return candidate->remaining() == 0s; }));
  const auto gone = candidate->dispatch();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::no_daemon);
  EXPECT_GT(candidate->remaining(), 0s);
  Candidate next(network);
  EXPECT_FALSE(network.leads("web")) << "before the lease of the other has ended";
  network.advance(3s);
  EXPECT_EQ(candidate->remaining(), 0s);
  EXPECT_TRUE(next.leads());
}

// --- waiting ---

TEST(Election, WaitingForItCanBeCancelled) {
  FakeNetwork network;
  const int cancel = eventfd(1, EFD_CLOEXEC);
  Candidate candidate(network);
  ASSERT_TRUE(candidate.leads());
  network.pause();
  ASSERT_TRUE(candidate->dispatch()) << "what has come is taken first";
  const auto nothing = candidate->dispatch(1h, cancel);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::cancelled);
  const auto stood = network.stand("another", {.cancel = cancel});
  ASSERT_FALSE(stood);
  EXPECT_EQ(stood.error().code, ErrorCode::cancelled);
  network.resume();
  EXPECT_TRUE(candidate->dispatch()) << "it is not the end";
  close(cancel);
}

// --- forks ---

TEST(Election, OfAParentIsNotItsChilds) {
  FakeNetwork network;
  Candidate candidate(network, {.capacity = 4});
  ASSERT_TRUE(candidate.leads());
  const pid_t child = fork();
  if (child == 0) {
    const bool nothing = candidate->term() == 0 && candidate->remaining() == 0s &&
                         candidate->deadline() == 0s && !candidate->stands();
    const auto dispatched = candidate->dispatch(1h);
    const bool refused = !dispatched && dispatched.error().code == ErrorCode::refused &&
                         dispatched.error().sentence.find("stand anew") != std::string::npos;
    candidate->offer(1);
    candidate->stopped();
    candidate->withdraw();
    {
      const Election destroyed = std::move(*candidate);
    }
    _exit(nothing && refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // Had the child spoken, its words would have come before these.
  candidate->offer(5);
  EXPECT_TRUE(candidate.hears([&] { return network.capacity("web") != 4; }));
  EXPECT_EQ(network.capacity("web"), 5);
  EXPECT_TRUE(network.leads("web"));
  EXPECT_GT(candidate->remaining(), 0s);
}

// --- for C ---

TEST(Election, IsForCToo) {
  FakeNetwork network;
  char code[200] = "";
  tempo_error why = TEMPO_NO_DAEMON;
  tempo_candidate_options options = tempo_candidate_default_options();
  options.capacity = 3;
  options.once = 1;
  options.algorithm = "c";
  tempo_election* const election =
      tempo_election_stand("web", &options, network.socket().c_str(), &why, code, sizeof code);
  ASSERT_NE(election, nullptr) << code;
  EXPECT_EQ(tempo_election_stand("web", nullptr, network.socket().c_str(), &why, code, sizeof code),
            nullptr);
  EXPECT_EQ(why, TEMPO_REFUSED);
  for (int i = 0; i < 1000 && tempo_election_term(election) == 0; ++i)
    ASSERT_EQ(tempo_election_dispatch(election, 10'000'000, -1), 0);
  EXPECT_EQ(tempo_election_term(election), 1U);
  EXPECT_GT(tempo_election_remaining_ns(election), 0);
  EXPECT_EQ(network.capacity("web"), 3);
  EXPECT_EQ(tempo_election_stands(election), 1);
  network.elect_elsewhere("web");
  for (int i = 0; i < 1000 && tempo_election_term(election) != 0; ++i)
    ASSERT_EQ(tempo_election_dispatch(election, 10'000'000, -1), 0);
  EXPECT_TRUE(network.leads("web"));
  tempo_election_stopped(election);
  for (int i = 0; i < 1000 && network.leads("web"); ++i)
    ASSERT_EQ(tempo_election_dispatch(election, 10'000'000, -1), 0);
  EXPECT_FALSE(network.leads("web"));
  const int cancel = eventfd(1, EFD_CLOEXEC);
  EXPECT_EQ(tempo_election_dispatch(election, 3'600'000'000'000, cancel), 0);
  close(cancel);
  tempo_election_withdraw(election, 1);
  EXPECT_EQ(tempo_election_stands(election), 0);
  tempo_election_close(election);
}

}  // namespace
}  // namespace tempo
