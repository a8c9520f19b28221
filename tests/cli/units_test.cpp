// The units of systemd, as systemd itself reads them.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "program.h"

namespace tempo {
namespace {

constexpr const char* kAnalyze = "/usr/bin/systemd-analyze";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(Units, AreUnderstood) {
  if (access(kAnalyze, X_OK) != 0) GTEST_SKIP() << "needs systemd-analyze";
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / fmt::format("tempo_units_test_{}", getpid());
  std::filesystem::create_directories(directory);
  Words words{"verify", "--man=no"};
  for (const std::string name : {"tempod.service", "tempo-wait-sync.service"}) {
    std::ostringstream text;
    text << std::ifstream(std::string(TEMPO_PACKAGING) + '/' + name).rdbuf();
    // The programs are where they are built.
    std::ofstream(directory / name)
        << (name == "tempod.service" ? replaced(text.str(), "/usr/sbin/tempod", TEMPO_TEMPOD)
                                     : replaced(text.str(), "/usr/bin/tempo", TEMPO_BINARY));
    words.push_back((directory / name).string());
  }
  const Ended ended = Child(words, kAnalyze).wait();
  std::filesystem::remove_all(directory);
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  // A key that is misspelt is only mentioned.
  EXPECT_EQ(count(ended.out + ended.err, "tempo"), 0U) << ended.out << ended.err;
}

}  // namespace
}  // namespace tempo
