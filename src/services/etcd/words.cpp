#include "services/etcd/words.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>
#include <sodium.h>

#include "base/number_text.h"

namespace tempo::etcd {
namespace {

constexpr std::size_t kMaxKey = 1024;  // bytes; ours have at most some 300

std::string base64(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // its end
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

// Slashes part a key; what they part must not have any.
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

// The first key that does not begin with this one: a directory ends with a slash.
std::string behind(std::string directory) {
  directory.back() = static_cast<char>(directory.back() + 1);
  return directory;
}

Json range_of(const std::string& directory) {
  return Json::object().add("key", base64(directory)).add("range_end", base64(behind(directory)));
}

Json line_request(const std::string& directory) {
  return range_of(directory)
      .add("limit", fmt::format("{}", kMaxInLine))
      .add("sort_order", "ASCEND")
      .add("sort_target", "CREATE")
      .add("keys_only", true);
}

// A number that is 0 is left out.
Result<std::uint64_t> count_in(const Json& json, std::string_view key) {
  if (!json.has(key)) return 0;
  const auto number = parse_number<std::uint64_t>(json.text_at(key).value_or(""));
  if (!number) return std::unexpected(fmt::format("its {} is not a number", key));
  return *number;
}

// A stream wraps what it says.
Json unwrapped(const Json& answer) { return answer.at("result").value_or(answer); }

Result<std::vector<InLine>> line_in(const Json& range) {
  std::vector<InLine> line;
  const auto keys = range.at("kvs");
  if (!keys) return line;
  for (const Json& element : keys->elements()) {
    const auto key = from_base64(element.text_at("key").value_or(""));
    if (!key) return std::unexpected("it has a key that cannot be read");
    TRY(created, count_in(element, "create_revision"));
    const std::size_t slash = key->rfind('/');
    line.push_back({.key = *key, .shared = key->substr(slash + 1, 2) == "s-", .created = created});
    if (line.size() > kMaxInLine) return std::unexpected("it has more keys than were asked for");
  }
  std::ranges::sort(line, {}, &InLine::created);
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

Question grant_lease(std::int64_t seconds) {
  return {"/v3/lease/grant", Json::object().add("TTL", fmt::format("{}", seconds)).line(), false};
}
Question keep_alive(const std::string& lease) {
  return {"/v3/lease/keepalive", Json::object().add("ID", lease).line()};
}
Question revoke_lease(const std::string& lease) {
  return {"/v3/lease/revoke", Json::object().add("ID", lease).line()};
}
Question confirm(const std::string& directory) {
  return {"/v3/kv/range", range_of(directory).add("count_only", true).line()};
}
Question enter(const std::string& directory, const std::string& key, const std::string& value,
               const std::string& lease) {
  const Json put =
      Json::object().add("key", base64(key)).add("value", base64(value)).add("lease", lease);
  return {
      "/v3/kv/txn",
      Json::object()
          .add("success", Json::array()
                              .push(Json::object().add("request_put", put))
                              .push(Json::object().add("request_range", line_request(directory))))
          .line()};
}
Question look(const std::string& directory) {
  return {"/v3/kv/range", line_request(directory).line()};
}
Question remove(const std::string& key) {
  return {"/v3/kv/deleterange", Json::object().add("key", base64(key)).line()};
}
Question watch(const std::string& directory) {
  return {"/v3/watch", Json::object().add("create_request", range_of(directory)).line()};
}

Result<std::uint64_t> term_of(const Json& answer) {
  const auto header = unwrapped(answer).at("header");
  if (!header) return std::unexpected("it has no header");
  return count_in(*header, "raft_term");
}

Result<Lease> lease_of(const Json& answer) {
  const Json said = unwrapped(answer);
  const auto id = said.text_at("ID");
  if (!id) return std::unexpected("it names no lease");
  TRY(seconds, count_in(said, "TTL"));
  TRY(term, term_of(answer));
  constexpr std::uint64_t kMost = 365UL * 24 * 3600;
  if (seconds > kMost) return std::unexpected("its lease is longer than a year");
  return Lease{.id = *id, .seconds = static_cast<std::int64_t>(seconds), .term = term};
}

Result<std::vector<InLine>> line_of(const Json& answer) {
  if (!answer.has("responses")) return line_in(answer);
  for (const Json& element : answer.at("responses")->elements())
    if (const auto range = element.at("response_range")) return line_in(*range);
  return std::unexpected("it does not say who is in line");
}

Result<std::vector<std::string>> changed_keys(const Json& answer) {
  std::vector<std::string> keys;
  const auto events = unwrapped(answer).at("events");
  if (!events) return keys;
  for (const Json& event : events->elements()) {
    const auto pair = event.at("kv");
    const auto key = from_base64(pair ? pair->text_at("key").value_or("") : "");
    if (!key) return std::unexpected("it has a key that cannot be read");
    keys.push_back(*key);
  }
  return keys;
}

std::string complaint_in(const Json& answer) {
  if (const auto error = answer.at("error"); error && error->is_object())
    return error->text_at("message").value_or("etcd gave no reason");
  if (const auto error = answer.text_at("error")) return *error;
  return "";
}

bool lease_is_gone(std::string_view complaint) {
  return complaint.find("requested lease not found") != std::string_view::npos;
}

}  // namespace tempo::etcd
