// Helpers of the configuration tests: settings, or mistakes as text.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/settings.h"

namespace tempo::config {

inline Settings good(std::string_view text) {
  auto settings = read_settings(text, "tempo.toml");
  if (settings) return *settings;
  for (const Mistake& mistake : settings.error())
    ADD_FAILURE() << mistake.where << ": " << mistake.what;
  return {};
}

// The mistakes as `where: what`.
inline std::vector<std::string> mistakes_in(
    const std::expected<Settings, std::vector<Mistake>>& settings) {
  std::vector<std::string> lines;
  if (!settings)
    for (const Mistake& mistake : settings.error())
      lines.push_back(mistake.where + ": " + mistake.what);
  return lines;
}
inline std::vector<std::string> bad(std::string_view text) {
  return mistakes_in(read_settings(text, "tempo.toml"));
}

inline std::vector<std::string> refused(const std::vector<std::string>& changes) {
  return mistakes_in(load_settings("/nonexistent/tempo.toml", false, changes));
}
inline Settings changed(const std::vector<std::string>& changes) {
  auto settings = load_settings("/nonexistent/tempo.toml", false, changes);
  EXPECT_THAT(mistakes_in(settings), ::testing::IsEmpty());
  return settings.value_or(Settings{});
}

}  // namespace tempo::config
