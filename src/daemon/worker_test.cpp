#include "daemon/worker.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/control/daemon_view.h"
#include "daemon/log.h"
#include "platform/address.h"
#include "platform/descriptor.h"
#include "platform/network.h"

namespace tempo::daemon {
namespace {

using ::testing::HasSubstr;

// State of the simulated clock and oscillator, set by the test.
struct Bench {
  Nanos ahead{0};                           // oscillator time minus raw time
  Nanos asleep{0};                          // total suspension so far
  Nanos falls_asleep{0};                    // suspension that starts after the next reading
  int followed = 0;                         // number of calls of follow
  std::optional<sys::KernelClaim> claim{};  // last argument of claim
  int claims = 0;                           // number of its calls
};

class BenchOscillator final : public sys::Oscillator {
 public:
  explicit BenchOscillator(Bench& bench) : bench_(&bench) {}
  Instant now() override { return sys::raw_now() + bench_->ahead; }
  Instant at(Instant raw) override { return raw + bench_->ahead; }
  sys::Lasted asleep() override {
    const Nanos shown = bench_->asleep;
    bench_->asleep += std::exchange(bench_->falls_asleep, Nanos{0});
    return {.least = shown, .most = shown};
  }

 private:
  Bench* bench_;
};

class BenchClock final : public sys::Clock {
 public:
  explicit BenchClock(Bench& bench) : bench_(&bench) {}
  const char* name() const override { return "bench"; }
  WallTime read() override { return WallTime{1'700'000'000s}; }
  Result<void> follow(Instant /*now*/, WallTime /*wall*/, double /*rate*/, bool /*step*/) override {
    ++bench_->followed;
    return {};
  }
  Result<void> claim(const std::optional<sys::KernelClaim>& claim) override {
    bench_->claim = claim;
    ++bench_->claims;
    return {};
  }

 private:
  Bench* bench_;
};

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() {
    set_log_level("error");
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-worker-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    config::Settings settings;
    settings.cluster = kCluster;
    settings.profile = "fast";
    settings.timing = election::profile("fast").value();
    settings.port = port_;
    settings.bind = {address_};
    settings.broadcast = "127.255.255.255";
    settings.key_file.clear();
    settings.state_dir = directory_;
    settings.machine_id = "worker-test";
    settings.clock = config::ClockKind::system;  // replaced by the bench
    DaemonIdentity identity = load_identity(settings).value();
    identity.state.rate = 12e-6;
    identity.clock_floor = WallTime{kWritten};
    new_incarnation(identity);
    worker_ = Worker::create(identity,
                             {.oscillator = std::make_unique<BenchOscillator>(bench_),
                              .clock = std::make_unique<BenchClock>(bench_)},
                             nullptr)
                  .value();
  }
  ~WorkerTest() override { std::filesystem::remove_all(directory_); }

  // Makes the next round due at once, including its housekeeping.
  void let_a_second_pass() { bench_.ahead += 1s; }

  static constexpr const char* kCluster = "worker-test";
  static constexpr Nanos kWritten = 1'700'000'100s;  // 100 s after the time of the bench's clock

  Bench bench_;
  std::string directory_;
  std::uint16_t port_ = static_cast<std::uint16_t>(20'000 + ::getpid() % 10'000);
  std::string address_ = fmt::format("127.{}.9.1", 64 + ::getpid() % 128);
  std::unique_ptr<Worker> worker_;
};
using SuspendedWorker = WorkerTest;

TEST_F(SuspendedWorker, EndsAndDoesNotTouchTheClock) {
  int followed_before = 0;
  worker_->each_round([&] {
    let_a_second_pass();
    if (bench_.followed < 3 || followed_before > 0) return;
    followed_before = bench_.followed;
    bench_.asleep += 5s;
  });
  EXPECT_EQ(worker_->run(), kSuspended);
  EXPECT_GE(followed_before, 3);
  EXPECT_EQ(bench_.followed, followed_before);
  ASSERT_FALSE(worker_->events().newest().empty());
  EXPECT_EQ(worker_->events().newest().back().what, "slept");
  EXPECT_THAT(worker_->events().newest().back().details, HasSubstr("suspended for 5s"));
  EXPECT_NEAR(read_state(directory_).state.rate, 12e-6, 1e-9);
}

// The suspension starts after the check of the round and before the clock is followed.
TEST_F(SuspendedWorker, DoesNotTouchTheClockInTheSameRound) {
  int followed_before = 0;
  worker_->each_round([&] {
    let_a_second_pass();
    if (bench_.followed < 3 || followed_before > 0) return;
    followed_before = bench_.followed;
    bench_.falls_asleep = 5s;
  });
  EXPECT_EQ(worker_->run(), kSuspended);
  EXPECT_EQ(bench_.followed, followed_before);
}

TEST_F(SuspendedWorker, IgnoresShortSuspensions) {
  int followed_before = 0;
  worker_->each_round([&] {
    let_a_second_pass();
    if (bench_.followed >= 6) return worker_->stop();
    if (bench_.followed < 3 || followed_before > 0) return;
    followed_before = bench_.followed;
    bench_.asleep += 50ms;
  });
  EXPECT_EQ(worker_->run(), 0);
  EXPECT_GT(bench_.followed, followed_before);
}

// Alone it becomes master; its clock is network time, and the kernel gets its interval.
// A machine that has heard no other one knows nothing of network time (doors_test.cpp has the rest).
TEST_F(WorkerTest, StartsItsClockNoEarlierThanTheLastWriteOfTheState) {
  EXPECT_GE(worker_->reading().time, WallTime{kWritten});
  EXPECT_LT(worker_->reading().time, WallTime{kWritten + 1min});
}

TEST_F(WorkerTest, ClaimsNothingToTheKernelWhileAlone) {
  worker_->each_round([&] {
    bench_.ahead += 20ms;
    if (bench_.claim || bench_.claims > 100) worker_->stop();
  });
  EXPECT_EQ(worker_->run(), 0);
  EXPECT_FALSE(bench_.claim);
  EXPECT_GT(bench_.claims, 100);
}

// A daemon two revisions ahead asks for a master.
TEST_F(WorkerTest, ReportsAnIncompatibleDaemon) {
  wire::Codec theirs({.self = HostId{77},
                      .incarnation = Incarnation{1},
                      .name = wire::Name("newer"),
                      .cluster = kCluster,
                      .keys = {},
                      .revision = wire::kRevision + 2});
  node::Node::Message question;
  question.body = {election::Message{.kind = election::Kind::masterreq}};
  const sys::Address here = sys::Address::parse(address_, port_).value();
  const sys::Descriptor sender{::socket(AF_INET, SOCK_DGRAM, 0)};
  const auto reported = [&] {
    return std::ranges::count(worker_->events().newest(), "other-revision", &Event::what);
  };
  int rounds = 0;
  worker_->each_round([&] {
    std::array<std::byte, wire::kMaxBytes> buffer;
    const std::size_t size = theirs.encode(question, buffer);
    ASSERT_EQ(::sendto(sender.number(), buffer.data(), size, 0, here.raw(), here.size()),
              static_cast<ssize_t>(size));
    ++rounds;  // repeat the datagram: it must be reported once
    if ((reported() > 0 && rounds > 100) || rounds > 10'000) worker_->stop();
  });
  EXPECT_EQ(worker_->run(), 0);
  EXPECT_THAT(worker_->snapshot().warnings,
              ::testing::Contains(HasSubstr(fmt::format(
                  "tempod at 127.0.0.1 uses protocol revision {}", wire::kRevision + 2))));
  EXPECT_GT(worker_->snapshot().counters.at("malformed_wrong_revision"), 1U);
  EXPECT_EQ(reported(), 1);
}

// The source of any accepted datagram counted as the address of its sender. An attacker who sends a
// broadcast again from another address, before the original arrives, must not get what is sent to
// that host.
TEST_F(WorkerTest, LearnsAnAddressFromALiveExchangeOnly) {
  wire::Codec theirs({.self = HostId{77},
                      .incarnation = Incarnation{1},
                      .name = wire::Name("peer"),
                      .cluster = kCluster,
                      .keys = {}});
  const sys::Address here = sys::Address::parse(address_, port_).value();
  std::array<sys::Descriptor, 2> sockets;
  std::array<std::string, 2> addresses;
  for (const std::size_t i : {0U, 1U}) {
    addresses[i] = fmt::format("127.{}.9.{}", 64 + ::getpid() % 128, i + 2);
    sockets[i] = sys::Descriptor{::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
    const sys::Address own = sys::Address::parse(addresses[i], port_).value();
    ASSERT_EQ(::bind(sockets[i].number(), own.raw(), own.size()), 0);
  }
  const auto send = [&](std::size_t from, std::span<const std::byte> bytes) {
    ::sendto(sockets[from].number(), bytes.data(), bytes.size(), 0, here.raw(), here.size());
  };
  std::array<std::byte, wire::kMaxBytes> buffer;
  // Reads what the worker sends to that address; returns whether it was a question.
  const auto asked = [&](std::size_t at, bool answer) {
    const ssize_t size = ::recv(sockets[at].number(), buffer.data(), buffer.size(), 0);
    if (size <= 0) return false;
    (void)theirs.decode(sys::raw_now(), 0, sys::raw_now(),
                        {buffer.data(), static_cast<std::size_t>(size)});
    const std::size_t reply = theirs.take_reply(sys::raw_now(), buffer);
    if (reply > 0 && answer) send(at, {buffer.data(), reply});
    return reply > 0;
  };
  const auto address = [&]() -> std::string {
    for (const obs::MemberView& member : worker_->snapshot().members)
      if (member.name == "peer") return member.address;
    return "";
  };
  node::Node::Message question;
  question.body = {election::Message{.kind = election::Kind::masterreq}};
  int phase = 0, rounds = 0;
  std::uint64_t accepted = 0;
  worker_->each_round([&] {
    if (++rounds > 20'000) return worker_->stop();
    const std::size_t from = phase == 0 ? 0 : 1;
    send(from, {buffer.data(), theirs.encode(question, buffer)});
    if (phase == 0) {
      asked(0, true);
      if (address() != addresses[0]) return;
      accepted = worker_->snapshot().counters.at("datagrams_accepted");
      phase = 1;
    } else if (phase == 1) {
      EXPECT_EQ(address(), addresses[0]) << "a broadcast from elsewhere proves nothing";
      const bool was_asked = asked(1, false);
      if (was_asked && worker_->snapshot().counters.at("datagrams_accepted") > accepted) phase = 2;
    } else {
      asked(1, true);
      if (address() != addresses[1]) return;
      phase = 3;
      worker_->stop();
    }
  });
  EXPECT_EQ(worker_->run(), 0);
  EXPECT_EQ(phase, 3) << "the host has moved, and answers there";
}

// Another host sends `reelect` to this master: for another round, then twice the same valid
// request, then another one, then one to a third host.
TEST_F(WorkerTest, ResignsAtTheRequestOfAnotherHost) {
  using Body = wire::DiagnosticBody;
  wire::Codec theirs({.self = HostId{77},
                      .incarnation = Incarnation{1},
                      .name = wire::Name("asker"),
                      .cluster = kCluster,
                      .keys = {}});
  const sys::Address here = sys::Address::parse(address_, port_).value();
  const sys::Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
  const auto ask = [&](std::uint32_t question, HostId target, std::uint64_t of_round) {
    std::array<std::byte, wire::kMaxBytes> buffer;
    const Body body{
        .kind = Body::Kind::reelect, .question = question, .target = target, .round = of_round};
    const std::size_t size = theirs.encode(body, buffer);
    ASSERT_EQ(::sendto(socket.number(), buffer.data(), size, 0, here.raw(), here.size()),
              static_cast<ssize_t>(size));
  };
  std::vector<Body> answers;
  const auto collect = [&] {
    std::array<std::byte, wire::kMaxBytes> buffer;
    const ssize_t size = ::recv(socket.number(), buffer.data(), buffer.size(), 0);
    if (size <= 0) return;
    const auto received = theirs.decode(sys::raw_now(), 0, sys::raw_now(),
                                        {buffer.data(), static_cast<std::size_t>(size)});
    // The worker asks a host that it does not know for a proof that it lives.
    if (const std::size_t reply = theirs.take_reply(sys::raw_now(), buffer); reply > 0)
      ::sendto(socket.number(), buffer.data(), reply, 0, here.raw(), here.size());
    if (!received) return;
    if (const auto* answer = std::get_if<Body>(&received->content)) answers.push_back(*answer);
  };
  const HostId self{std::stoull(worker_->snapshot().id, nullptr, 16)};
  const auto counter = [&](const char* name) { return worker_->snapshot().counters.at(name); };
  std::uint64_t round = 0;  // of its mastership
  std::size_t asked = 0;
  int rounds = 0;
  worker_->each_round([&] {
    if (++rounds > 10'000) return worker_->stop();
    collect();
    if (asked == 0) {
      const obs::NetworkView network = worker_->snapshot().networks.at(0);
      if (network.state != "master") return;
      round = network.epoch_round;
      ask(4, self, round - 1);
    } else if (asked == 1 && answers.size() == 1) {
      ask(5, self, round);
    } else if (asked == 2 && answers.size() == 2) {
      ask(5, self, round);
    } else if (asked == 3 && answers.size() == 3) {
      ask(6, self, round);
    } else if (asked == 4 && answers.size() == 4) {
      ask(7, HostId{78}, round);
    } else {
      if (asked == 5 && counter("refused_not_for_us") > 0) worker_->stop();
      return;
    }
    ++asked;
  });
  EXPECT_EQ(worker_->run(), 0);
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0],
            (Body{.kind = Body::Kind::reelect_answer,
                  .level = Body::kRefused,
                  .question = 4,
                  .text = wire::Text<Body::kMaxText>("its mastership has ended; try again")}));
  const Body honoured{.kind = Body::Kind::reelect_answer, .level = Body::kHonoured, .question = 5};
  EXPECT_EQ(answers[1], honoured);
  EXPECT_EQ(answers[2], honoured) << "the answer is repeated";
  EXPECT_EQ(answers[3].question, 6U);
  EXPECT_EQ(answers[3].level, Body::kRefused);
  EXPECT_EQ(counter("reelect_honoured"), 1U);
  EXPECT_EQ(counter("reelect_refused"), 2U);
  EXPECT_EQ(counter("refused_not_for_us"), 1U);
  const auto reported = std::ranges::find(worker_->events().newest(), "reelect", &Event::what);
  ASSERT_NE(reported, worker_->events().newest().end());
  EXPECT_THAT(reported->details, HasSubstr("this machine resigns at the request of "));
  EXPECT_EQ(std::ranges::count(worker_->events().newest(), "lost-master", &Event::what), 1);
}

// A client of the master itself asks; then there is no master.
TEST_F(WorkerTest, ResignsAtTheRequestOfALocalClient) {
  std::vector<ReelectDriver::ReelectResult> results;
  const auto reelect = [&] {
    const auto asked = worker_->reelections().reelect();
    const auto* result = std::get_if<ReelectDriver::ReelectResult>(&asked);
    ASSERT_NE(result, nullptr);
    results.push_back(*result);
  };
  int rounds = 0;
  worker_->each_round([&] {
    if (++rounds > 10'000) return worker_->stop();
    if (worker_->snapshot().networks.at(0).state != "master") return;
    reelect();
    reelect();
    worker_->stop();
  });
  EXPECT_EQ(worker_->run(), 0);
  ASSERT_EQ(results.size(), 2U);
  ASSERT_TRUE(results[0]);
  EXPECT_EQ(results[0]->master, worker_->snapshot().name);
  EXPECT_EQ(results[0]->network, worker_->snapshot().networks.at(0).name);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error(),
            (ipc::Refusal{.code = ipc::Code::no_master,
                          .message = "no master on this network; an election is in progress"}));
  EXPECT_EQ(std::ranges::count(worker_->events().newest(), "reelect", &Event::what), 1);
}

TEST_F(WorkerTest, CountsDatagramsThatAreTooLong) {
  const sys::Address here = sys::Address::parse(address_, port_).value();
  const sys::Descriptor sender{::socket(AF_INET, SOCK_DGRAM, 0)};
  const std::vector<std::byte> huge(sys::Network::kMaxBytes + 1);
  ASSERT_EQ(::sendto(sender.number(), huge.data(), huge.size(), 0, here.raw(), here.size()),
            static_cast<ssize_t>(huge.size()));
  const auto counted = [&] { return worker_->snapshot().counters.at("datagrams_too_long"); };
  int rounds = 0;
  worker_->each_round([&] {
    let_a_second_pass();
    if (counted() > 0 || ++rounds > 1'000) worker_->stop();
  });
  EXPECT_EQ(worker_->run(), 0);
  EXPECT_EQ(counted(), 1U);
}

TEST(DaemonView, WarnsForAnHourAfterHostsWereForgotten) {
  wire::Directory directory;
  const Instant start{100s};
  const auto hear = [&](std::uint64_t i) {
    directory.hear(start, HostId{(i << 46) + 1}, Incarnation{1}, wire::Nonce{1});
  };
  for (std::uint64_t i = 0; i < wire::Directory::kMaxHosts; ++i) hear(i);
  EXPECT_EQ(crowding_warning(directory, start), "");
  hear(wire::Directory::kMaxHosts);
  EXPECT_THAT(crowding_warning(directory, start + 59min),
              ::testing::StartsWith("too many hosts: tempod remembers 4096 and has forgotten 64"));
  EXPECT_EQ(crowding_warning(directory, start + 1h), "");
}

}  // namespace
}  // namespace tempo::daemon
