#include "services/etcd/etcd_api.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>
#include <sodium.h>

#include "base/number_text.h"

namespace tempo::etcd {
namespace {

constexpr std::size_t kMaxKey = 1024;  // bytes; tempo's keys have at most about 300

std::string base64(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // terminating zero
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes(kMaxKey, '\0');
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &size, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0)
    return std::nullopt;
  bytes.resize(size);
  return bytes;
}

// Slashes separate the parts of a key, so the parts must not contain any.
std::string escaped(std::string_view text) {
  std::string all;
  for (const char c : text) {
    if (c == '/' || c == '%')
      all += fmt::format("%{:02x}", static_cast<unsigned>(c));
    else
      all += c;
  }
  return all;
}

std::string unescaped(std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "%2f")
      all += '/', i += 2;
    else if (text.substr(i, 3) == "%25")
      all += '%', i += 2;
    else
      all += text[i];
  }
  return all;
}

// The first key after this directory, which ends with a slash.
std::string behind(std::string directory) {
  directory.back() = static_cast<char>(directory.back() + 1);
  return directory;
}

Json range_of(const std::string& directory) {
  return Json::object().add("key", base64(directory)).add("range_end", base64(behind(directory)));
}

Json queue_request(const std::string& directory) {
  return range_of(directory)
      .add("limit", fmt::format("{}", kMaxQueue))
      .add("sort_order", "ASCEND")
      .add("sort_target", "CREATE")
      .add("keys_only", true);
}

// etcd omits numbers that are 0.
Result<std::uint64_t> count_in(const Json& json, std::string_view key) {
  if (!json.has(key)) return 0;
  const auto number = parse_number<std::uint64_t>(json.text_at(key).value_or(""));
  if (!number)
    return std::unexpected(fmt::format("invalid answer of etcd: {} is not a number", key));
  return *number;
}

// A stream wraps its answers in "result".
Json unwrapped(const Json& answer) { return answer.at("result").value_or(answer); }

Result<std::vector<QueueEntry>> queue_in(const Json& range) {
  std::vector<QueueEntry> line;
  const auto keys = range.at("kvs");
  if (!keys) return line;
  for (const Json& element : keys->elements()) {
    const auto key = from_base64(element.text_at("key").value_or(""));
    if (!key) return std::unexpected("invalid answer of etcd: unreadable key");
    TRY(created, count_in(element, "create_revision"));
    const std::size_t slash = key->rfind('/');
    line.push_back({.key = *key, .shared = key->substr(slash + 1, 2) == "s-", .created = created});
    if (line.size() > kMaxQueue)
      return std::unexpected("invalid answer of etcd: more keys than requested");
  }
  std::ranges::sort(line, {}, &QueueEntry::created);
  return line;
}

}  // namespace

std::string directory_of(std::string_view cluster) {
  return fmt::format("/tempo/{}/locks/", escaped(cluster));
}
std::string directory_of(std::string_view cluster, std::string_view name) {
  return fmt::format("{}{}/", directory_of(cluster), escaped(name));
}
std::string key_of(std::string_view directory, bool shared, std::string_view lease,
                   std::uint64_t number) {
  return fmt::format("{}{}-{}-{}", directory, shared ? 's' : 'x', lease, number);
}
std::string name_of(std::string_view cluster, std::string_view key) {
  const std::string directory = directory_of(cluster);
  const std::size_t slash = key.rfind('/');
  if (!key.starts_with(directory) || slash < directory.size()) return "";
  return unescaped(key.substr(directory.size(), slash - directory.size()));
}

Request grant_lease(std::int64_t seconds) {
  return {"/v3/lease/grant", Json::object().add("TTL", fmt::format("{}", seconds)).line(), false};
}
Request keep_alive(const std::string& lease) {
  return {"/v3/lease/keepalive", Json::object().add("ID", lease).line()};
}
Request revoke_lease(const std::string& lease) {
  return {"/v3/lease/revoke", Json::object().add("ID", lease).line()};
}
Request confirm(const std::string& directory) {
  return {"/v3/kv/range", range_of(directory).add("count_only", true).line()};
}
Request enter(const std::string& directory, const std::string& key, const std::string& value,
              const std::string& lease) {
  const Json put =
      Json::object().add("key", base64(key)).add("value", base64(value)).add("lease", lease);
  return {
      "/v3/kv/txn",
      Json::object()
          .add("success", Json::array()
                              .push(Json::object().add("request_put", put))
                              .push(Json::object().add("request_range", queue_request(directory))))
          .line()};
}
Request look(const std::string& directory) {
  return {"/v3/kv/range", queue_request(directory).line()};
}
Request remove(const std::string& key) {
  return {"/v3/kv/deleterange", Json::object().add("key", base64(key)).line()};
}
Request watch(const std::string& directory) {
  return {"/v3/watch", Json::object().add("create_request", range_of(directory)).line()};
}

Result<std::uint64_t> term_of(const Json& answer) {
  const auto header = unwrapped(answer).at("header");
  if (!header) return std::unexpected("invalid answer of etcd: no header");
  return count_in(*header, "raft_term");
}

Result<Lease> lease_of(const Json& answer) {
  const Json body = unwrapped(answer);
  const auto id = body.text_at("ID");
  if (!id) return std::unexpected("invalid answer of etcd: no lease id");
  TRY(seconds, count_in(body, "TTL"));
  TRY(term, term_of(answer));
  constexpr std::uint64_t kMaxSeconds = 365UL * 24 * 3600;
  if (seconds > kMaxSeconds)
    return std::unexpected("invalid answer of etcd: lease longer than a year");
  return Lease{.id = *id, .seconds = static_cast<std::int64_t>(seconds), .term = term};
}

Result<std::vector<QueueEntry>> queue_of(const Json& answer) {
  if (!answer.has("responses")) return queue_in(answer);
  for (const Json& element : answer.at("responses")->elements())
    if (const auto range = element.at("response_range")) return queue_in(*range);
  return std::unexpected("invalid answer of etcd: no queue");
}

Result<std::vector<std::string>> changed_keys(const Json& answer) {
  std::vector<std::string> keys;
  const auto events = unwrapped(answer).at("events");
  if (!events) return keys;
  for (const Json& event : events->elements()) {
    const auto pair = event.at("kv");
    const auto key = from_base64(pair ? pair->text_at("key").value_or("") : "");
    if (!key) return std::unexpected("invalid answer of etcd: unreadable key");
    keys.push_back(*key);
  }
  return keys;
}

std::string error_in(const Json& answer) {
  if (const auto error = answer.at("error"); error && error->is_object())
    return error->text_at("message").value_or("etcd gave no reason");
  if (const auto error = answer.text_at("error")) return *error;
  return "";
}

bool lease_expired(std::string_view error) {
  return error.find("requested lease not found") != std::string_view::npos;
}

}  // namespace tempo::etcd
