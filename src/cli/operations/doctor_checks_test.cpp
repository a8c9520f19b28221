// Patients built in a directory: what the doctor finds, and what it says to do.
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

class Patient {
 public:
  Patient()
      : root_(std::filesystem::temp_directory_path() /
              ("tempo_doctor_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~Patient() { std::filesystem::remove_all(root_); }
  Patient(const Patient&) = delete;
  Patient& operator=(const Patient&) = delete;

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

std::vector<std::string> told(const Findings& findings) {
  std::vector<std::string> lines;
  for (const ipc::Finding& finding : findings) {
    lines.push_back(finding.level + ": " + finding.what);
    // What is wrong has a cure, what is right needs none.
    EXPECT_EQ(finding.cure.empty(), finding.level == "ok") << finding.what;
  }
  return lines;
}

TEST(Doctor, FindsRivalsForTheClock) {
  const Patient patient;
  patient.file("1/comm", "systemd\n");
  patient.file("self/comm", "chronyd\n");
  config::Settings settings;
  EXPECT_THAT(told(rival_findings(patient.root(), settings)),
              ElementsAre("ok: no other program steers the clock"));
  patient.file("77/comm", "chronyd\n");
  patient.file("78/comm", "systemd-timesyn\n");
  patient.file("79/comm", "timed-out\n");
  const auto findings = rival_findings(patient.root(), settings);
  EXPECT_THAT(told(findings),
              ElementsAre("problem: chrony (process 77) steers the clock too",
                          "problem: systemd-timesyncd (process 78) steers the clock too"));
  EXPECT_THAT(findings[1].cure, HasSubstr("systemctl disable --now systemd-timesyncd"));
}

TEST(Doctor, CallsNobodyARivalForAClockThatIsNotSteered) {
  const Patient patient;
  config::Settings settings;
  settings.clock = config::ClockKind::none;
  settings.trusted = true;
  EXPECT_THAT(told(rival_findings(patient.root(), settings)),
              ElementsAre(HasSubstr("problem: this machine is to carry UTC")));
  patient.file("77/comm", "chronyd\n");
  EXPECT_THAT(told(rival_findings(patient.root(), settings)),
              ElementsAre("ok: chrony (process 77) steers the clock, and tempod does not"));
  settings.trusted = false;
  EXPECT_THAT(told(rival_findings(patient.root(), settings)),
              ElementsAre("ok: chrony (process 77) steers the clock, and tempod does not"));
}

TEST(Doctor, LooksAtInterfaces) {
  const Patient patient;
  config::Settings settings;
  EXPECT_THAT(told(interface_findings(patient.root(), settings)),
              ElementsAre("problem: no interface is up that can broadcast"));
  patient.interface("lo", "0x9\n", "unknown\n");
  patient.interface("eth0", "0x1003\n", "up\n");
  patient.interface("eth1", "0x1002\n", "down\n");
  patient.interface("eth2", "0x1003\n", "down\n");
  patient.interface("tun0", "0x10d1\n", "unknown\n");
  EXPECT_THAT(broadcast_interfaces(patient.root()), ElementsAre("eth0", "eth2"));
  EXPECT_THAT(told(interface_findings(patient.root(), settings)),
              ElementsAre("ok: interface eth0 is up and can broadcast",
                          "note: interface eth2 is up but has no link"));
  settings.interfaces = {"eth0", "eth1", "eth9"};
  EXPECT_THAT(told(interface_findings(patient.root(), settings)),
              ElementsAre("problem: interface eth1 is down or cannot broadcast",
                          "problem: there is no interface eth9",
                          "ok: interface eth0 is up and can broadcast"));
  settings.peers = {"192.0.2.7"};
  EXPECT_EQ(told(interface_findings(patient.root(), settings)).size(), 1U);
}

TEST(Doctor, LooksAtThePort) {
  const Patient patient;
  EXPECT_THAT(told(port_findings(patient.root(), 525, false)),
              ElementsAre("ok: UDP port 525 is free"));
  EXPECT_THAT(told(port_findings(patient.root(), 525, true)),
              ElementsAre("problem: tempod runs, but UDP port 525 is not open"));
  patient.file("net/udp",
               "  sl  local_address rem_address   st tx_queue rx_queue\n"
               "  12: 00000000:020E 00000000:020D 07 00000000:00000000\n");
  EXPECT_THAT(told(port_findings(patient.root(), 525, false)),
              ElementsAre("ok: UDP port 525 is free"));
  patient.file("net/udp6",
               "  13: 00000000000000000000000000000000:020D 00000000:0000 07 00000000:00000000\n");
  EXPECT_THAT(told(port_findings(patient.root(), 525, false)),
              ElementsAre("problem: UDP port 525 is taken by another program"));
  EXPECT_THAT(told(port_findings(patient.root(), 525, true)),
              ElementsAre("ok: UDP port 525 is open"));
}

TEST(Doctor, ReadsFirewallRules) {
  const std::string head = "table inet filter {\n chain input { type filter hook input priority 0;";
  EXPECT_THAT(told(firewall_findings("", 525)), ElementsAre("ok: no firewall rules (nft)"));
  EXPECT_THAT(told(firewall_findings(head + " policy accept; } }", 525)),
              ElementsAre("ok: the firewall (nft) drops nothing"));
  EXPECT_THAT(told(firewall_findings(head + " policy drop; udp dport 525 accept } }", 525)),
              ElementsAre("ok: the firewall (nft) knows UDP port 525"));
  EXPECT_THAT(told(firewall_findings(head + " policy drop; tcp dport 22 accept } }", 525)),
              ElementsAre("note: a firewall (nft) drops packets and has no rule for UDP port 525"));
}

TEST(Doctor, LooksAtTheKey) {
  const Patient patient;
  config::Settings settings;
  settings.key_file = patient.root() + "/key";
  EXPECT_THAT(told(key_findings(settings)),
              ElementsAre("note: no key: anybody on this network can set the time"));
  settings.key_file_given = true;
  EXPECT_THAT(told(key_findings(settings)), ElementsAre(HasSubstr("problem: the key file")));
  patient.file("key", auth::key_line(auth::new_key()) + "\n");
  chmod(settings.key_file.c_str(), 0640);
  EXPECT_THAT(
      told(key_findings(settings)),
      ElementsAre("problem: the key file " + settings.key_file + " is open to others (mode 0640)"));
  chmod(settings.key_file.c_str(), 0600);
  EXPECT_THAT(told(key_findings(settings)), ElementsAre("ok: the key file " + settings.key_file +
                                                        " has 1 key and is closed to others"));
  patient.file("key", "tempo-key-1 12\n");
  EXPECT_THAT(told(key_findings(settings)), ElementsAre(HasSubstr("is broken: line 1")));
}

// Whatever the host has, there is an answer.
TEST(Doctor, AsksAboutStamps) {
  EXPECT_EQ(stamp_findings("lo").size(), 1U);
  EXPECT_THAT(told(stamp_findings("nonexistent0")),
              ElementsAre("note: interface nonexistent0 does not say whether it stamps datagrams"));
}

}  // namespace
}  // namespace tempo::cli
