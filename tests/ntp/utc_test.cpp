// UTC of local programs, from the socket to the log of the daemon.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/sock_sample.h"
#include "ntp_site.h"
#include "platform/unix_address.h"

namespace tempo::testbed {
namespace {

using ::testing::HasSubstr;

// Sends samples of UTC as gpsd does: the kernel's clock is right, or wrong by `off` seconds.
bool send_sample(const std::string& path, double off) {
  const auto bytes = doors::encode({.at = sys::read_bracket().real, .offset = off});
  const auto to = sys::unix_address(path);
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool sent = ::sendto(socket, bytes.data(), bytes.size(), 0, to->generic(), to->size) ==
                    static_cast<ssize_t>(bytes.size());
  ::close(socket);
  return sent;
}

class Utc : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  }
  // A host with these lines in its configuration.
  static Host& add_host(Site& site, const std::string& configuration) {
    Host& host = site.add(
        {.user = "nobody", .arguments = {"--config", fmt::format("{}/1/toml", site.directory())}});
    std::ofstream(host.directory() + "/toml") << configuration;
    return host;
  }
  static std::string source(const Site& site, const char* name, int error_us) {
    return fmt::format("[[utc.source]]\npath = \"{}/1/{}\"\nerror-us = {}\n", site.directory(),
                       name, error_us);
  }
};

// The sockets of two receivers and of a liar, which is a second off.
TEST_F(Utc, NamesTheSourceThatLies) {
  Site site({.tempod = TEMPO_TEMPOD});
  Host& host = add_host(
      site, source(site, "gps", 100) + source(site, "lies", 100) + source(site, "other", 100));
  site.start_all();
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() == 0; })) << host.log();
  struct stat file{};
  ASSERT_EQ(::stat((host.directory() + "/gps").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
  EXPECT_EQ(file.st_uid, 65534U) << "the user of the worker may write it";
  const auto warned = [&] {
    const auto status = host.status();
    if (!status) return false;
    for (const std::string& warning : status->warnings)
      if (warning.find("/lies is +") != std::string::npos) return true;
    return false;
  };
  int round = 0;
  ASSERT_TRUE(site.wait(30s, [&] {
    if (round++ % 25 == 0) {  // twice a second
      EXPECT_TRUE(send_sample(host.directory() + "/gps", 0) &&
                  send_sample(host.directory() + "/lies", 1) &&
                  send_sample(host.directory() + "/other", 20e-6));
    }
    return warned();
  })) << host.log();
  EXPECT_THAT(host.log(), HasSubstr("/gps is used"));
  EXPECT_THAT(host.log(), HasSubstr("/other is used"));
  EXPECT_THAT(host.log(), HasSubstr("/lies is +"));
}

// Noise in the socket changes nothing.
TEST_F(Utc, IgnoresNoiseInTheSocket) {
  Site site({.tempod = TEMPO_TEMPOD});
  Host& host = add_host(site, source(site, "gps", 100));
  site.start_all();
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() == 0; })) << host.log();
  const auto to = sys::unix_address(host.directory() + "/gps");
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  std::array<std::byte, 100> noise{};
  for (std::size_t size = 0; size < noise.size(); ++size)
    ::sendto(socket, noise.data(), size, 0, to->generic(), to->size);
  ::close(socket);
  ASSERT_TRUE(site.wait(10s, [&] { return host.status().has_value(); }));
  EXPECT_EQ(host.log().find("is used"), std::string::npos) << host.log();
}

// chronyd serves UTC on one machine; tempo-ntp on the other asks it and feeds tempod.
TEST_F(Utc, ComesFromAnNtpServer) {
  const std::string chronyd = installed("chronyd");
  if (chronyd.empty()) GTEST_SKIP() << "chronyd is missing (Debian's chrony)";
  Site site({.tempod = TEMPO_TEMPOD});
  const std::string ntp = "[ntp]\nservers = [\"10.99.0.2\"]\nserve = false\n";
  Host& host = add_host(site, source(site, "ntp", 10'000) + ntp +
                                  fmt::format("feed = \"{}/1/ntp\"\n", site.directory()));
  const Host& server = site.add();
  host.start();
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() == 0; })) << host.log();
  Child upstream({"netns", "exec", server.space(), "setpriv", "--bounding-set", "-sys_time",
                  chronyd, "-x", "-d", "-u", "root", "local stratum 2", "allow", "cmdport 0",
                  fmt::format("pidfile {}/chronyd.pid", site.directory())},
                 NtpSite::kIp);
  Child client({"netns", "exec", host.space(), TEMPO_NTP, "--config", host.directory() + "/toml",
                "--set", fmt::format("socket={}", host.socket()), "--set", "user=nobody"},
               NtpSite::kIp);
  EXPECT_TRUE(client.read_until([&] {
    return client.err().find("feeding UTC to") != std::string::npos;
  })) << client.err()
      << upstream.err();
  EXPECT_TRUE(site.wait(20s, [&] { return host.log().find("/ntp is used") != std::string::npos; }))
      << host.log() << client.err();
  ::kill(client.id(), SIGTERM);
  EXPECT_EQ(client.wait().status, 0);
  ::kill(upstream.id(), SIGTERM);
  upstream.wait();
}

// ClockBound's segment and chronyd's socket of a real daemon.
TEST_F(Utc, GoesOutToClockBoundAndChronyd) {
  Site site({.tempod = TEMPO_TEMPOD});
  Host& host = add_host(site, fmt::format("[doors]\nclockbound = \"{0}/1/shm0\"\nchrony = "
                                          "\"{0}/1/chrony.sock\"\n",
                                          site.directory()));
  site.add();  // a machine that is alone states no time
  const std::string path = host.directory() + "/chrony.sock";
  const auto address = sys::unix_address(path);
  const int chronyd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(chronyd, address->generic(), address->size), 0);
  std::filesystem::permissions(path, std::filesystem::perms::all);
  site.start_all();
  std::array<std::byte, doors::kSockBytes> bytes{};
  ASSERT_TRUE(site.wait(30s, [&] { return ::recv(chronyd, bytes.data(), bytes.size(), 0) == 40; }))
      << host.log();
  const auto sample = doors::decode(bytes);
  ASSERT_TRUE(sample);
  const auto page = page::Reader::open(page::path_for(host.socket()));
  ASSERT_TRUE(page) << page.error();
  const sys::Bracket kernel = sys::read_bracket();
  const Nanos ahead = page->now().time.time_since_epoch() - kernel.real;
  EXPECT_NEAR(sample->offset, in_seconds(ahead), 1e-3);
  // Status and bound, as ClockBound's clients read them.
  std::ifstream segment(host.directory() + "/shm0", std::ios::binary);
  std::array<char, 80> content{};
  segment.read(content.data(), content.size());
  std::int64_t bound = 0;
  std::memcpy(&bound, content.data() + 48, sizeof bound);
  std::int32_t state = 0;
  std::memcpy(&state, content.data() + 68, sizeof state);
  EXPECT_EQ(state, 1);
  EXPECT_GE(bound, std::abs(ahead.count()) - 1'000'000);
  EXPECT_LE(bound, std::abs(ahead.count()) + 1'000'000);
  ::close(chronyd);
}

}  // namespace
}  // namespace tempo::testbed
