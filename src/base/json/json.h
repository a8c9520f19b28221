// JSON for output: objects and arrays built in order, written once.
//
// Keys keep the order they were added in. Numbers that are not finite do not occur.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tempo {

class Json {
 public:
  static Json object();
  static Json array();
  Json(const Json& other);
  Json& operator=(const Json& other);
  Json(Json&&) noexcept;
  Json& operator=(Json&&) noexcept;
  ~Json();

  // To an object. Returns *this, so that additions chain.
  Json& add(std::string_view key, std::uint64_t value);
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

 private:
  struct Value;
  explicit Json(std::unique_ptr<Value> value);
  std::unique_ptr<Value> value_;
};

}  // namespace tempo
