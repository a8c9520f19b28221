// The scripts of a testdata/ directory as tests: each must give the answers written in it.
//
//     INSTANTIATE_TEST_SUITE_P(Testdata, Script, ::testing::ValuesIn(scripts_in(TEMPO_TESTDATA)),
//                              script_name);
//     TEST_P(Script, GivesTheAnswersWrittenInIt) { expect_answers(GetParam(), answered); }
//
// With TEMPO_REWRITE set, as in tools/rewrite, expect_answers writes the answers of this run into
// the script instead. A failure shows the lines that differ.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/result.h"

namespace tempo {

inline constexpr std::ptrdiff_t kMaxScriptLines = 80;

inline std::vector<std::filesystem::path> scripts_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.path().extension() == ".txt") found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

inline std::string script_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The name of the test of one script.
inline std::string script_name(const ::testing::TestParamInfo<std::filesystem::path>& script) {
  std::string name = script.param.stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
}

inline void expect_answers(const std::filesystem::path& path,
                           const std::function<Result<std::string>(std::string_view)>& answered) {
  const std::string text = script_text(path);
  // A script proves nothing unless it tells a story and asks for an answer.
  EXPECT_TRUE(text.starts_with("# ")) << path << " does not begin with a comment";
  EXPECT_NE(text.find("\n----\n"), std::string::npos) << path << " asks for no answer";
  EXPECT_LT(std::ranges::count(text, '\n'), kMaxScriptLines) << path << " is too long to read";
  const Result<std::string> answer = answered(text);
  ASSERT_TRUE(answer.has_value()) << path.filename().string() << " " << answer.error();
  if (std::getenv("TEMPO_REWRITE") == nullptr) {
    EXPECT_EQ(text, *answer) << "If this change is intended, run tools/rewrite.";
  } else if (text != *answer) {
    std::ofstream file(path);
    file << *answer;
    ASSERT_TRUE(file.flush().good()) << path;
  }
}

}  // namespace tempo
