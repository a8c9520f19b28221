// tempo-ntp and real clients, none of which may set a clock.
#include <cmath>
#include <fstream>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ntp_site.h"

namespace tempo::testbed {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Ntp : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!Site::obstacle().empty()) return;
    site = std::make_unique<NtpSite>();
    if (site->ready()) site->serve();
  }
  static void TearDownTestSuite() { site.reset(); }
  void SetUp() override {
    if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
    auto page = site->open_page();
    ASSERT_TRUE(page) << page.error() << site->server().log();
    page_.emplace(*std::move(page));
    ASSERT_GE(page_->now().status, page::Status::synchronized) << site->server().log();
  }

  // Network time minus the time of the kernel, which the clients have.
  Nanos expected_offset() const {
    const sys::Bracket kernel = sys::read_bracket();
    return page_->now().time.time_since_epoch() - kernel.real;
  }
  // The answer lies within the error bound of the page before and after.
  void expect_true_time(const std::string& address) const {
    NtpClient client(site->client().space(), address);
    const page::Reading before = page_->now();
    const auto answer = client.ask({.version = 4, .mode = 3, .poll = 4, .transmit = 0x1234567});
    const page::Reading after = page_->now();
    ASSERT_TRUE(answer) << site->ntp().err();
    EXPECT_EQ(answer->mode, 4);
    EXPECT_EQ(answer->leap, 0);
    EXPECT_EQ(answer->stratum, 10);
    EXPECT_EQ(answer->origin, 0x1234567U);
    const Nanos near = before.time.time_since_epoch();
    const Nanos bound = ntp::span_of(answer->root_dispersion);
    const Nanos received = ntp::time_of(answer->receive, near);
    const Nanos transmitted = ntp::time_of(answer->transmit, near);
    EXPECT_LE(before.earliest.time_since_epoch(), received + bound);
    EXPECT_LE(received, transmitted);
    EXPECT_LE(transmitted - bound, after.latest.time_since_epoch());
    EXPECT_LT(ntp::time_of(answer->reference, near), transmitted);
  }

  static std::unique_ptr<NtpSite> site;
  std::optional<page::Reader> page_;
};
std::unique_ptr<NtpSite> Ntp::site;

// The arguments of chronyd are lines of its configuration.
Words chronyd_words(const std::string& space, const std::vector<std::string>& options,
                    const std::vector<std::string>& configuration) {
  Words words{
      "netns", "exec", space, "setpriv", "--bounding-set", "-sys_time", installed("chronyd")};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), configuration.begin(), configuration.end());
  return words;
}

TEST_F(Ntp, AnswersOverBothProtocols) {
  expect_true_time("10.99.0.1");
  expect_true_time(NtpSite::kServer6);
}

// A client discards an answer from another address than the one that it asked.
TEST_F(Ntp, AnswersFromTheAddressThatWasAsked) {
  const std::string space = site->server().space();
  ASSERT_EQ(run({"ip", "-n", space, "address", "add", "10.99.0.101/24", "dev", "eth0"}), 0);
  expect_true_time("10.99.0.101");
  EXPECT_EQ(run({"ip", "-n", space, "address", "del", "10.99.0.101/24", "dev", "eth0"}), 0);
}

TEST_F(Ntp, HasNoPrivileges) {
  std::ostringstream status;
  status << std::ifstream(fmt::format("/proc/{}/status", site->ntp().id())).rdbuf();
  for (const char* const line : {"\nUid:\t65534\t65534\t65534", "\nCapPrm:\t0000000000000000\n",
                                 "\nCapEff:\t0000000000000000\n", "\nCapAmb:\t0000000000000000\n",
                                 "\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n"})
    EXPECT_THAT(status.str(), HasSubstr(line));
}

// Neither noise nor a request that is too short or of another mode has an answer; the next request
// has.
TEST_F(Ntp, IgnoresEverythingElse) {
  NtpClient client(site->client().space(), "10.99.0.1");
  ntp::PacketBytes bytes = ntp::encode({.version = 4, .mode = 3, .transmit = 7});
  client.send(std::span{bytes}.first(47));
  for (int first = 0; first < 256; ++first) {
    const int version = first >> 3 & 7;
    if ((first & 7) == 3 && (version == 3 || version == 4)) continue;
    bytes[0] = static_cast<std::byte>(first);
    client.send(bytes);
  }
  EXPECT_TRUE(client.receive(200).empty());
  EXPECT_TRUE(client.ask({.version = 3, .mode = 3, .transmit = 8}));
}

TEST_F(Ntp, LimitsAClientThatAsksTooOften) {
  NtpClient client(site->client().space(), "fd00:99::1");
  std::size_t answers = 0, kisses = 0;
  for (int i = 0; i < 100; ++i) {
    const auto answer = client.ask({.version = 4, .mode = 3, .transmit = 9}, 20);
    answers += answer && answer->stratum == 10 ? 1U : 0U;
    kisses += answer && answer->stratum == 0 ? 1U : 0U;
  }
  EXPECT_GE(kisses, 1U);
  EXPECT_GE(answers, 8U);
  EXPECT_LE(answers, 40U);
}

TEST_F(Ntp, ChecksWhatAClientWouldGet) {
  Words words = site->ntp_words({});
  words.emplace_back("--check");
  const Ended good = Child(words, NtpSite::kIp).wait();
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("listen: port 123 of every address\n"));
  EXPECT_THAT(good.out, HasSubstr("stratum: 10\nleap: none\nroot dispersion: "));
  words.insert(words.end(), {"--set", "socket=/run/nowhere/tempod.sock"});
  const Ended bad = Child(words, NtpSite::kIp).wait();
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.out, HasSubstr("time: unsynchronized: no time page at /run/nowhere/tempod.page"));
}

TEST_F(Ntp, NamesAPortThatIsTaken) {
  const Ended ended = Child(site->ntp_words({}), NtpSite::kIp).wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("another program uses this port"));
}

TEST_F(Ntp, IsUnsynchronizedWithoutAPage) {
  Child other(site->ntp_words({"socket=/run/nowhere/tempod.sock", "ntp.port=1123"}), NtpSite::kIp);
  ASSERT_TRUE(other.read_until([&] { return other.err().find("serving") != std::string::npos; }));
  EXPECT_THAT(other.err(), HasSubstr("serving unsynchronized time: no time page"));
  NtpClient client(site->client().space(), "10.99.0.1", 1123);
  const auto answer = client.ask({.version = 4, .mode = 3, .transmit = 9});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->leap, 3);
  EXPECT_EQ(answer->stratum, 16);
  if (installed("chronyd").empty()) return;
  const Ended ended =
      Child(chronyd_words(site->client().space(), {"-Q", "-t", "5", "-u", "root"},
                          {"server 10.99.0.1 port 1123 iburst", "cmdport 0",
                           fmt::format("pidfile {}/chronyd.pid", site->directory())}),
            NtpSite::kIp)
          .wait();
  EXPECT_NE(ended.status, 0) << ended.out << ended.err;
}

// --- real clients ---

TEST_F(Ntp, ChronydAcceptsIt) {
  if (installed("chronyd").empty()) GTEST_SKIP() << "chronyd is missing (Debian's chrony)";
  for (const std::string address : {"10.99.0.1", NtpSite::kServer6}) {
    const Nanos before = expected_offset();
    Child chronyd(chronyd_words(site->client().space(), {"-Q", "-t", "20", "-u", "root"},
                                {fmt::format("server {} iburst", address), "cmdport 0",
                                 fmt::format("pidfile {}/chronyd.pid", site->directory())}),
                  NtpSite::kIp);
    const Ended ended = chronyd.wait();
    EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
    std::smatch found;
    const std::string text = ended.out + ended.err;
    ASSERT_TRUE(std::regex_search(text, found, std::regex("System clock wrong by (-?[0-9.]+)")))
        << text;
    EXPECT_NEAR(std::stod(found[1]), in_seconds(before), 2e-3) << text;
  }
}

TEST_F(Ntp, NtpdigAcceptsIt) {
  const std::string ntpdig = installed("ntpdig");
  if (ntpdig.empty()) GTEST_SKIP() << "ntpdig is missing (Debian's ntpsec-ntpdig)";
  for (const std::string address : {"10.99.0.1", NtpSite::kServer6}) {
    const Nanos before = expected_offset();
    const Ended ended = site->client(ntpdig, address);
    EXPECT_EQ(ended.status, 0) << ended.err;
    std::smatch found;
    ASSERT_TRUE(std::regex_search(ended.out, found,
                                  std::regex(R"(([+-][0-9.]+) \+/- ([0-9.]+) \S+ s10 no-leap)")))
        << ended.out;
    // The distance that ntpdig states, and the rounding of its output.
    EXPECT_LE(std::abs(std::stod(found[1]) - in_seconds(before)), std::stod(found[2]) + 20e-6)
        << ended.out << " expected " << in_seconds(before);
  }
}

// chronyd follows for a while in the interleaved mode. It may not steer the kernel's clock, so it
// corrects one of its own: after the first measurements its offsets are the noise of the service.
TEST_F(Ntp, ChronydFollowsInterleaved) {
  if (installed("chronyd").empty()) GTEST_SKIP() << "chronyd is missing (Debian's chrony)";
  const bool soak = std::getenv("TEMPO_SOAK") != nullptr;
  const std::string logs = site->directory() + "/chrony";
  std::filesystem::create_directories(logs);
  std::filesystem::permissions(logs, std::filesystem::perms::owner_all);
  {
    Child chronyd(chronyd_words(site->client().space(), {"-x", "-d", "-u", "root"},
                                {"server 10.99.0.1 minpoll 0 maxpoll 0 xleave", "cmdport 0",
                                 "logdir " + logs, "log measurements", "dumpdir " + logs,
                                 fmt::format("pidfile {}/chronyd.pid", logs)}),
                  NtpSite::kIp);
    const auto end = std::chrono::steady_clock::now() + (soak ? 600s : 15s);
    chronyd.read_until([&] { return std::chrono::steady_clock::now() > end; });
    ::kill(chronyd.id(), SIGTERM);
    const Ended ended = chronyd.wait();
    EXPECT_THAT(ended.out + ended.err, HasSubstr("Selected source 10.99.0.1"));
  }
  std::ifstream file(logs + "/measurements.log");
  constexpr double kCorrected = 1e-3;  // far below the quarter of a second between the clocks
  std::vector<double> offsets;
  double first = 0;
  int basic = 0;
  for (std::string line; std::getline(file, line);) {
    const Words words = words_of(line);
    // Date, time, address, leap, stratum, three groups of tests, poll, two reachabilities, score,
    // offset, ...; mode and kinds of timestamps at the end.
    if (words.size() < 20 || words[2] != "10.99.0.1") continue;
    const double offset = std::stod(words[11]);
    if (first == 0) first = offset;
    if (line.find(" 4I ") == std::string::npos) {
      ++basic;
    } else if (!offsets.empty() || std::abs(offset) < kCorrected) {
      offsets.push_back(offset);
    }
  }
  EXPECT_NEAR(first, in_seconds(expected_offset()), 5e-3);
  ASSERT_GE(offsets.size(), soak ? 500U : 5U) << basic << " in the basic mode";
  EXPECT_LE(basic, 4) << "the mode changes once";
  double squares = 0;
  for (const double offset : offsets) squares += offset * offset;
  const double rms = std::sqrt(squares / static_cast<double>(offsets.size()));
  std::printf("chronyd, interleaved: %zu measurements, rms %.2f us\n", offsets.size(), rms * 1e6);
  EXPECT_LT(rms, 200e-6);
}

}  // namespace
}  // namespace tempo::testbed
