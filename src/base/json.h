// JSON values: built in order and written, or parsed and read.
//
// Keys keep the order they were added in. Bytes that are not UTF-8 and numbers that are not finite
// cannot be written: the former become U+FFFD, the latter null. Nothing here throws.
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
  static Result<Json> parse(std::string_view text);  // one value and nothing behind it
  Json(const Json& other);
  Json& operator=(const Json& other);
  Json(Json&&) noexcept;
  Json& operator=(Json&&) noexcept;
  ~Json();

  // To an object. Returns *this, so that additions chain.
  Json& add(std::string_view key, std::uint64_t value);
  Json& add(std::string_view key, std::int64_t value);
  Json& add(std::string_view key, double value);
  Json& add(std::string_view key, bool value);
  Json& add(std::string_view key, std::string_view value);
  Json& add(std::string_view key, const char* value) { return add(key, std::string_view{value}); }
  Json& add(std::string_view key, const Json& value);
  Json& add_null(std::string_view key);
  // To an array.
  Json& push(const Json& value);
  Json& push(std::uint64_t value);
  Json& push(std::string_view value);

  std::string text() const;  // one object on several lines, with a newline at the end
  std::string line() const;  // on one line, without a newline

  bool is_object() const;
  bool is_array() const;
  bool is_null() const;
  // Of an object; in the order of writing.
  std::vector<std::string> keys() const;
  bool has(std::string_view key) const;
  // A member of an object, if it is there and of this type (a whole number also as `number`).
  std::optional<Json> at(std::string_view key) const;
  std::optional<bool> flag_at(std::string_view key) const;
  std::optional<std::int64_t> whole_at(std::string_view key) const;
  std::optional<std::uint64_t> count_at(std::string_view key) const;
  std::optional<double> number_at(std::string_view key) const;
  std::optional<std::string> text_at(std::string_view key) const;
  std::vector<Json> elements() const;          // of an array; empty if it is none
  std::optional<std::string> as_text() const;  // this value itself

 private:
  struct Value;
  explicit Json(std::unique_ptr<Value> value);
  std::unique_ptr<Value> value_;
};

}  // namespace tempo
