// tempo-lab as a child process, and the data of the JSON objects that programs print.
#pragma once

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "program.h"

namespace tempo {

inline Ended lab(std::string_view line) { return Child(words_of(line), TEMPO_LAB_BINARY).wait(); }

// The object {"version": 1, "data": ..., "error": ...} that a program printed with --json.
inline json object_in(const Ended& ended) {
  EXPECT_THAT(ended.err, ::testing::IsEmpty());
  json object = json::parse(ended.out, nullptr, false);
  EXPECT_TRUE(object.is_object() && object.value("version", 0) == 1) << ended.out;
  return object.is_object() ? object : json::object();
}

// Its data, also of a program that failed.
inline json data_in(const Ended& ended) { return object_in(ended).value("data", json()); }

// The data that tempo-lab prints after success.
inline json lab_answer(std::string_view line) {
  const Ended ended = lab(line);
  EXPECT_EQ(ended.status, 0) << line << "\n" << ended.out << ended.err;
  const json object = object_in(ended);
  EXPECT_FALSE(object.contains("error")) << line << "\n" << ended.out;
  return object.value("data", json());
}

// The message of the error that tempo-lab prints with --json.
inline std::string error_message(const Ended& ended) {
  return object_in(ended).value("/error/message"_json_pointer, std::string());
}

}  // namespace tempo
