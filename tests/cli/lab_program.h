// tempo-lab as a child process, and the JSON objects that it prints.
#pragma once

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "program.h"

namespace tempo {

inline Ended lab(std::string_view line) { return Child(words_of(line), TEMPO_LAB_BINARY).wait(); }

// The data that tempo-lab printed with --json, also with an exit status other than 0.
inline json data_in(const Ended& ended) {
  EXPECT_THAT(ended.err, ::testing::IsEmpty());
  return data_of(ended.out);
}

// The error that tempo-lab printed with --json; null: none.
inline json error_in(const Ended& ended) {
  EXPECT_THAT(ended.err, ::testing::IsEmpty());
  const json object = json::parse(ended.out, nullptr, false);
  return object.is_object() ? object.value("error", json{}) : json{};
}
inline std::string error_message(const Ended& ended) {
  const json error = error_in(ended);
  return error.is_object() ? error.value("message", "") : "";
}

// The data that tempo-lab prints; its exit status must be 0.
inline json lab_answer(std::string_view line) {
  const Ended ended = lab(line);
  EXPECT_EQ(ended.status, 0) << line << "\n" << ended.out << ended.err;
  EXPECT_TRUE(error_in(ended).is_null()) << line << "\n" << ended.out;
  return data_in(ended);
}

}  // namespace tempo
