// A JSON value that can be built, written, parsed and read.
//
// Objects keep their keys in the order of insertion. Invalid UTF-8 is written as U+FFFD, and
// numbers that are not finite are written as null. No function throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tempo {

class Json {
 public:
  static Json object();
  static Json array();
  static Result<Json> parse(std::string_view text);  // exactly one value; nothing may follow it
  Json(const Json& other);
  Json& operator=(const Json& other);
  Json(Json&&) noexcept;
  Json& operator=(Json&&) noexcept;
  ~Json();

  // Adds a member to an object. Returns *this, so that calls can be chained.
  Json& add(std::string_view key, std::uint64_t value);
  Json& add(std::string_view key, std::int64_t value);
  Json& add(std::string_view key, double value);
  Json& add(std::string_view key, bool value);
  Json& add(std::string_view key, std::string_view value);
  Json& add(std::string_view key, const char* value) { return add(key, std::string_view{value}); }
  Json& add(std::string_view key, const Json& value);
  Json& add_null(std::string_view key);
  // Appends an element to an array.
  Json& push(const Json& value);
  Json& push(std::uint64_t value);
  Json& push(std::string_view value);

  std::string text() const;  // indented, on several lines, with a newline at the end
  std::string line() const;  // on one line, without a newline

  bool is_object() const;
  bool is_array() const;
  bool is_null() const;
  // Keys of an object, in the order of insertion; empty for any other value.
  std::vector<std::string> keys() const;
  bool has(std::string_view key) const;
  // A member of an object; empty if it is absent or of another type. `number_at` also accepts
  // whole numbers; `whole_at` and `count_at` also accept a whole number in a string, because
  // integers that can exceed 2^53 are written as strings.
  std::optional<Json> at(std::string_view key) const;
  std::optional<bool> flag_at(std::string_view key) const;
  std::optional<std::int64_t> whole_at(std::string_view key) const;
  std::optional<std::uint64_t> count_at(std::string_view key) const;
  std::optional<double> number_at(std::string_view key) const;
  std::optional<std::string> text_at(std::string_view key) const;
  std::vector<Json> elements() const;          // elements of an array; empty for any other value
  std::optional<std::string> as_text() const;  // this value, if it is a string

 private:
  struct Value;
  explicit Json(std::unique_ptr<Value> value);
  std::unique_ptr<Value> value_;
};

}  // namespace tempo
