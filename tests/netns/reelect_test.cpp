// `reelect` asked on any member: real daemons that forward it to the master.
#include <algorithm>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "netns.h"

namespace tempo::testbed {
namespace {

constexpr Nanos kTimeout = 20s;  // of a client; tempod answers within 3 s

ipc::Request reelect_request() {
  ipc::Request request;
  request.verb = ipc::Verb::reelect;
  return request;
}

// The member of the reply that names master and network.
std::string reelected(const Result<ipc::Reply, client::Error>& reply) {
  if (!reply) return "refused: " + reply.error().message;
  const auto body = reply->body.at("reelect");
  if (!body) return "the reply does not name the master";
  return body->text_at("master").value_or("?") + " of " + body->text_at("network").value_or("?");
}

TEST_F(Netns, AFollowerForwardsReelectToTheMaster) {
  Site::Options sealed = options();
  sealed.key = true;
  Site site(sealed);
  populate(site, 3);
  ASSERT_TRUE(site.wait(20s, [&] { return heir_is_known(site); })) << logs(site);
  const auto first = static_cast<std::size_t>(site.master());
  const auto asker = (first + 1) % 3;
  EXPECT_EQ(reelected(site.host(asker).ask(reelect_request(), kTimeout)),
            site.host(first).name() + " of eth0")
      << logs(site);
  ASSERT_TRUE(site.wait(5s, [&] {
    const int master = site.master();
    return master >= 0 && master != static_cast<int>(first);
  })) << logs(site);
  const auto status = site.host(first).status();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->counters.at("reelect_honoured"), 1U);
  EXPECT_NE(site.host(first).log().find("reelect: eth0: this machine resigns at the request of " +
                                        site.host(asker).name()),
            std::string::npos)
      << logs(site);
}

TEST_F(Netns, AMasterResignsWhenAskedDirectly) {
  Site site(options());
  populate(site, 3);
  ASSERT_TRUE(site.wait(20s, [&] { return heir_is_known(site); })) << logs(site);
  const auto first = static_cast<std::size_t>(site.master());
  EXPECT_EQ(reelected(site.host(first).ask(reelect_request(), kTimeout)),
            site.host(first).name() + " of eth0")
      << logs(site);
  ASSERT_TRUE(site.wait(5s, [&] {
    const int master = site.master();
    return master >= 0 && master != static_cast<int>(first);
  })) << logs(site);
}

// Only one host may lead: it becomes master again, and the second request comes too soon.
TEST_F(Netns, AMasterHonoursOneRequestPerTenSeconds) {
  Site site(options("fast"));
  site.add();
  for (int i = 0; i < 2; ++i) site.add({.arguments = {"--set", "may-lead=false"}});
  site.start_all();
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() == 0; })) << logs(site);
  EXPECT_EQ(reelected(site.host(1).ask(reelect_request(), kTimeout)), "host1 of eth0");
  std::string answer;
  // Followers know its new mastership only after its next message.
  ASSERT_TRUE(site.wait(8s,
                        [&] {
                          answer = reelected(site.host(2).ask(reelect_request(), kTimeout));
                          return answer.find("try again in") != std::string::npos;
                        }))
      << answer << '\n'
      << logs(site);
  EXPECT_TRUE(answer.starts_with("refused: host1 refused: it resigned ")) << answer;
  EXPECT_EQ(site.host(0).status()->counters.at("reelect_honoured"), 1U);
  EXPECT_GE(site.host(0).status()->counters.at("reelect_refused"), 1U);
}

TEST_F(Netns, ReelectIsRefusedInTimeWhenTheMasterIsCutOff) {
  Site site(options());
  populate(site, 3);
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0 && all_synchronized(site); }))
      << logs(site);
  const auto first = static_cast<std::size_t>(site.master());
  const Host& asker = site.host((first + 1) % 3);
  site.host(first).set_link(false);
  const auto asked = std::chrono::steady_clock::now();
  const auto reply = asker.ask(reelect_request(), kTimeout);
  const auto took = std::chrono::steady_clock::now() - asked;
  ASSERT_FALSE(reply) << logs(site);
  EXPECT_EQ(reply.error().code, client::ErrorCode::refused);
  const std::string& name = site.host(first).name();
  EXPECT_EQ(reply.error().message,
            "the master " + name + " did not answer; try again, or run 'tempo reelect' on " + name)
      << logs(site);
  EXPECT_GE(took, 2900ms) << "it sends three times";
  EXPECT_LT(took, 9s);  // 3 s on an idle machine
}

TEST_F(Netns, ReelectIsRefusedWithoutAMaster) {
  Site site(options());
  site.add({.arguments = {"--set", "may-lead=false"}});
  site.start_all();
  ASSERT_TRUE(site.wait(10s, [&] { return site.host(0).status().has_value(); })) << logs(site);
  EXPECT_EQ(reelected(site.host(0).ask(reelect_request(), kTimeout)),
            "refused: no master on this network; an election is in progress");
}

// A gateway asks the master of the network whose time it follows, and says which one that is.
TEST_F(Netns, AGatewayAsksTheMasterThatItFollows) {
  Site::Options two = options();
  two.lans = 2;
  Site site(two);
  site.add({.lans = {0}});
  site.add({.lans = {1}});
  site.add({.lans = {0, 1}, .arguments = {"--set", "may-lead=false"}});
  site.start_all();
  ASSERT_TRUE(site.wait(40s, [&] {
    const auto gateway = site.host(2).status();
    return gateway && gateway->status == "synchronized" && !gateway->reference.empty();
  })) << logs(site);
  const auto gateway = site.host(2).status();
  const auto followed =
      std::ranges::find(gateway->networks, gateway->reference, &obs::NetworkView::master);
  ASSERT_NE(followed, gateway->networks.end()) << logs(site);
  EXPECT_EQ(reelected(site.host(2).ask(reelect_request(), kTimeout)),
            followed->master + " of " + followed->name)
      << logs(site);
}

}  // namespace
}  // namespace tempo::testbed
