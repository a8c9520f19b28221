// The service around the protocol: hooks, reload, another user, IPv6.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/client.h"
#include "netns.h"

namespace tempo::testbed {
namespace {

using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Creates a hook that records its event, its user and its number of arguments; returns its path.
std::string make_hook(const Host& host) {
  std::string path = host.directory() + "/hook";
  std::ofstream(path) << fmt::format(
      "#!/bin/sh\necho \"$TEMPO_EVENT|$(id -un)|$#|$TEMPO_EVENT_TEXT\" >> {}/called\n",
      host.directory());
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  return path;
}
std::string called(const Host& host) { return text_of(host.directory() + "/called"); }

// Both sides of a partition elect a master; after it heals one finds the other and wins.
TEST_F(Netns, HooksAreCalledOnEvents) {
  Site site(options());
  for (int i = 0; i < 2; ++i)
    site.add({.far = i == 1,
              .user = "nobody",
              .arguments = {"--set", "bound-alarm-us=0.001", "--hook",
                            fmt::format("{}/{}/hook", site.directory(), i + 1)}});
  for (std::size_t i = 0; i < 2; ++i) make_hook(site.host(i));
  site.start_all();
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0 && all_synchronized(site); }))
      << logs(site);
  const auto first = static_cast<std::size_t>(site.master());
  const auto hooked = [&](std::size_t i, const std::string& what) {
    return called(site.host(i)).find(fmt::format("{}|nobody|0|", what)) != std::string::npos;
  };
  // The clock of the master is network time: it has no bound to exceed.
  ASSERT_TRUE(site.wait(
      10s, [&] { return hooked(first, "became-master") && hooked(1 - first, "bound-exceeded"); }))
      << called(site.host(0)) << called(site.host(1));
  EXPECT_FALSE(hooked(1 - first, "became-master"));
  EXPECT_THAT(called(site.host(first)),
              HasSubstr("became-master|nobody|0|eth0: this machine is master, epoch"));
  site.set_trunk(false);
  ASSERT_TRUE(site.wait(20s, [&] { return hooked(1 - first, "became-master"); })) << logs(site);
  site.set_trunk(true);
  ASSERT_TRUE(site.wait(10s,
                        [&] {
                          return (hooked(0, "two-masters") || hooked(1, "two-masters")) &&
                                 (hooked(0, "lost-master") || hooked(1, "lost-master"));
                        }))
      << called(site.host(0)) << called(site.host(1)) << logs(site);
}

// A dead worker cannot report its death: the parent does.
TEST_F(Netns, TheHookIsCalledWhenTheWorkerDies) {
  Site site(options());
  const Host& host = site.add({.arguments = {"--hook", fmt::format("{}/1/hook", site.directory()),
                                             "--set", "hook-user=\"daemon\""}});
  make_hook(host);
  site.start_all();
  ASSERT_TRUE(site.wait(20s, [&] {
    return called(host).find("became-master|daemon|0|") != std::string::npos;
  })) << logs(site);
  host.kill_worker();
  ASSERT_TRUE(site.wait(5s, [&] {
    return called(host).find("lost-master|daemon|0|the worker died") != std::string::npos;
  })) << called(host);
}

TEST_F(Netns, ReloadsSettings) {
  Site::Options sealed = options();
  sealed.key = true;
  Site site(sealed);
  for (int i = 0; i < 2; ++i)
    site.add({.user = "nobody",
              .arguments = {"--config", fmt::format("{}/{}/toml", site.directory(), i + 1)}});
  const auto configure = [&](std::size_t i, const std::string& text) {
    std::ofstream(site.host(i).directory() + "/toml") << text;
  };
  for (std::size_t i = 0; i < 2; ++i) configure(i, "");
  site.start_all();
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0; })) << logs(site);
  const auto first = static_cast<std::size_t>(site.master());
  // A second key, readable only by root, and a master that may no longer lead.
  std::ofstream(site.directory() + "/key", std::ios::app)
      << "tempo-key-1 " << std::string(63, 'c') << "d open\n";
  configure(first, "may-lead = false\npriority = 3\n");
  for (std::size_t i = 0; i < 2; ++i) site.host(i).reload();
  ASSERT_TRUE(site.wait(10s, [&] {
    const int master = site.master();
    return master >= 0 && master != static_cast<int>(first);
  })) << logs(site);
  EXPECT_THAT(site.host(first).log(), HasSubstr("reloaded: 2 cluster keys; changed: may-lead"));
  EXPECT_THAT(site.host(first).log(), HasSubstr("reload: restart tempod to change priority"));
  for (std::size_t i = 0; i < 2; ++i) {
    const auto status = site.host(i).status();
    ASSERT_TRUE(status);
    EXPECT_EQ(status->keys, 2U);
    EXPECT_EQ(status->may_lead, i != first);
  }
  // A mistake changes nothing.
  configure(first, "may-lead = true\nlog-level = 7\n");
  site.host(first).reload();
  ASSERT_TRUE(site.wait(10s, [&] {
    return site.host(first).log().find("reload: nothing was changed") != std::string::npos;
  })) << logs(site);
  EXPECT_FALSE(site.host(first).status()->may_lead);
}

// Every member reports its findings, here the missing key; members that do not answer are listed.
TEST_F(Netns, CollectsFindingsOfAllMembers) {
  Site site(options());
  populate(site, 3);
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0 && all_synchronized(site); }))
      << logs(site);
  const auto ask = [&] {
    auto client = client::Client::connect(site.host(0).socket(), 5s);
    EXPECT_TRUE(client);
    ipc::Request request;
    request.verb = ipc::Verb::doctor;
    request.all = true;
    const auto reply = client->ask(request);
    EXPECT_TRUE(reply);
    std::map<std::string, ipc::MemberFindings> all;
    const auto members = ipc::members_findings_of(*reply);
    EXPECT_TRUE(members);
    for (const ipc::MemberFindings& member : *members) all[member.name] = member;
    return all;
  };
  auto all = ask();
  ASSERT_EQ(all.size(), 2U);
  for (const std::string name : {"host2", "host3"}) {
    // The tests run as root.
    ASSERT_EQ(all[name].findings.size(), 2U) << name;
    EXPECT_EQ(all[name].findings[0].level, "note");
    EXPECT_EQ(all[name].findings[0].code, "T017");
    EXPECT_THAT(all[name].findings[0].what, testing::StartsWith("no key: any machine on"));
    EXPECT_EQ(all[name].findings[1].code, "T034");
    EXPECT_EQ(all[name].missing, 0U);
  }
  site.host(2).kill_all();
  std::this_thread::sleep_for(1s);  // a question is not repeated while one is in progress
  all = ask();
  EXPECT_TRUE(all["host2"].answered);
  EXPECT_FALSE(all["host3"].answered);
}

TEST_F(Netns, HostsWithOnlyIpv6FindEachOther) {
  Site site(options());
  for (int i = 0; i < 3; ++i) site.add({.offset = i * 100ms, .ipv6 = true});
  site.start_all();
  ASSERT_TRUE(site.wait(20s, [&] {
    const auto spread = site.spread();
    return site.master() >= 0 && all_synchronized(site) && spread && *spread < 1ms;
  })) << logs(site);
  // The master knows all members; a follower that started late may have missed a datagram of
  // another one.
  const int master = site.master();
  ASSERT_GE(master, 0);
  const auto status = site.host(static_cast<std::size_t>(master)).status();
  ASSERT_EQ(status->members.size(), 3U);
  for (const obs::MemberView& member : status->members)
    EXPECT_TRUE(member.self || member.address.starts_with("fe80::")) << member.address;
}

std::string field(const std::string& status, const std::string& name) {
  const std::size_t at = status.find('\n' + name + ":\t");
  if (at == std::string::npos) return "missing";
  const std::size_t begin = at + name.size() + 3;
  return status.substr(begin, status.find('\n', begin) - begin);
}

// Started as root: the worker runs as another user and can only bind a low port.
TEST_F(Netns, TheWorkerDropsItsPrivileges) {
  Site::Options urgent = options();
  urgent.realtime = true;
  Site site(urgent);
  const Host& host = site.add({.user = "nobody"});
  site.start_all();
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0; })) << logs(site);
  const std::string worker = text_of(fmt::format("/proc/{}/status", host.worker()));
  EXPECT_THAT(field(worker, "Uid"), testing::StartsWith("65534\t65534\t65534")) << worker;
  EXPECT_THAT(field(worker, "Gid"), testing::StartsWith("65534\t65534\t65534"));
  constexpr auto kBindLowPort = "0000000000000400";
  EXPECT_EQ(field(worker, "CapPrm"), kBindLowPort);
  EXPECT_EQ(field(worker, "CapEff"), kBindLowPort);
  EXPECT_EQ(field(worker, "CapInh"), "0000000000000000");
  EXPECT_EQ(field(worker, "CapAmb"), "0000000000000000");
  EXPECT_EQ(field(worker, "CapBnd"), "0000000000000000");
  EXPECT_EQ(field(worker, "NoNewPrivs"), "1");
  EXPECT_EQ(field(worker, "Seccomp"), "2");
  EXPECT_EQ(::sched_getscheduler(host.worker()), SCHED_FIFO);
  EXPECT_EQ(::sched_getscheduler(host.parent()), SCHED_FIFO | SCHED_RESET_ON_FORK);
}

// As packaged: the directory belongs to root, the worker has another user, and it is killed.
TEST_F(Netns, TheRateSurvivesAKill) {
  Site site(options());
  const std::string state = site.directory() + "/state";
  std::filesystem::create_directories(state);
  std::filesystem::permissions(state, std::filesystem::perms(0755));
  site.add();
  Host& drifting = site.add(
      {.drift = 80e-6, .user = "nobody", .state = state, .arguments = {"--set", "may-lead=false"}});
  site.start_all();
  // Rate in the state file, in ppm.
  const auto saved_rate = [&] {
    const std::string text = text_of(state + "/state");
    const std::size_t at = text.find("rate_ppt ");
    return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + 9, nullptr) * 1e-6;
  };
  const auto close_to_its_drift = testing::DoubleNear(-80, 3);
  ASSERT_TRUE(site.wait(30s, [&] { return testing::Value(saved_rate(), close_to_its_drift); }))
      << saved_rate() << logs(site);
  drifting.kill_all();
  site.host(0).kill_all();
  EXPECT_THAT(saved_rate(), close_to_its_drift);
  // Alone it cannot have learned a rate since.
  drifting.start();
  ASSERT_TRUE(site.wait(10s, [&] { return drifting.status().has_value(); })) << logs(site);
  EXPECT_EQ(drifting.status()->status, "unsynchronized");
  EXPECT_THAT(drifting.status()->rate_ppm, close_to_its_drift);
  // The next worker of the same parent knows it too.
  const pid_t first = drifting.worker();
  drifting.kill_worker();
  ASSERT_TRUE(site.wait(10s, [&] {
    return drifting.worker() > 0 && drifting.worker() != first && drifting.status();
  })) << logs(site);
  EXPECT_THAT(drifting.status()->rate_ppm, close_to_its_drift);
}

// Without a free descriptor the daemon took its networks for gone, and accept() failed in a loop.
TEST_F(Netns, RunsOutOfDescriptorsGracefully) {
  Site site(options());
  populate(site, 2);
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0; })) << logs(site);
  const Host& host = site.host(0);
  const pid_t worker = host.worker();
  rlimit before{};
  ASSERT_EQ(::prlimit(worker, RLIMIT_NOFILE, nullptr, &before), 0);
  rlimit full = before;
  full.rlim_cur = 0;
  while (std::filesystem::exists(
      std::filesystem::symlink_status(fmt::format("/proc/{}/fd/{}", worker, full.rlim_cur))))
    ++full.rlim_cur;
  ASSERT_EQ(::prlimit(worker, RLIMIT_NOFILE, &full, nullptr), 0);
  // An address appears. The daemon must list its networks, and cannot.
  ASSERT_EQ(run({"ip", "-n", host.space(), "address", "add", "10.98.0.1/24", "dev", "eth0"}), 0);
  // Clients are disconnected, not left waiting. Each answer is a later round of the loop.
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(host.status());
  ASSERT_EQ(::prlimit(worker, RLIMIT_NOFILE, &before, nullptr), 0);
  ASSERT_TRUE(site.wait(10s, [&] {
    const auto status = host.status();
    return status && status->networks.size() == 2;
  })) << logs(site);
  EXPECT_EQ(host.worker(), worker);
  EXPECT_EQ(host.log().find("network-down"), std::string::npos) << host.log();
}

// A UDP socket of another program on the port of tempod, in that namespace; it stays there.
int occupy(const std::string& space, const std::string& address) {
  const int here = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  const int there = ::open(("/run/netns/" + space).c_str(), O_RDONLY | O_CLOEXEC);
  sockaddr_in taken{};
  taken.sin_family = AF_INET;
  taken.sin_port = htons(525);
  ::inet_pton(AF_INET, address.c_str(), &taken.sin_addr);
  int end =
      ::setns(there, CLONE_NEWNET) == 0 ? ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
  if (::bind(end, reinterpret_cast<const sockaddr*>(&taken), sizeof taken) != 0) end = -1;
  if (::setns(here, CLONE_NEWNET) != 0) std::abort();
  ::close(there);
  ::close(here);
  return end;
}

// A failing bind was retried every second without an end, and one warning in the log was all.
TEST_F(Netns, ReportsANetworkThatItCannotUse) {
  Site site(options());
  Host& host = site.add();
  const int other = occupy(host.space(), host.address());
  ASSERT_GE(other, 0);
  host.start();
  const auto warned = [&] {
    const auto status = host.status();
    return status && std::ranges::any_of(status->warnings, [](const std::string& warning) {
             return warning.find("another program uses this port: stop it") != std::string::npos;
           });
  };
  ASSERT_TRUE(site.wait(10s, warned)) << logs(site);
  EXPECT_THAT(host.log(), HasSubstr("error: cannot use a network: eth0"));
  ::close(other);
  ASSERT_TRUE(site.wait(20s, [&] {
    const auto status = host.status();
    return status && status->networks.size() == 1 && !warned();
  })) << logs(site);
}

}  // namespace
}  // namespace tempo::testbed
