// Candidates of a group in a fake network: the code behind the types is the code that talks to
// tempod.
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

// A candidate that records its callbacks.
class Candidate {
 public:
  explicit Candidate(const FakeNetwork& network, const CandidateOptions& options = {})
      : Candidate(network.stand("web", options)) {}

  Election& operator*() { return election_; }
  Election* operator->() { return &election_; }
  // Dispatches until the condition holds; returns whether it does.
  template <class Condition>
  bool dispatches_until(Condition condition) {
    for (int i = 0; i < 1000 && !condition(); ++i)
      if (!election_.dispatch(10ms)) break;
    return condition();
  }
  bool leads() {
    return dispatches_until([&] { return election_.term() != 0; });
  }
  const std::vector<std::string>& calls() const { return calls_; }

 private:
  explicit Candidate(Expected<Election, Error> election) : election_(*std::move(election)) {
    election_.on_lead([this](std::uint64_t) { calls_.emplace_back("lead"); });
    election_.on_stop([this] { calls_.emplace_back("stop"); });
    election_.on_follow(
        [this](const std::string& leader) { calls_.push_back("follow " + leader); });
    election_.on_job_done([this](const std::string& by) { calls_.push_back("done by " + by); });
    election_.on_no_majority([this] { calls_.emplace_back("no majority"); });
  }

  Election election_;
  std::vector<std::string> calls_;
};

TEST(Election, LeadsWhileTheLeaseIsExtended) {
  FakeNetwork network;
  Candidate candidate(network, {.capacity = 7});
  ASSERT_TRUE(candidate.leads());
  EXPECT_GT(candidate->remaining(), 0s);
  EXPECT_LE(candidate->remaining(), 2s);
  EXPECT_TRUE(network.leads("web"));
  EXPECT_EQ(network.capacity("web"), 7);
  const auto deadline = candidate->deadline();
  network.advance(1h);
  EXPECT_TRUE(candidate.dispatches_until([&] { return candidate->deadline() >= deadline + 1h; }));
  EXPECT_GT(candidate->remaining(), 0s);
  EXPECT_THAT(candidate.calls(), ElementsAre("lead"));
}

TEST(Election, StopsBeforeAnotherLeadsThenLeadsInALaterTerm) {
  FakeNetwork network;
  Candidate candidate(network);
  ASSERT_TRUE(candidate.leads());
  const std::uint64_t first = candidate->term();
  network.elect_elsewhere("web", "db2");
  EXPECT_TRUE(network.leads("web")) << "it has not stopped yet";
  EXPECT_TRUE(candidate.dispatches_until([&] { return candidate.calls().size() == 3; }));
  EXPECT_THAT(candidate.calls(), ElementsAre("lead", "stop", "follow db2"));
  EXPECT_FALSE(network.leads("web"));
  EXPECT_EQ(candidate->term(), 0U);
  EXPECT_EQ(candidate->remaining(), 0s);
  network.elect_here("web");
  ASSERT_TRUE(candidate.leads());
  EXPECT_GT(candidate->term(), first);
}

TEST(Election, KeepsTheLeaseUntilTheStopIsConfirmed) {
  FakeNetwork network;
  Candidate candidate(network);
  candidate->require_stop_confirmation();
  ASSERT_TRUE(candidate.leads());
  network.elect_elsewhere("web");
  ASSERT_TRUE(candidate.dispatches_until([&] { return candidate->term() == 0; }));
  EXPECT_TRUE(network.leads("web"));
  EXPECT_GT(candidate->remaining(), 0s) << "the lease lasts while it stops";
  candidate->confirm_stopped();
  EXPECT_EQ(candidate->remaining(), 0s);
  EXPECT_TRUE(
      candidate.dispatches_until([&] { return candidate.calls().back() == "follow elsewhere"; }));
  EXPECT_FALSE(network.leads("web"));
}

// A suspended program reads old updates when it continues.
TEST(Election, IgnoresATermThatIsOver) {
  FakeNetwork network;
  Candidate candidate(network);
  ASSERT_TRUE(network.leads("web"));
  network.pause();
  network.advance(3s);
  ASSERT_TRUE(candidate->dispatch());
  EXPECT_THAT(candidate.calls(), ElementsAre());
  EXPECT_EQ(candidate->term(), 0U);
  EXPECT_EQ(candidate->remaining(), 0s);
  network.resume();
  ASSERT_TRUE(candidate.leads());
  EXPECT_THAT(candidate.calls(), ElementsAre("lead"));
  EXPECT_EQ(candidate->term(), 2U) << "a new term";
}

TEST(Election, LeadsAfterASuspendIfTheLeaseWasExtended) {
  FakeNetwork network;
  Candidate candidate(network);
  network.advance(3s);
  ASSERT_TRUE(candidate.leads());
  EXPECT_THAT(candidate.calls(), ElementsAre("lead"));
  EXPECT_EQ(candidate->term(), 1U);
  EXPECT_GT(candidate->remaining(), 0s);
}

TEST(Election, LosesTheLeaseWithoutAMajority) {
  FakeNetwork network;
  Candidate candidate(network);
  ASSERT_TRUE(candidate.leads());
  network.lose_majority("web");
  EXPECT_TRUE(candidate.dispatches_until([&] { return candidate.calls().size() == 3; }));
  EXPECT_THAT(candidate.calls(), ElementsAre("lead", "stop", "no majority"));
  EXPECT_EQ(candidate->remaining(), 0s);
  EXPECT_TRUE(candidate->is_candidate());
}

TEST(Election, ForOneJobEndsWhenAnotherHasDoneIt) {
  FakeNetwork network;
  network.elect_elsewhere("web", "db2");
  Candidate candidate(network, {.once = true});
  network.finish_elsewhere("web", "db2");
  EXPECT_TRUE(candidate.dispatches_until([&] { return !candidate->is_candidate(); }));
  EXPECT_THAT(candidate.calls(), ElementsAre("follow db2", "done by db2"));
  EXPECT_EQ(network.capacity("web"), std::nullopt);
}

TEST(Election, AllowsOneCandidatePerHostAndNewCapacities) {
  FakeNetwork network;
  Candidate candidate(network, {.capacity = 1});
  const auto second = network.stand("web");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("one candidate per machine"));
  candidate->set_capacity(9);
  EXPECT_TRUE(candidate.dispatches_until([&] { return network.capacity("web") == 9; }));
  candidate->withdraw();
  EXPECT_FALSE(candidate->is_candidate());
  EXPECT_EQ(candidate->remaining(), 0s);
  EXPECT_TRUE(candidate.dispatches_until([&] { return network.capacity("web") == std::nullopt; }));
  network.refuse(ErrorCode::not_allowed, "permission denied");
  const auto refused = network.stand("web");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_allowed);
}

TEST(Election, LeadsUntilItsDeadlineAfterARestart) {
  FakeNetwork network;
  Candidate candidate(network);
  ASSERT_TRUE(candidate.leads());
  network.restart();
  EXPECT_FALSE(candidate.dispatches_until([&] { return candidate->remaining() == 0s; }));
  const auto gone = candidate->dispatch();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::no_daemon);
  EXPECT_GT(candidate->remaining(), 0s);
  Candidate next(network);
  EXPECT_FALSE(network.leads("web")) << "the earlier lease still lasts";
  network.advance(3s);
  EXPECT_EQ(candidate->remaining(), 0s);
  EXPECT_TRUE(next.leads());
}

// --- waiting ---

TEST(Election, CancelsWaitsByDescriptor) {
  FakeNetwork network;
  const int cancel = eventfd(1, EFD_CLOEXEC);
  Candidate candidate(network);
  ASSERT_TRUE(candidate.leads());
  network.pause();
  ASSERT_TRUE(candidate->dispatch()) << "updates that have arrived come first";
  const auto nothing = candidate->dispatch(1h, cancel);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::cancelled);
  const auto stood = network.stand("another", {.cancel = cancel});
  ASSERT_FALSE(stood);
  EXPECT_EQ(stood.error().code, ErrorCode::cancelled);
  network.resume();
  EXPECT_TRUE(candidate->dispatch()) << "the connection still works";
  close(cancel);
}

// --- forks ---

TEST(Election, CannotBeUsedByAForkedChild) {
  FakeNetwork network;
  Candidate candidate(network, {.capacity = 4});
  ASSERT_TRUE(candidate.leads());
  const pid_t child = fork();
  if (child == 0) {
    const bool nothing = candidate->term() == 0 && candidate->remaining() == 0s &&
                         candidate->deadline() == 0s && !candidate->is_candidate();
    const auto dispatched = candidate->dispatch(1h);
    const bool refused = !dispatched && dispatched.error().code == ErrorCode::refused &&
                         dispatched.error().message.find("after fork()") != std::string::npos;
    candidate->set_capacity(1);
    candidate->confirm_stopped();
    candidate->withdraw();
    {
      const Election destroyed = std::move(*candidate);
    }
    _exit(nothing && refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // Requests of the child would have arrived before these.
  candidate->set_capacity(5);
  EXPECT_TRUE(candidate.dispatches_until([&] { return network.capacity("web") != 4; }));
  EXPECT_EQ(network.capacity("web"), 5);
  EXPECT_TRUE(network.leads("web"));
  EXPECT_GT(candidate->remaining(), 0s);
}

// --- C interface ---

TEST(Election, WorksFromC) {
  FakeNetwork network;
  char message[200] = "";
  tempo_error error = TEMPO_ERROR_NO_DAEMON;
  tempo_candidate_options options = tempo_candidate_default_options();
  options.capacity = 3;
  options.once = 1;
  options.algorithm = "c";
  tempo_election* const election = tempo_election_stand("web", &options, network.socket().c_str(),
                                                        &error, message, sizeof message);
  ASSERT_NE(election, nullptr) << message;
  EXPECT_EQ(tempo_election_stand("web", nullptr, network.socket().c_str(), &error, message,
                                 sizeof message),
            nullptr);
  EXPECT_EQ(error, TEMPO_ERROR_REFUSED);
  for (int i = 0; i < 1000 && tempo_election_term(election) == 0; ++i)
    ASSERT_EQ(tempo_election_dispatch(election, 10'000'000, -1), 0);
  EXPECT_EQ(tempo_election_term(election), 1U);
  EXPECT_GT(tempo_election_remaining_ns(election), 0);
  EXPECT_EQ(network.capacity("web"), 3);
  EXPECT_EQ(tempo_election_is_candidate(election), 1);
  network.elect_elsewhere("web");
  for (int i = 0; i < 1000 && tempo_election_term(election) != 0; ++i)
    ASSERT_EQ(tempo_election_dispatch(election, 10'000'000, -1), 0);
  EXPECT_TRUE(network.leads("web"));
  tempo_election_confirm_stopped(election);
  for (int i = 0; i < 1000 && network.leads("web"); ++i)
    ASSERT_EQ(tempo_election_dispatch(election, 10'000'000, -1), 0);
  EXPECT_FALSE(network.leads("web"));
  const int cancel = eventfd(1, EFD_CLOEXEC);
  EXPECT_EQ(tempo_election_dispatch(election, 3'600'000'000'000, cancel), 0);
  close(cancel);
  tempo_election_withdraw(election, 1);
  EXPECT_EQ(tempo_election_is_candidate(election), 0);
  tempo_election_close(election);
}

}  // namespace
}  // namespace tempo
