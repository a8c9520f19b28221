// `tempo-lab report` on all papers as a user runs it, and its page in a browser.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "lab_program.h"

namespace tempo {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Processor time of all finished children; other load on the machine does not affect it.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& span) {
    return static_cast<double>(span.tv_sec) + static_cast<double>(span.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Runs the report on all papers once for all tests of this file.
class Report : public ::testing::Test {
 public:
  static void SetUpTestSuite() {
    if (!directory_.empty()) return;  // both test suites run this
    std::atexit([] { fs::remove_all(directory_); });
    directory_ = fs::temp_directory_path() / fmt::format("tempo_report_test_{}", getpid());
    const double before = processor_seconds();
    ended_ = lab(fmt::format("report --quick --out {}", directory_.string()));
    processor_seconds_ = processor_seconds() - before;
  }

 protected:
  static fs::path page() { return directory_ / "report.html"; }

  static fs::path directory_;        // NOLINT: shared by the suite
  static Ended ended_;               // NOLINT: shared by the suite
  static double processor_seconds_;  // NOLINT: shared by the suite
};
fs::path Report::directory_;
Ended Report::ended_;
double Report::processor_seconds_ = 0;

TEST_F(Report, EveryClaimAgreesOrIsAnErratum) {
  EXPECT_EQ(ended_.status, 0) << ended_.out << ended_.err;
  const json results = json::parse(text_of(directory_ / "results.json"));
  EXPECT_EQ(results["disagrees"], 0);
  EXPECT_EQ(results["effort"], "quick");
  std::set<std::string> papers;
  int drawn = 0;  // errata with a counterexample; the others are numbers
  for (const json& claim : results["claims"]) {
    EXPECT_THAT(claim["verdict"], AnyOf("agrees", "erratum")) << claim.dump(2);
    papers.insert(claim["paper"]);
    drawn += claim["diagram"] != "" && claim["verdict"] == "erratum" ? 1 : 0;
  }
  EXPECT_EQ(papers, (std::set<std::string>{"tempo", "ring", "archimedean", "capacity"}));
  EXPECT_EQ(results["errata"], 26);
  EXPECT_EQ(drawn, 21);
  EXPECT_EQ(count(text_of(directory_ / "claims.csv"), "\n"), results["claims"].size() + 1);
}

// The processor time of the run, independent of the number of cores.
TEST_F(Report, TakesLessThanAMinuteWithQuick) {
  EXPECT_LT(processor_seconds_, 60);
  EXPECT_GT(processor_seconds_, 0.1) << "nothing was measured";
  EXPECT_EQ(count(ended_.out, " s of processor time\n"), 1U);
  fmt::print("tempo-lab report --quick: {:.1f} s of processor time\n", processor_seconds_);
}

TEST_F(Report, ContainsKnownFigures) {
  EXPECT_THAT(ended_.out, HasSubstr("2.557"));
  EXPECT_THAT(ended_.out, HasSubstr("3/8"));
}

TEST_F(Report, IsOneSmallSelfContainedPage) {
  EXPECT_LT(fs::file_size(page()), 2'000'000U);
  const std::string html = text_of(page());
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_EQ(count(html, "http"), 1U) << "the SVG namespace, which is not fetched";
}

TEST_F(Report, ReusesStoredExperiments) {
  const std::string before = text_of(directory_ / "results.json");
  const Ended again = lab(fmt::format("report --quick --out {}", directory_.string()));
  EXPECT_EQ(again.status, 0);
  const std::size_t experiments = count(again.out, "experiments from an earlier run");
  EXPECT_EQ(experiments, 1U) << again.out;
  EXPECT_EQ(text_of(directory_ / "results.json"), before);
}

// --- in a browser ---

constexpr const char* kBrowser = "/usr/bin/chromium";

Ended browse(const fs::path& profile, const Words& more) {
  Words words{"--headless",
              "--no-sandbox",
              "--disable-gpu",
              "--disable-quic",
              "--no-first-run",
              "--disable-background-networking",
              "--disable-component-update",
              "--disable-sync",
              "--hide-scrollbars",
              "--enable-logging=stderr",
              "--user-data-dir=" + profile.string()};
  words.insert(words.end(), more.begin(), more.end());
  return Child(words, kBrowser).wait();
}

class ReportPage : public Report {
 protected:
  void SetUp() override {
    if (!fs::exists(kBrowser)) GTEST_SKIP() << "no chromium";
    profile_ = directory_ / "profile";
  }
  void TearDown() override { fs::remove_all(profile_); }

  // A copy of the page with `more` inserted before its end, stored beside it.
  static std::string with(const std::string& more) {
    std::string html = text_of(page());
    const std::size_t end = html.rfind("</body>");
    EXPECT_NE(end, std::string::npos);
    html.insert(std::min(end, html.size()), more);
    const fs::path file = directory_ / "changed.html";
    std::ofstream(file) << html;
    return "file://" + file.string();
  }
  // Height of the page in pixels, in a window as wide as the screenshots.
  std::size_t height() const {
    const std::string address = with(
        "<script>addEventListener('load', () => { document.documentElement.dataset.height = "
        "document.documentElement.scrollHeight; });</script>");
    const Ended ended = browse(profile_, {kWindow, "--dump-dom", address});
    const std::string_view name = "data-height=\"";
    const std::size_t at = ended.out.find(name);
    EXPECT_NE(at, std::string::npos) << ended.err;
    return at == std::string::npos ? 0 : std::stoul(ended.out.substr(at + name.size()));
  }
  // The bytes of a screenshot of one window.
  std::string screenshot(const std::string& address, const Words& more) const {
    const fs::path file = directory_ / "shot.png";
    fs::remove(file);
    Words words{kWindow, "--screenshot=" + file.string()};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(address);
    const Ended ended = browse(profile_, words);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return text_of(file);
  }
  // Screenshots of the whole page, window by window; the last one ends at the end of the page.
  std::vector<std::string> pictures(const Words& more) const {
    std::vector<std::string> all;
    const std::size_t end = std::max(height(), kWindowHeight);
    for (std::size_t top = 0; top < end; top += kWindowHeight)
      all.push_back(screenshot(with(fmt::format("<style>html {{ margin-top: -{}px; }}</style>",
                                                std::min(top, end - kWindowHeight))),
                               more));
    return all;
  }

  static constexpr std::size_t kWindowHeight = 16'000;
  static constexpr const char* kWindow = "--window-size=1280,16000";
  fs::path profile_;
};

TEST_F(ReportPage, DrawsAllChartsWithoutErrors) {
  const Ended ended = browse(profile_, {"--dump-dom", "file://" + page().string()});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr("CONSOLE")));
  const std::size_t charts = count(ended.out, "<figure class=\"chart\"");
  EXPECT_GE(charts, 20U);
  EXPECT_EQ(count(ended.out, "data-drawn=\""), charts);
  EXPECT_EQ(count(ended.out, "data-drawn=\"0\""), 0U);
  EXPECT_THAT(text_of(page()), Not(HasSubstr("data-drawn"))) << "only the script sets it";
  EXPECT_GE(count(ended.out, "class=\"picture\""), 12U);
}

// Compares each screenshot with an empty page, which takes a few kilobytes. No window of the page
// is empty.
TEST_F(ReportPage, RendersInLightAndDarkToItsEnd) {
  const std::string empty = screenshot("data:text/html,", {});
  ASSERT_GT(empty.size(), 100U);
  const std::vector<std::string> light = pictures({});
  const std::vector<std::string> dark = pictures({"--blink-settings=preferredColorScheme=0"});
  EXPECT_GE(light.size(), 3U);
  ASSERT_EQ(dark.size(), light.size());
  for (std::size_t i = 0; i < light.size(); ++i) {
    EXPECT_GT(light[i].size(), 5 * empty.size()) << "from pixel " << i * kWindowHeight;
    EXPECT_GT(dark[i].size(), 5 * empty.size()) << "from pixel " << i * kWindowHeight;
    EXPECT_FALSE(light[i] == dark[i]) << "from pixel " << i * kWindowHeight;
    EXPECT_EQ(std::ranges::count(light, light[i]), 1)
        << "two equal screenshots: the page did not scroll";
  }
}

}  // namespace
}  // namespace tempo
