// Reads the golden values of the tests in this directory.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "base/json.h"

namespace tempo::analysis {

inline Json golden(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Result<Json> json = Json::parse(text);
  if (!json) {
    ADD_FAILURE() << path << ": " << json.error();
    return Json::array();
  }
  return *json;
}

}  // namespace tempo::analysis
