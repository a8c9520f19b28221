// `tempo configure expect`: an operator chooses the voters on one machine, and no configuration
// says so anywhere.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netns.h"

namespace tempo::testbed {
namespace {

using testing::HasSubstr;

class Nomination : public Netns {
 protected:
  // Runs `tempo` beside a host; its exit status.
  static int tempo(const Host& host, std::vector<std::string> words) {
    words.insert(words.begin(), TEMPO_BINARY);
    words.insert(words.end(), {"--socket", host.socket()});
    return run(words);
  }
  static std::string locks(const Host& host) {
    ipc::Request request;
    request.verb = ipc::Verb::locks;
    const auto reply = host.ask(request, 5s);
    if (!reply) return reply.error().message;
    const auto view = ipc::locks_view_of(*reply);
    return view ? view->guarantee : view.error();
  }
  static bool all_say(Site& site, const std::string& text) {
    for (std::size_t i = 0; i < site.size(); ++i)
      if (!locks(site.host(i)).starts_with(text)) return false;
    return true;
  }
};

TEST_F(Nomination, OneMachineChoosesTheVotersForAll) {
  Site site(options());
  populate(site, 4);
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0; })) << logs(site);
  EXPECT_THAT(locks(site.host(1)), HasSubstr("tempo configure expect"));
  ASSERT_TRUE(site.wait(20s, [&] {
    return tempo(site.host(1), {"configure", "expect", "3", "--yes"}) == 0;
  })) << logs(site);
  ASSERT_TRUE(site.wait(20s, [&] { return all_say(site, "3 voters"); })) << logs(site);

  // They are in the records, and not in a configuration.
  for (std::size_t i = 0; i < site.size(); ++i) site.host(i).stop();
  site.start_all();
  ASSERT_TRUE(site.wait(30s, [&] { return all_say(site, "3 voters"); })) << logs(site);
  EXPECT_EQ(tempo(site.host(3), {"configure", "expect", "3", "--yes"}), 0) << "nothing to do";
  EXPECT_EQ(tempo(site.host(3), {"configure", "expect", "2", "--yes"}), 1) << "forget one by name";
  EXPECT_EQ(tempo(site.host(3), {"configure", "expect", "4", "--yes"}), 0) << logs(site);
  ASSERT_TRUE(site.wait(20s, [&] { return all_say(site, "4 voters"); })) << logs(site);
}

// The other side could choose voters of its own.
TEST_F(Nomination, NotMoreThanHalfOfTheMachinesChooseNone) {
  Site site(options());
  populate(site, 4, 2);
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0; })) << logs(site);
  site.set_trunk(false);
  ASSERT_TRUE(site.wait(20s, [&] {
    const auto status = site.host(0).status();
    return status && std::ranges::count(status->members, "silent", &obs::MemberView::state) == 2;
  })) << logs(site);
  EXPECT_EQ(tempo(site.host(0), {"configure", "expect", "2", "--yes"}), 4);
  EXPECT_THAT(locks(site.host(0)), HasSubstr("tempo configure expect"));
}

}  // namespace
}  // namespace tempo::testbed
