// The golden values, read by the tests beside them.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "base/json/json.h"

namespace tempo::analysis {

inline Json golden(const std::string& name) {
  std::ifstream file(std::string(TEMPO_TESTDATA) + "/" + name);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Result<Json> json = Json::parse(text);
  if (!json) {
    ADD_FAILURE() << name << ": " << json.error();
    return Json::array();
  }
  return *json;
}

}  // namespace tempo::analysis
