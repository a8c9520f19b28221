// Locks in a real etcd for two hosts: each is a tempod with tempo-etcd on an address of the
// loopback interface, and `tempo lock` as users run it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "lock_hosts.h"
#include "program.h"
#include "tempo/lock.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kEtcd = "/usr/bin/etcd";
constexpr const char* kOpenssl = "/usr/bin/openssl";

// A port that is free at this moment.
int free_port() {
  const int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(end, reinterpret_cast<const sockaddr*>(&address), size) != 0) std::abort();
  getsockname(end, reinterpret_cast<sockaddr*>(&address), &size);
  close(end);
  return ntohs(address.sin_port);
}

class Site : public LockHosts {
 public:
  static constexpr std::size_t kHosts = 2;

  Site() : LockHosts(kHosts, "etcd") {
    start_etcd();
    for (std::size_t i = 0; i < kHosts; ++i) {
      start_bridge(i);
      start_tempod(i, free_port(), settings(i));
    }
  }
  ~Site() {
    for (auto& bridge : bridges_) end(bridge);
    end(etcd_);
  }

  void start_etcd() {
    etcd_ = std::make_unique<Child>(
        words_of(fmt::format("--data-dir {0} --listen-client-urls {1} --advertise-client-urls "
                             "{1} --listen-peer-urls {2} --initial-advertise-peer-urls {2} "
                             "--initial-cluster default={2} --log-level error",
                             file("data"), endpoint(), peer_)),
        kEtcd);
  }
  void stop_etcd() { end(etcd_); }
  void pause_etcd(bool on) const { kill(etcd_->id(), on ? SIGSTOP : SIGCONT); }
  void start_bridge(std::size_t i) {
    bridges_[i] = std::make_unique<Child>(
        words_of("--config /dev/null --set user=\"\" " + settings(i)), TEMPO_ETCD);
  }
  void kill_bridge(std::size_t i) {
    kill(bridges_[i]->id(), SIGKILL);
    bridges_[i]->wait();
    bridges_[i].reset();
  }
  void pause_bridge(std::size_t i, bool on) const {
    kill(bridges_[i]->id(), on ? SIGSTOP : SIGCONT);
  }

  bool ready() const {
    for (std::size_t i = 0; i < kHosts; ++i)
      if (!lock_state(i).starts_with("locks are kept in etcd at " + endpoint())) return false;
    return true;
  }
  std::string endpoint() const { return fmt::format("http://127.0.0.1:{}", port_); }

 private:
  std::string settings(std::size_t i) const {
    return fmt::format(
        "--set cluster=\"etcd-{0}\" --set "
        "locks.back-end=\"etcd\" --set locks.lease-ms=2000 --set locks.etcd-socket=\"{1}/etcd\" "
        "--set locks.etcd-endpoints=[\"{2}\"]",
        getpid(), own(i), endpoint());
  }
  static void end(std::unique_ptr<Child>& child) {
    if (child == nullptr) return;
    kill(child->id(), SIGCONT);
    kill(child->id(), SIGTERM);
    child->wait();
    child.reset();
  }

  int port_ = free_port();
  std::string peer_ = fmt::format("http://127.0.0.1:{}", free_port());
  std::unique_ptr<Child> etcd_;
  std::array<std::unique_ptr<Child>, kHosts> bridges_;
};

class EtcdLock : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (access(kEtcd, X_OK) == 0) site = std::make_unique<Site>();
  }
  static void TearDownTestSuite() { site.reset(); }
  void SetUp() override {
    if (site == nullptr) GTEST_SKIP() << "etcd is missing (Debian's etcd-server)";
    ASSERT_TRUE(wait_for(60s, [] { return site->ready(); })) << site->lock_state(0);
  }

  static std::string stamping(const std::string& file) { return site->stamping(file); }
  static std::vector<std::int64_t> stamps(const std::string& file) { return site->stamps(file); }
  static bool runs(const std::string& file) { return site->runs(file); }

  static std::unique_ptr<Site> site;
};
std::unique_ptr<Site> EtcdLock::site;

TEST_F(EtcdLock, ExcludesAllHostsWithRisingTokens) {
  std::uint64_t last = 0;
  for (const std::size_t host : {0UL, 1UL, 1UL, 0UL}) {
    const Ended ended =
        Child(site->lock(host, "one/door", "echo $TEMPO_LOCK_TOKEN $TEMPO_LOCK_NAME")).wait();
    ASSERT_EQ(ended.status, 0) << ended.err;
    const Words words = words_of(ended.out);
    ASSERT_EQ(words.size(), 2) << ended.out;
    EXPECT_EQ(words[1], "one/door");
    EXPECT_GT(std::stoull(words[0]), last);
    last = std::stoull(words[0]);
  }
}

// The same etcd decides about group leaders. These hosts do not hear each other, so each proposes
// itself; one at a time holds the lease.
TEST_F(EtcdLock, DecidesTheLeaderOfAGroup) {
  const auto elect = [](std::size_t host, const std::string& file) {
    Words words = words_of("elect web --criterion weight=1 --socket " + site->socket(host));
    words.insert(words.end(),
                 {"--", "sh", "-c",
                  "echo $TEMPO_LEADER_TOKEN >> " + site->file(file) + ".term; " + stamping(file)});
    return words;
  };
  const auto term = [](const std::string& file) {
    std::uint64_t number = 0;
    std::ifstream(site->file(file + ".term")) >> number;
    return number;
  };
  Child first(elect(0, "web-a"));
  ASSERT_TRUE(runs("web-a"));
  Child second(elect(1, "web-b"));
  std::this_thread::sleep_for(3s);
  EXPECT_TRUE(stamps("web-b").empty()) << "both lead";
  kill(first.id(), SIGTERM);
  first.wait();
  ASSERT_TRUE(runs("web-b"));
  kill(second.id(), SIGTERM);
  second.wait();
  EXPECT_LT(stamps("web-a").back(), stamps("web-b").front());
  EXPECT_LT(term("web-a"), term("web-b"));
}

TEST_F(EtcdLock, IsHandedOver) {
  Child holder(site->lock(0, "busy", stamping("busy")));
  ASSERT_TRUE(runs("busy"));
  for (const std::size_t host : {0UL, 1UL}) {
    const Ended at_once = Child(site->lock(host, "--no-wait busy -- true")).wait();
    EXPECT_EQ(at_once.status, 100);
    EXPECT_THAT(at_once.err, HasSubstr("not waiting"));
  }
  EXPECT_THAT(site->listed(0), HasSubstr(fmt::format("host0 pid {}", holder.id())));
  Child next(site->lock(1, "--wait 60s busy -- true"));
  kill(holder.id(), SIGTERM);
  EXPECT_EQ(holder.wait().status, 128 + SIGTERM) << "the signal is for the command";
  EXPECT_EQ(next.wait().status, 0);
}

TEST_F(EtcdLock, ReadersShareTheLock) {
  Child first(site->lock(0, "--shared plan", stamping("plan-a")));
  Child second(site->lock(1, "--shared plan", stamping("plan-b")));
  EXPECT_TRUE(runs("plan-a") && runs("plan-b"));
  EXPECT_EQ(Child(site->lock(1, "--no-wait plan -- true")).wait().status, 100);
  for (Child* child : {&first, &second}) {
    kill(child->id(), SIGTERM);
    child->wait();
  }
  EXPECT_EQ(Child(site->lock(1, "--wait 20s plan -- true")).wait().status, 0);
}

TEST_F(EtcdLock, IsExtended) {
  auto locks = Locks::connect(site->socket(0));
  ASSERT_TRUE(locks) << locks.error().message;
  auto lock = locks->acquire("program");
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_GT(lock->remaining(), 0s);
  EXPECT_LT(lock->remaining(), 2s) << "less than the lease of etcd";
  const auto deadline = lock->deadline();
  EXPECT_TRUE(wait_for(20s, [&] { return lock->deadline() > deadline + 2s; }));
  auto pending = Locks::connect(site->socket(1));
  ASSERT_TRUE(pending);
  EXPECT_FALSE(pending->try_acquire("program"));
  lock->release();
  const auto next = pending->acquire("program", {.wait = 20s});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_GT(next->token(), lock->token());
}

TEST_F(EtcdLock, RejectsBadNames) {
  const Ended ended =
      Child({"lock", "--socket", site->socket(0), "two words", "--", "true"}).wait();
  EXPECT_EQ(ended.status, 103);
  EXPECT_THAT(ended.err, HasSubstr("has a space or a character"));
}

TEST_F(EtcdLock, LeasesHaveAFixedTime) {
  const Ended ended = Child(site->lock(0, "--lease 3s x -- true")).wait();
  EXPECT_EQ(ended.status, 103);
  EXPECT_THAT(ended.err, HasSubstr("uses 'lease-ms' for all leases"));
}

TEST_F(EtcdLock, IsFreeWhenTheCommandOfAKilledHolderIsGone) {
  site->holder_exits_after("killed", [](Child& holder) { kill(holder.id(), SIGKILL); });
}

TEST_F(EtcdLock, IsLostIfTheWrapperIsPaused) {
  EXPECT_EQ(site->holder_exits_after(
                "paused", [](Child& holder) { kill(holder.id(), SIGSTOP); },
                [](Child& holder) { kill(holder.id(), SIGCONT); }),
            101);
}

TEST_F(EtcdLock, IsLostIfTheBridgeIsPaused) {
  EXPECT_EQ(site->holder_exits_after(
                "frozen", [](Child&) { site->pause_bridge(0, true); },
                [](Child&) { site->pause_bridge(0, false); }),
            101);
}

TEST_F(EtcdLock, IsLostIfTempodIsPaused) {
  EXPECT_EQ(
      site->holder_exits_after(
          "asleep", [](Child&) { site->pause(0, true); }, [](Child&) { site->pause(0, false); }),
      101);
}

TEST_F(EtcdLock, IsLostIfTheBridgeIsKilled) {
  EXPECT_EQ(site->holder_exits_after("bridge", [](Child&) { site->kill_bridge(0); }), 101);
  const Ended refused = Child(site->lock(0, "bridge -- true")).wait();
  EXPECT_EQ(refused.status, 103);
  EXPECT_THAT(refused.err, HasSubstr("tempo-etcd does not run"));
  site->start_bridge(0);
  ASSERT_TRUE(wait_for(60s, [] { return site->ready(); }));
  EXPECT_EQ(Child(site->lock(0, "--wait 20s bridge -- true")).wait().status, 0);
}

TEST_F(EtcdLock, IsLostInTimeIfEtcdIsPaused) {
  auto locks = Locks::connect(site->socket(0));
  ASSERT_TRUE(locks);
  auto lock = locks->acquire("silent");
  ASSERT_TRUE(lock) << lock.error().message;
  Child holder(site->lock(1, "silent-too", stamping("silent")));
  ASSERT_TRUE(runs("silent"));
  site->pause_etcd(true);
  EXPECT_EQ(holder.wait().status, 101);
  EXPECT_TRUE(wait_for(20s, [&] { return lock->remaining() == 0s; }));
  const auto last = stamps("silent");
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(stamps("silent"), last) << "the command still runs";
  site->pause_etcd(false);
  EXPECT_EQ(Child(site->lock(0, "--wait 60s silent-too -- true")).wait().status, 0);
}

TEST_F(EtcdLock, RefusesWithoutEtcdAndTokensRiseAcrossItsRestart) {
  const auto token = [](std::size_t host) {
    const Ended ended =
        Child(site->lock(host, "--wait 60s again", "echo $TEMPO_LOCK_TOKEN")).wait();
    EXPECT_EQ(ended.status, 0) << ended.err;
    return ended.out.empty() ? 0 : std::stoull(ended.out);
  };
  const std::uint64_t before = token(0);
  site->stop_etcd();
  ASSERT_TRUE(wait_for(60s, [] { return site->lock_state(1).starts_with("no locks: "); }));
  const Ended refused = Child(site->lock(1, "again -- true")).wait();
  EXPECT_EQ(refused.status, 103);
  EXPECT_THAT(refused.err, HasSubstr("etcd cannot be reached at " + site->endpoint()));
  site->start_etcd();
  ASSERT_TRUE(wait_for(60s, [] { return site->ready(); }));
  EXPECT_GT(token(1), before);
}

// One certificate serves all: as server certificate, as client certificate and as CA.
TEST(EtcdBridge, UsesHttpsWithAClientCertificate) {
  if (access(kEtcd, X_OK) != 0) GTEST_SKIP() << "etcd is missing (Debian's etcd-server)";
  if (access(kOpenssl, X_OK) != 0) GTEST_SKIP() << "openssl is missing";
  std::string pattern = (std::filesystem::temp_directory_path() / "tempo-https-XXXXXX").string();
  const std::string directory = ::mkdtemp(pattern.data());
  const std::string cert = directory + "/cert.pem";
  const std::string key = directory + "/key.pem";
  for (const std::string& name : {std::string(), std::string("other-")}) {
    const Ended made =
        Child(words_of(fmt::format("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                                   "-keyout {0}/{1}key.pem -out {0}/{1}cert.pem -subj /CN=etcd "
                                   "-days 2 -addext subjectAltName=IP:127.0.0.1",
                                   directory, name)),
              kOpenssl)
            .wait();
    ASSERT_EQ(made.status, 0) << made.err;
  }
  const std::string endpoint = fmt::format("https://127.0.0.1:{}", free_port());
  const std::string peer = fmt::format("http://127.0.0.1:{}", free_port());
  {
    const Child etcd(
        words_of(fmt::format("--data-dir {0}/data --listen-client-urls {1} --advertise-client-urls "
                             "{1} --listen-peer-urls {2} --initial-advertise-peer-urls {2} "
                             "--initial-cluster default={2} --log-level error --cert-file {3} "
                             "--key-file {4} --client-cert-auth --trusted-ca-file {3}",
                             directory, endpoint, peer, cert, key)),
        kEtcd);
    const std::string settings = fmt::format(
        "--config /dev/null --set user=\"\" --set locks.back-end=\"etcd\" --set "
        "locks.etcd-endpoints=[\"{}\"]",
        endpoint);
    const auto acquire = [&](const std::string& more, bool refusal_will_do) {
      const std::string socket = directory + "/sock";
      const Child bridge(words_of(settings + " --set locks.etcd-socket=\"" + socket + "\" " + more),
                         TEMPO_ETCD);
      EXPECT_TRUE(wait_for(20s, [&] { return Locks::connect(socket).has_value(); }));
      auto locks = Locks::connect(socket);
      auto lock = locks->acquire("door");
      // etcd may still be starting, or this machine may be busy.
      wait_for(20s, [&] {
        if (lock || lock.error().message.find("SSL") != std::string::npos) return true;
        lock = locks->acquire("door");
        return lock.has_value() || refusal_will_do;
      });
      return lock ? std::string("taken") : lock.error().message;
    };
    const std::string ours = fmt::format(
        "--set locks.etcd-cert-file=\"{}\" --set locks.etcd-key-file=\"{}\" ", cert, key);
    EXPECT_EQ(acquire(ours + fmt::format("--set locks.etcd-ca-file=\"{}\"", cert), false), "taken");
    EXPECT_THAT(
        acquire(ours + fmt::format("--set locks.etcd-ca-file=\"{}/other-cert.pem\"", directory),
                false),
        HasSubstr("SSL"));
    EXPECT_THAT(acquire(fmt::format("--set locks.etcd-ca-file=\"{}\"", cert), true),
                HasSubstr("etcd cannot be reached"))
        << "without a client certificate";
  }
  std::filesystem::remove_all(directory);
}

TEST(EtcdBridge, ReportsInvalidSettings) {
  const Ended other = Child(words_of("--config /dev/null"), TEMPO_ETCD).wait();
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("set back-end = \"etcd\" under [locks]"));
  const Ended bad =
      Child(words_of("--config /dev/null --set locks.etcd-endpoints=[\"10.0.0.1\"]"), TEMPO_ETCD)
          .wait();
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.err, HasSubstr("'10.0.0.1', which is not an endpoint"));
  const Ended both =
      Child(words_of("--config /dev/null --set locks.back-end=etcd --set locks.expect=3"),
            TEMPO_ETCD)
          .wait();
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("expect exclude each other"));
}

}  // namespace
}  // namespace tempo
