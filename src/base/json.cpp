#include "base/json.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/number_text.h"

namespace tempo {

struct Json::Value {
  explicit Value(nlohmann::ordered_json from) : json(std::move(from)) {}
  const nlohmann::ordered_json* member(std::string_view key) const;

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
Json& Json::add(std::string_view key, std::int64_t value) {
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

std::string Json::text() const {
  return value_->json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}
std::string Json::line() const {
  return value_->json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Json> Json::parse(std::string_view text) {
  auto value = std::make_unique<Value>(nlohmann::ordered_json::parse(text, nullptr, false));
  if (value->json.is_discarded()) return std::unexpected(std::string("not valid JSON"));
  return Json(std::move(value));
}

bool Json::is_object() const { return value_->json.is_object(); }
bool Json::is_array() const { return value_->json.is_array(); }
bool Json::is_null() const { return value_->json.is_null(); }

std::vector<std::string> Json::keys() const {
  std::vector<std::string> keys;
  if (is_object())
    for (const auto& member : value_->json.items()) keys.push_back(member.key());
  return keys;
}

const nlohmann::ordered_json* Json::Value::member(std::string_view key) const {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(std::string(key));
  return found == json.end() ? nullptr : &*found;
}

bool Json::has(std::string_view key) const { return value_->member(key) != nullptr; }

std::optional<Json> Json::at(std::string_view key) const {
  const auto* found = value_->member(key);
  if (found == nullptr) return std::nullopt;
  return Json(std::make_unique<Value>(*found));
}
std::optional<bool> Json::flag_at(std::string_view key) const {
  const auto* found = value_->member(key);
  if (found == nullptr || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}
std::optional<std::int64_t> Json::whole_at(std::string_view key) const {
  const auto* found = value_->member(key);
  if (found == nullptr) return std::nullopt;
  if (const auto* text = found->get_ptr<const std::string*>())
    return parse_number<std::int64_t>(*text);
  if (!found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && !std::in_range<std::int64_t>(found->get<std::uint64_t>()))
    return std::nullopt;
  return found->get<std::int64_t>();
}
std::optional<std::uint64_t> Json::count_at(std::string_view key) const {
  const auto* found = value_->member(key);
  if (found == nullptr) return std::nullopt;
  if (const auto* text = found->get_ptr<const std::string*>())
    return parse_number<std::uint64_t>(*text);
  if (!found->is_number_integer()) return std::nullopt;
  if (!found->is_number_unsigned() && found->get<std::int64_t>() < 0) return std::nullopt;
  return found->get<std::uint64_t>();
}
std::optional<double> Json::number_at(std::string_view key) const {
  const auto* found = value_->member(key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->get<double>();
}
std::optional<std::string> Json::text_at(std::string_view key) const {
  const auto* found = value_->member(key);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}
std::vector<Json> Json::elements() const {
  std::vector<Json> elements;
  if (is_array())
    for (const auto& element : value_->json)
      elements.push_back(Json(std::make_unique<Value>(element)));
  return elements;
}
std::optional<std::string> Json::as_text() const {
  if (!value_->json.is_string()) return std::nullopt;
  return value_->json.get<std::string>();
}

}  // namespace tempo
