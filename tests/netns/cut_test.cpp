// The clocks on both sides of a cut, read from their time pages: the intervals always meet, and at
// most one machine says that it leads the main part. Two minutes under `make soak`.
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/page_file.h"
#include "netns.h"
#include "tempo/time.h"

namespace tempo::testbed::cut {
namespace {

using Status = TimeStatus;

constexpr int kHosts = 5;
constexpr int kFar = 2;
constexpr Nanos kEvery = 10ms;

bool claims(const Now& now) {
  return now.status != Status::unsynchronized && now.status != Status::alone;
}

class Pages {
 public:
  explicit Pages(Site& site) {
    for (std::size_t i = 0; i < site.size(); ++i)
      if (auto page = TimePage::open(page::path_for(site.host(i).socket())))
        pages_.push_back(std::move(*page));
  }
  std::size_t size() const { return pages_.size(); }
  Now now(std::size_t i) const { return pages_[i].now(); }

  // Reads all pages one after the other, and again in the reverse order: an interval that ends
  // before an earlier reading begins does not meet it. A machine that leads in both turns led all
  // the time between.
  void judge() {
    const std::size_t all = pages_.size();
    std::vector<Now> seen;
    std::vector<bool> led(all);
    int leaders = 0;
    for (std::size_t turn = 0; turn < 2 * all; ++turn) {
      const bool back = turn >= all;
      const std::size_t i = back ? 2 * all - 1 - turn : turn;
      if (turn == all) seen.clear();
      const Now now = pages_[i].now();
      for (const Now& earlier : seen)
        if (claims(now) && claims(earlier) && earlier.generation == now.generation &&
            earlier.earliest > now.latest)
          broken_.push_back(fmt::format("a page is {} ns behind another one; status {} and {}",
                                        (earlier.earliest - now.latest).count(),
                                        static_cast<int>(now.status),
                                        static_cast<int>(earlier.status)));
      const bool leads = now.status == Status::leads;
      leaders += back && leads && led[i] ? 1 : 0;
      led[i] = leads;
      seen.push_back(now);
    }
    if (leaders > 1) broken_.emplace_back("two machines lead the main part");
    ++judged_;
  }
  // Judges for this long.
  void judge_for(Nanos span) {
    for (const auto end = std::chrono::steady_clock::now() + span;
         std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(kEvery))
      judge();
  }

  const std::vector<std::string>& broken() const { return broken_; }
  int judged() const { return judged_; }

 private:
  std::vector<TimePage> pages_;
  std::vector<std::string> broken_;
  int judged_ = 0;
};

TEST_F(Netns, IntervalsOnBothSidesOfACutAlwaysMeet) {
  const bool soak = std::getenv("TEMPO_SOAK") != nullptr;
  Site site(options());
  populate(site, kHosts, kFar);
  const auto settled = [&] {
    for (std::size_t i = 0; i < site.size(); ++i) {
      const auto status = site.host(i).status();
      if (!status || status->view_members != std::uint32_t{kHosts}) return false;
    }
    return one_root(site);
  };
  ASSERT_TRUE(site.wait(30s, settled)) << logs(site);
  Pages pages(site);
  ASSERT_EQ(pages.size(), site.size());
  pages.judge_for(1s);

  site.set_trunk(false);
  const auto apart = [&] {
    pages.judge();
    int leaders = 0;
    for (std::size_t i = 0; i < site.size(); ++i) {
      const Status status = pages.now(i).status;
      leaders += status == Status::leads ? 1 : 0;
      const bool far = i >= kHosts - kFar;
      if (far && (status == Status::leads || status == Status::synchronized)) return false;
    }
    return leaders == 1;
  };
  ASSERT_TRUE(site.wait(10s, apart)) << logs(site);
  pages.judge_for(soak ? 120s : 2s);
  EXPECT_TRUE(apart()) << logs(site);

  site.set_trunk(true);
  ASSERT_TRUE(site.wait(15s, [&] {
    pages.judge();
    return one_root(site);
  })) << logs(site);
  pages.judge_for(soak ? 30s : 1s);
  EXPECT_EQ(fmt::format("{}", fmt::join(pages.broken(), "\n")), "") << pages.judged() << " times\n"
                                                                    << logs(site);
}

}  // namespace
}  // namespace tempo::testbed::cut
