// Faults made in a network of three real daemons: `tempo doctor` names each on the faulty machine
// and on another within ten seconds, and nothing when there is no fault. The whole table runs under
// `make soak`, a short one otherwise.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netns.h"

namespace tempo::testbed::doctor_faults {
namespace {

constexpr std::size_t kHosts = 3;
constexpr std::size_t kFaulty = 2;  // the third host
constexpr std::size_t kOther = 0;
constexpr Nanos kNamedWithin = 10s;

using Codes = std::map<std::string, std::string>;  // level by code

struct Fault {
  std::string name;
  bool brief = false;  // also in the short version
  std::function<void()> make{};
  std::function<void()> repair{};
  // A finding with each code must be there; none: that daemon does not answer.
  std::vector<std::string> here{};   // on the faulty machine
  std::vector<std::string> there{};  // on another one
};

class Doctor : public Netns {
 protected:
  static bool soak() { return std::getenv("TEMPO_SOAK") != nullptr; }

  static Codes codes_of(const Host& host) {
    ipc::Request request;
    request.verb = ipc::Verb::doctor;
    const auto reply = host.ask(request, 2s);
    Codes codes;
    if (!reply) return {{"no answer", ""}};
    const auto findings = ipc::findings_of(*reply);
    for (const ipc::Finding& finding : findings.value_or(std::vector<ipc::Finding>{}))
      codes[finding.code] = finding.level;
    return codes;
  }
  static std::string text_of(const Host& host) {
    ipc::Request request;
    request.verb = ipc::Verb::doctor;
    const auto reply = host.ask(request, 2s);
    std::string text = host.name() + " says:\n";
    if (!reply) return text + "  no answer\n";
    const auto findings = ipc::findings_of(*reply);
    for (const ipc::Finding& one : findings.value_or(std::vector<ipc::Finding>{}))
      text += fmt::format("  {} {} {} ({})\n", one.level, one.code, one.what, one.evidence);
    return text;
  }
  static std::string all_findings(Site& site) {
    std::string text;
    for (std::size_t i = 0; i < site.size(); ++i) text += text_of(site.host(i));
    return text;
  }
  // The daemons of the tests run as root, and virtual links may have no timestamps.
  static bool healthy(Site& site) {
    const std::set<std::string> usual{"T032", "T034"};
    for (std::size_t i = 0; i < kHosts; ++i)
      for (const auto& [code, level] : codes_of(site.host(i)))
        if (!usual.contains(code)) return false;
    return true;
  }
  static bool has_all(const Codes& codes, const std::vector<std::string>& wanted) {
    return std::ranges::all_of(wanted, [&](const auto& code) { return codes.contains(code); });
  }

  // What `tempo doctor` prints in the namespace of a host.
  static std::string program(const Host& host, const std::string& config = "/nonexistent") {
    const std::string command =
        fmt::format("ip netns exec {} {} doctor --config {} --socket {} 2>&1", host.space(),
                    TEMPO_BINARY, config, host.socket());
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer{};
    for (std::size_t got = 1; got > 0;) {
      got = std::fread(buffer.data(), 1, buffer.size(), pipe);
      text.append(buffer.data(), got);
    }
    ::pclose(pipe);
    return text;
  }
};

Site::Options doctor_options() {
  return {.tempod = TEMPO_TEMPOD,
          .key = true,
          .arguments = {"--set", "locks.expect=3", "--set", "locks.lease-ms=1000"}};
}

void in_space(const Host& host, std::vector<std::string> command) {
  command.insert(command.begin(), {"ip", "netns", "exec", host.space()});
  ASSERT_EQ(run(command), 0) << command.at(4);
}
void restart(Host& host, std::vector<std::string> arguments, bool keyless = false) {
  host.stop();
  host.set_arguments(std::move(arguments), keyless);
  host.start();
}

TEST_F(Doctor, NamesEveryFaultOnBothSidesAndNothingElse) {
  if (run({"nft", "--version"}) != 0) GTEST_SKIP() << "needs nft";
  Site site(doctor_options());
  const std::string disk = site.directory() + "/disk";
  std::filesystem::create_directories(disk);
  if (run({"mount", "-t", "tmpfs", "-o", "size=1m", "none", disk}) != 0)
    GTEST_SKIP() << "cannot mount a file system here";
  struct Unmount {
    std::string path;
    ~Unmount() { run({"umount", "-l", path}); }
  } const unmount{disk};
  for (std::size_t i = 0; i < kHosts; ++i)
    site.add({.far = i == kFaulty, .state = i == kFaulty ? disk : ""});
  site.start_all();
  Host& faulty = site.host(kFaulty);
  ASSERT_TRUE(site.wait(30s, [&] { return healthy(site); })) << all_findings(site) << logs(site);

  const std::string other_key = site.directory() + "/other-key";
  std::ofstream(other_key) << "tempo-key-1 " << std::string(63, 'c') << "d\n";
  std::filesystem::permissions(
      other_key, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const std::string port = "h3e0";  // of the faulty host at the bridge
  const auto nft = [&](const char* hook) {
    in_space(faulty, {"nft", "add", "table", "inet", "doctor"});
    in_space(faulty, {"nft", "add", "chain", "inet", "doctor", hook,
                      fmt::format("{{ type filter hook {} priority 0; }}", hook)});
    in_space(faulty, {"nft", "add", "rule", "inet", "doctor", hook, "udp", "dport", "525", "drop"});
  };
  const auto no_nft = [&] { in_space(faulty, {"nft", "delete", "table", "inet", "doctor"}); };
  const auto plain = [&] { restart(faulty, {}); };
  const auto with = [&](std::string setting) {
    return [&, setting] { restart(faulty, {"--set", setting}); };
  };

  const std::vector<Fault> faults{
      {.name = "daemon killed",
       .brief = true,
       .make = [&] { faulty.kill_all(); },
       .repair = [&] { faulty.start(); },
       .here = {"no answer"},
       .there = {"T011"}},
      {.name = "worker stopped by a signal",
       .make = [&] { faulty.pause(true); },
       .repair = [&] { faulty.pause(false); },
       .there = {"T011"}},
      {.name = "cable pulled",
       .make = [&] { faulty.set_link(false); },
       .repair = [&] { faulty.set_link(true); },
       .here = {"T009", "T024"},
       .there = {"T011"}},
      {.name = "interface down",
       .make = [&] { in_space(faulty, {"ip", "link", "set", "eth0", "down"}); },
       .repair = [&] { in_space(faulty, {"ip", "link", "set", "eth0", "up"}); },
       .here = {"T003"},
       .there = {"T011"}},
      {.name = "firewall drops input",
       .make = [&] { nft("input"); },
       .repair = no_nft,
       .here = {"T009", "T024"},
       .there = {"T008"}},
      {.name = "firewall drops output",
       .make = [&] { nft("output"); },
       .repair = no_nft,
       .here = {"T039"},
       .there = {"T011"}},
      {.name = "switch drops what the machine sends",
       .make = [&] { site.filter({"iifname " + port + " drop"}); },
       .repair = [&] { site.filter({}); },
       .here = {"T008"},
       .there = {"T011"}},
      {.name = "switch drops what is sent to the machine",
       .make = [&] { site.filter({"oifname " + port + " drop"}); },
       .repair = [&] { site.filter({}); },
       .here = {"T009"},
       .there = {"T008"}},
      {.name = "partition",
       .make = [&] { site.set_trunk(false); },
       .repair = [&] { site.set_trunk(true); },
       .here = {"T009", "T024"},
       .there = {"T011"}},
      {.name = "two of three voters gone",
       .make =
           [&] {
             faulty.kill_all();
             site.host(1).kill_all();
           },
       .repair =
           [&] {
             faulty.start();
             site.host(1).start();
           },
       .here = {"no answer"},
       .there = {"T009", "T024"}},
      {.name = "other cluster name",
       .make = with("cluster=\"harbour\""),
       .repair = plain,
       .here = {"T010", "T013"},
       .there = {"T013"}},
      {.name = "key missing",
       .brief = true,
       .make = [&] { restart(faulty, {}, true); },
       .repair = plain,
       .here = {"T010", "T015", "T017"},
       .there = {"T014"}},
      {.name = "wrong key",
       .make = [&] { restart(faulty, {"--key-file", other_key}); },
       .repair = plain,
       .here = {"T010", "T015"},
       .there = {"T015"}},
      {.name = "other profile",
       .make = with("profile=\"classic\""),
       .repair = plain,
       .here = {"T020"},
       .there = {"T020"}},
      {.name = "other timers",
       .make = with("timers.accept-ms=700"),
       .repair = plain,
       .here = {"T020"},
       .there = {"T020"}},
      {.name = "other expect",
       .brief = true,
       .make = with("locks.expect=5"),
       .repair = plain,
       .here = {"T021"},
       .there = {"T021"}},
      {.name = "other lease length",
       .make = with("locks.lease-ms=2000"),
       .repair = plain,
       .here = {"T022"},
       .there = {"T022"}},
      {.name = "same name",
       .make = with("name=\"host1\""),
       .repair = plain,
       .here = {"T038"},
       .there = {"T038"}},
      {.name = "disk full",
       .make = [&] { std::ofstream(disk + "/fill") << std::string(2 << 20, 'x'); },
       .repair = [&] { std::filesystem::remove(disk + "/fill"); },
       .here = {"T033"}},
      {.name = "disk read-only",
       .make = [&] { run({"mount", "-o", "remount,ro", disk}); },
       .repair = [&] { run({"mount", "-o", "remount,rw", disk}); },
       .here = {"T033"}},
  };

  for (const Fault& fault : faults) {
    if (!fault.brief && !soak()) continue;
    SCOPED_TRACE(fault.name);
    fault.make();
    const auto made = std::chrono::steady_clock::now();
    const bool named = site.wait(kNamedWithin, [&] {
      return has_all(codes_of(faulty), fault.here) &&
             has_all(codes_of(site.host(kOther)), fault.there);
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - made;
    EXPECT_TRUE(named) << fault.name << '\n' << all_findings(site);
    std::string key = fault.name;
    std::ranges::replace(key, ' ', '_');
    RecordProperty(key, fmt::format("{:.1f}", took.count()));
    std::printf("%-42s named after %4.1f s\n", fault.name.c_str(), took.count());
    if (soak()) std::printf("%s", all_findings(site).c_str());
    fault.repair();
    ASSERT_TRUE(site.wait(60s, [&] { return healthy(site); })) << "after: " << fault.name << '\n'
                                                               << all_findings(site) << logs(site);
  }
}

TEST_F(Doctor, TwinsAreNamedOnBoth) {
  if (!soak()) GTEST_SKIP() << "in make soak";
  Site site(doctor_options());
  for (std::size_t i = 0; i < kHosts; ++i) site.add({.machine_id = fmt::format("twin-{}", i)});
  site.start_all();
  ASSERT_TRUE(site.wait(30s, [&] { return healthy(site); })) << all_findings(site);
  Host& copy = site.add({.machine_id = "twin-2"});
  copy.start();
  EXPECT_TRUE(site.wait(kNamedWithin, [&] {
    return has_all(codes_of(copy), {"T027"}) && has_all(codes_of(site.host(kFaulty)), {"T027"});
  })) << all_findings(site);
}

// Faults that the program finds itself.
TEST_F(Doctor, TheProgramFindsLocalFaults) {
  if (run({"nft", "--version"}) != 0) GTEST_SKIP() << "needs nft";
  Site site(doctor_options());
  Host& host = site.add({});
  const std::string config = host.directory() + "/tempo.toml";
  std::ofstream(config) << "clock = \"none\"\n";
  EXPECT_THAT(program(host, config), testing::HasSubstr("problem  T001 "));
  host.start();
  ASSERT_TRUE(site.wait(10s, [&] { return !codes_of(host).contains("no answer"); }));
  host.set_link(false);
  EXPECT_THAT(program(host, config), testing::HasSubstr("problem  T005 "));
  std::ofstream(config) << "clock = \"none\"\nport = 70000\n";
  EXPECT_THAT(program(host, config), testing::HasSubstr("problem  T002 "));
  std::ofstream(config) << "clock = \"none\"\nport = 5333\n";
  EXPECT_THAT(program(host, config), testing::HasSubstr("problem  T006 "));
  host.set_link(true);
  in_space(host, {"nft", "add", "table", "inet", "doctor"});
  in_space(host, {"nft", "add", "chain", "inet", "doctor", "input",
                  "{ type filter hook input priority 0; policy drop; }"});
  std::ofstream(config) << "clock = \"none\"\n";
  EXPECT_THAT(program(host, config), testing::HasSubstr("problem  T007 "));
}

// Every machine shows the same members, with their names, also those that it has never heard.
TEST_F(Doctor, EveryMachineKnowsItsNetwork) {
  Site site(doctor_options());
  for (std::size_t i = 0; i < kHosts; ++i) site.add({});
  site.start_all();
  const auto states = [&](const Host& host) {
    std::vector<std::string> all;
    const auto status = host.status();
    if (!status) return all;
    for (const obs::MemberView& member : status->members)
      all.push_back(member.name + ' ' + member.state);
    std::ranges::sort(all);
    return all;
  };
  using Strings = std::vector<std::string>;
  const auto all_see = [&](const Strings& wanted) {
    return [&, wanted] {
      for (std::size_t i = 0; i < kHosts; ++i)
        if (site.host(i).running() && states(site.host(i)) != wanted) return false;
      return true;
    };
  };
  ASSERT_TRUE(site.wait(20s, all_see({"host1 up", "host2 up", "host3 up"}))) << logs(site);
  // A follower knows the clock of another follower.
  ASSERT_TRUE(site.wait(20s, [&] {
    for (std::size_t i = 0; i < kHosts; ++i) {
      const auto status = site.host(i).status();
      if (!status) return false;
      for (const obs::MemberView& member : status->members)
        if (!member.bound_us || member.revision == 0) return false;
    }
    return true;
  })) << logs(site);
  site.host(2).stop();
  ASSERT_TRUE(site.wait(5s, all_see({"host1 up", "host2 up", "host3 stopped"}))) << logs(site);
  site.host(1).kill_all();
  ASSERT_TRUE(site.wait(10s, all_see({"host1 up", "host2 silent", "host3 stopped"}))) << logs(site);
  // A machine that starts now has heard neither.
  site.host(2).start();
  ASSERT_TRUE(site.wait(10s, all_see({"host1 up", "host2 silent", "host3 up"})))
      << states(site.host(2)).size() << logs(site);
}

// `tempo -H HOST` asks another member: with a key, or if that member is configured to answer.
TEST_F(Doctor, AnotherMemberAnswersThroughTheNetwork) {
  for (const bool key : {true, false}) {
    Site::Options options = doctor_options();
    options.key = key;
    Site site(options);
    for (std::size_t i = 0; i < kHosts; ++i)
      site.add({.arguments = {"--set",
                              !key && i == 1 ? "remote-read=\"open\"" : "remote-read=\"key\""}});
    site.start_all();
    ASSERT_TRUE(site.wait(30s, [&] {
      const auto status = site.host(0).status();
      return status && status->members.size() == kHosts && all_synchronized(site);
    })) << logs(site);
    const auto ask = [&](ipc::Verb verb, std::string host) {
      ipc::Request request;
      request.verb = verb;
      request.host = std::move(host);
      return site.host(0).ask(request, 5s);
    };
    for (const ipc::Verb verb : {ipc::Verb::status, ipc::Verb::members, ipc::Verb::locks,
                                 ipc::Verb::doctor, ipc::Verb::now}) {
      const auto reply = ask(verb, "host2");
      EXPECT_TRUE(reply) << ipc::name_of(verb) << ": " << reply.error().message;
    }
    const auto status = ask(ipc::Verb::status, "host2");
    ASSERT_TRUE(status);
    EXPECT_EQ(status->body.at("status")->text_at("name"), "host2");
    const auto third = ask(ipc::Verb::status, "host3");
    EXPECT_EQ(third.has_value(), key);
    const std::string why = third ? "" : third.error().message;
    EXPECT_EQ(why.find("remote-read") != std::string::npos, !key) << why;
    EXPECT_FALSE(ask(ipc::Verb::status, "nowhere"));
    site.host(1).kill_all();
    const auto dead = ask(ipc::Verb::now, "host2");
    ASSERT_FALSE(dead);
    EXPECT_THAT(dead.error().message, testing::HasSubstr("no answer within 3 s"));
  }
}

}  // namespace
}  // namespace tempo::testbed::doctor_faults
