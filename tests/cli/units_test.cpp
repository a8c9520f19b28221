// The units of the package, checked by systemd itself.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "api/settings.h"
#include "program.h"

namespace tempo {
namespace {

constexpr const char* kAnalyze = "/usr/bin/systemd-analyze";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

// The user and the group of tempod's worker.
TEST(Units, CreateTheUser) {
  constexpr const char* kSysusers = "/usr/bin/systemd-sysusers";
  if (access(kSysusers, X_OK) != 0) GTEST_SKIP() << "needs systemd-sysusers";
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / fmt::format("tempo_sysusers_test_{}", getpid());
  std::filesystem::create_directories(root / "etc");
  const Ended ended = Child({fmt::format("--root={}", root.string()),
                             std::string(TEMPO_PACKAGING) + "/tempo.sysusers"},
                            kSysusers)
                          .wait();
  const auto text_of = [&](const char* name) {
    std::ostringstream text;
    text << std::ifstream(root / "etc" / name).rdbuf();
    return text.str();
  };
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::string user = config::Settings{}.user;
  EXPECT_EQ(count('\n' + text_of("passwd"), '\n' + user + ":"), 1U) << text_of("passwd");
  EXPECT_EQ(count('\n' + text_of("group"), '\n' + user + ":"), 1U) << text_of("group");
  std::filesystem::remove_all(root);
}

TEST(Units, AreValid) {
  if (access(kAnalyze, X_OK) != 0) GTEST_SKIP() << "needs systemd-analyze";
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / fmt::format("tempo_units_test_{}", getpid());
  std::filesystem::create_directories(directory);
  Words words{"verify", "--man=no"};
  for (const std::string name : {"tempod.service", "tempo-wait-sync.service"}) {
    std::ostringstream text;
    text << std::ifstream(std::string(TEMPO_PACKAGING) + '/' + name).rdbuf();
    // The units name the installed programs; the test has the built ones.
    std::ofstream(directory / name)
        << (name == "tempod.service" ? replaced(text.str(), "/usr/sbin/tempod", TEMPO_TEMPOD)
                                     : replaced(text.str(), "/usr/bin/tempo", TEMPO_BINARY));
    words.push_back((directory / name).string());
  }
  std::filesystem::create_directories(directory / "tempod.service.d");
  std::filesystem::copy_file(std::string(TEMPO_PACKAGING) + "/tempod-alone.conf",
                             directory / "tempod.service.d" / "alone.conf");
  const Ended ended = Child(words, kAnalyze).wait();
  std::filesystem::remove_all(directory);
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  // systemd-analyze only warns about a misspelt key.
  EXPECT_EQ(count(ended.out + ended.err, "tempo"), 0U) << ended.out << ended.err;
}

}  // namespace
}  // namespace tempo
