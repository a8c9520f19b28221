#include "base/json/json.h"

#include <nlohmann/json.hpp>

namespace tempo {

struct Json::Value {
  nlohmann::ordered_json json;
};

Json::Json(std::unique_ptr<Value> value) : value_(std::move(value)) {}
Json::Json(const Json& other) : value_(std::make_unique<Value>(*other.value_)) {}
Json& Json::operator=(const Json& other) {
  *value_ = *other.value_;
  return *this;
}
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json Json::object() { return Json(std::make_unique<Value>(nlohmann::ordered_json::object())); }
Json Json::array() { return Json(std::make_unique<Value>(nlohmann::ordered_json::array())); }

namespace {
template <class T>
void put(nlohmann::ordered_json& object, std::string_view key, const T& value) {
  object[std::string(key)] = value;
}
}  // namespace

Json& Json::add(std::string_view key, std::uint64_t value) {
  put(value_->json, key, value);
  return *this;
}
Json& Json::add(std::string_view key, double value) {
  put(value_->json, key, value);
  return *this;
}
Json& Json::add(std::string_view key, bool value) {
  put(value_->json, key, value);
  return *this;
}
Json& Json::add(std::string_view key, std::string_view value) {
  put(value_->json, key, std::string(value));
  return *this;
}
Json& Json::add(std::string_view key, const Json& value) {
  put(value_->json, key, value.value_->json);
  return *this;
}
Json& Json::add_null(std::string_view key) {
  put(value_->json, key, nullptr);
  return *this;
}
Json& Json::push(const Json& value) {
  value_->json.push_back(value.value_->json);
  return *this;
}
Json& Json::push(std::uint64_t value) {
  value_->json.push_back(value);
  return *this;
}
Json& Json::push(std::string_view value) {
  value_->json.push_back(std::string(value));
  return *this;
}

std::string Json::text() const { return value_->json.dump(2) + "\n"; }

}  // namespace tempo
