// Checks of `tempo doctor` against directories that stand for /proc and /sys.
#include "cli/operations/doctor_checks.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/auth/keyring.h"

namespace tempo::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FakeSystem {
 public:
  FakeSystem()
      : root_(std::filesystem::temp_directory_path() /
              ("tempo_doctor_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~FakeSystem() { std::filesystem::remove_all(root_); }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;

  std::string root() const { return root_.string(); }
  std::string file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return (root_ / path).string();
  }
  void interface(const std::string& name, const char* flags, const char* state) const {
    file("class/net/" + name + "/flags", flags);
    file("class/net/" + name + "/operstate", state);
  }

 private:
  std::filesystem::path root_;
};

std::vector<std::string> lines_of(const Findings& findings) {
  std::vector<std::string> lines;
  for (const ipc::Finding& finding : findings) {
    lines.push_back(finding.level + ": " + finding.what);
    // Every problem and note has a cure, and nothing else has one.
    EXPECT_EQ(finding.cure.empty(), finding.level == "ok") << finding.what;
    // The same holds for a code.
    EXPECT_EQ(finding.code.empty(), finding.level == "ok") << finding.what;
  }
  return lines;
}

TEST(Doctor, FindsOtherProgramsThatSteerTheClock) {
  const FakeSystem system;
  system.file("1/comm", "systemd\n");
  system.file("self/comm", "chronyd\n");
  config::Settings settings;
  EXPECT_THAT(lines_of(rival_findings(system.root(), settings)),
              ElementsAre("ok: no other program steers the clock"));
  system.file("77/comm", "chronyd\n");
  system.file("78/comm", "systemd-timesyn\n");
  system.file("79/comm", "timed-out\n");
  const auto findings = rival_findings(system.root(), settings);
  EXPECT_THAT(lines_of(findings),
              ElementsAre("problem: chrony (process 77) also steers the clock",
                          "problem: systemd-timesyncd (process 78) also steers the clock"));
  EXPECT_THAT(findings[1].cure, HasSubstr("sudo tempo adopt"));
}

TEST(Doctor, AcceptsOtherProgramsIfTempodDoesNotSteerTheClock) {
  const FakeSystem system;
  config::Settings settings;
  settings.clock = config::ClockKind::none;
  settings.trusted = true;
  EXPECT_THAT(lines_of(rival_findings(system.root(), settings)),
              ElementsAre(HasSubstr("problem: this machine is configured as trusted")));
  system.file("77/comm", "chronyd\n");
  EXPECT_THAT(lines_of(rival_findings(system.root(), settings)),
              ElementsAre("ok: chrony (process 77) steers the clock; tempod does not"));
  settings.trusted = false;
  EXPECT_THAT(lines_of(rival_findings(system.root(), settings)),
              ElementsAre("ok: chrony (process 77) steers the clock; tempod does not"));
}

TEST(Doctor, ChecksInterfaces) {
  const FakeSystem system;
  config::Settings settings;
  EXPECT_THAT(lines_of(interface_findings(system.root(), settings)),
              ElementsAre("problem: no interface that can broadcast is up"));
  system.interface("lo", "0x9\n", "unknown\n");
  system.interface("eth0", "0x1003\n", "up\n");
  system.interface("eth1", "0x1002\n", "down\n");
  system.interface("eth2", "0x1003\n", "down\n");
  system.interface("tun0", "0x10d1\n", "unknown\n");
  EXPECT_THAT(broadcast_interfaces(system.root()), ElementsAre("eth0", "eth2"));
  EXPECT_THAT(lines_of(interface_findings(system.root(), settings)),
              ElementsAre("ok: interface eth0 is up and can broadcast",
                          "note: interface eth2 is up but has no link"));
  settings.interfaces = {"eth0", "eth1", "eth9"};
  EXPECT_THAT(lines_of(interface_findings(system.root(), settings)),
              ElementsAre("problem: interface eth1 is down or cannot broadcast",
                          "problem: interface eth9 does not exist",
                          "ok: interface eth0 is up and can broadcast"));
  settings.interfaces = {"eth2"};
  EXPECT_THAT(lines_of(interface_findings(system.root(), settings)),
              ElementsAre("problem: interface eth2 is up but has no link"));
  settings.peers = {"192.0.2.7"};
  EXPECT_EQ(lines_of(interface_findings(system.root(), settings)).size(), 1U);
}

TEST(Doctor, ChecksThePort) {
  const FakeSystem system;
  EXPECT_THAT(lines_of(port_findings(system.root(), 525, false)),
              ElementsAre("ok: UDP port 525 is free"));
  EXPECT_THAT(lines_of(port_findings(system.root(), 525, true)),
              ElementsAre("problem: tempod runs, but UDP port 525 is not open"));
  system.file("net/udp",
              "  sl  local_address rem_address   st tx_queue rx_queue\n"
              "  12: 00000000:020E 00000000:020D 07 00000000:00000000\n");
  EXPECT_THAT(lines_of(port_findings(system.root(), 525, false)),
              ElementsAre("ok: UDP port 525 is free"));
  system.file("net/udp6",
              "  13: 00000000000000000000000000000000:020D 00000000:0000 07 00000000:00000000\n");
  EXPECT_THAT(lines_of(port_findings(system.root(), 525, false)),
              ElementsAre("problem: another program uses UDP port 525"));
  EXPECT_THAT(lines_of(port_findings(system.root(), 525, true)),
              ElementsAre("ok: UDP port 525 is open"));
}

TEST(Doctor, ReadsFirewallRules) {
  const std::string head = "table inet filter {\n chain input { type filter hook input priority 0;";
  EXPECT_THAT(lines_of(firewall_findings("", 525)), ElementsAre("ok: no firewall rules (nft)"));
  EXPECT_THAT(lines_of(firewall_findings(head + " policy accept; } }", 525)),
              ElementsAre("ok: the firewall (nft) drops nothing"));
  EXPECT_THAT(lines_of(firewall_findings(head + " policy drop; udp dport 525 accept } }", 525)),
              ElementsAre("ok: the firewall (nft) has a rule for UDP port 525"));
  EXPECT_THAT(lines_of(firewall_findings(head + " policy drop; tcp dport 22 accept } }", 525)),
              ElementsAre("note: a firewall (nft) drops packets and has no rule for UDP port 525"));
}

TEST(Doctor, ChecksTheKey) {
  const FakeSystem system;
  config::Settings settings;
  settings.key_file = system.root() + "/key";
  EXPECT_THAT(lines_of(key_findings(settings)),
              ElementsAre("note: no key: any machine on this network can set the time"));
  settings.key_file_given = true;
  EXPECT_THAT(lines_of(key_findings(settings)), ElementsAre(HasSubstr("problem: the key file")));
  system.file("key", auth::text_of({.key = auth::new_key()}) + "\n");
  chmod(settings.key_file.c_str(), 0640);
  EXPECT_THAT(lines_of(key_findings(settings)),
              ElementsAre("problem: other users can read the key file " + settings.key_file +
                          " (mode 0640)"));
  chmod(settings.key_file.c_str(), 0600);
  EXPECT_THAT(lines_of(key_findings(settings)),
              ElementsAre("ok: the key file " + settings.key_file +
                          " has 1 key; only its owner can read it"));
  system.file("key", "no-key open\n" + auth::text_of({.key = auth::new_key()}) + "\n");
  EXPECT_THAT(lines_of(key_findings(settings)),
              ElementsAre(HasSubstr("problem: the key file " + settings.key_file +
                                    " accepts datagrams without a key")));
  system.file("key", "tempo-key-1 12\n");
  EXPECT_THAT(lines_of(key_findings(settings)), ElementsAre(HasSubstr("is invalid: line 1")));
}

TEST(Doctor, ReportsTimestampsOfEveryInterface) {
  EXPECT_EQ(stamp_findings("lo").size(), 1U);
  EXPECT_THAT(
      lines_of(stamp_findings("nonexistent0")),
      ElementsAre("note: interface nonexistent0 does not report its timestamping capabilities"));
}

}  // namespace
}  // namespace tempo::cli
