#include "api/config_errors.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fmt/core.h>

#include "base/number_text.h"
#include "protocol/election/master_rules.h"

namespace tempo::config {
namespace {

using Texts = std::vector<std::string>;

constexpr std::size_t kMaxName = 63;         // characters of a name in a datagram
constexpr std::size_t kMaxInterface = 15;    // IFNAMSIZ - 1
constexpr std::size_t kMaxSocketPath = 107;  // size of sun_path without the terminating 0
constexpr std::size_t kMaxPrefixed = 16;     // addresses of a [[vip]]
constexpr std::size_t kMaxGroup = 57;        // characters of a name of a group
constexpr std::size_t kMaxCommand = 1024;
constexpr std::size_t kMaxEndpoints = 16;  // of etcd

bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// Accepts "192.0.2.7", "192.0.2.7:525", "fe80::1%eth0", "[fe80::1%eth0]:525".
bool is_address(std::string text) {
  const auto is_port = [](std::string_view port) {
    return !port.empty() && port.size() <= 5 &&
           std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }) &&
           std::stoi(std::string(port)) <= 65535;
  };
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string::npos) return false;
    const std::string rest = text.substr(end + 1);
    if (!rest.empty() && !(rest.starts_with(':') && is_port(rest.substr(1)))) return false;
    text = text.substr(1, end - 1);
    if (text.find(':') == std::string::npos) return false;
  } else if (std::ranges::count(text, ':') == 1) {
    const std::size_t colon = text.find(':');
    if (!is_port(text.substr(colon + 1))) return false;
    text.resize(colon);
  }
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) return true;
  in6_addr six{};
  const std::string bare = text.substr(0, text.find('%'));
  return inet_pton(AF_INET6, bare.c_str(), &six) == 1;
}

}  // namespace

CheckResult bad_text(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (text.size() > kMaxName)
    return fmt::format("is longer than {} characters; choose a shorter one", kMaxName);
  if (!printable(text)) return "has characters that are not printable ASCII; remove them";
  return std::nullopt;
}

CheckResult bad_host_name(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (text.empty()) return std::nullopt;
  if (auto error = bad_text(value)) return error;
  const auto valid = [](std::string_view label) {
    return !label.empty() && !label.starts_with('-') && !label.ends_with('-') &&
           std::ranges::all_of(label, [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-';
           });
  };
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t dot = std::min(text.find('.', from), text.size());
    if (!valid(std::string_view(text).substr(from, dot - from)))
      return fmt::format(
          "must be a host name, not '{}'; use letters, digits and hyphens, with dots between "
          "labels, for example node1",
          text);
    from = dot + 1;
  }
  return std::nullopt;
}

CheckResult bad_cluster(const Value& value) {
  if (std::get<std::string>(value).empty())
    return "must not be empty; remove the key to use \"tempo\"";
  return bad_text(value);
}

CheckResult bad_path(const Value& value) {
  const auto& path = std::get<std::string>(value);
  if (!path.starts_with('/'))
    return fmt::format("must be an absolute path that begins with '/', not '{}'", path);
  return std::nullopt;
}

CheckResult bad_socket(const Value& value) {
  if (std::get<std::string>(value).size() > kMaxSocketPath)
    return fmt::format("is longer than {} bytes, the limit of a socket path; choose a shorter one",
                       kMaxSocketPath);
  return bad_path(value);
}

CheckResult bad_path_or_none(const Value& value) {
  return std::get<std::string>(value).empty() ? std::nullopt : bad_path(value);
}

CheckResult bad_interfaces(const Value& value) {
  for (const std::string& name : std::get<Texts>(value))
    if (name.empty() || name.size() > kMaxInterface || name.find('/') != std::string::npos)
      return fmt::format(
          "contains '{}', which is not a valid interface name; 'ip link' lists the interfaces",
          name);
  return std::nullopt;
}

CheckResult bad_addresses(const Value& value) {
  for (const std::string& text : std::get<Texts>(value))
    if (!is_address(text))
      return fmt::format(
          "contains '{}', which is not an IP address; host names are not resolved, write for "
          "example 192.0.2.7",
          text);
  return std::nullopt;
}

// tempo-vip checks the addresses themselves.
CheckResult bad_prefixed_addresses(const Value& value) {
  const auto& all = std::get<Texts>(value);
  if (all.empty() || all.size() > kMaxPrefixed)
    return fmt::format("must have 1 to {} addresses, not {}", kMaxPrefixed, all.size());
  for (const std::string& text : all) {
    const std::size_t slash = text.find('/');
    const std::string address = text.substr(0, slash);
    in_addr four{};
    in6_addr six{};
    const unsigned most = inet_pton(AF_INET, address.c_str(), &four) == 1   ? 32
                          : inet_pton(AF_INET6, address.c_str(), &six) == 1 ? 128
                                                                            : 0;
    const unsigned prefix =
        slash == std::string::npos
            ? 0
            : parse_number<unsigned>(std::string_view(text).substr(slash + 1)).value_or(0);
    if (most == 0 || prefix == 0 || prefix > most)
      return fmt::format(
          "contains '{}', which is not an IP address with a prefix length; write for example "
          "192.0.2.10/24 or 2001:db8::10/64",
          text);
  }
  return std::nullopt;
}

CheckResult bad_users(const Value& value) {
  for (const std::string& name : std::get<Texts>(value))
    if (name.empty() || name.size() > kMaxName || !printable(name))
      return fmt::format("contains '{}', which is not a user name", name);
  return std::nullopt;
}

CheckResult bad_group(const Value& value) {
  const auto& text = std::get<std::string>(value);
  const bool valid =
      !text.empty() && text.size() <= kMaxGroup &&
      std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '@'; });
  if (valid) return std::nullopt;
  return fmt::format("must have 1 to {} printable characters without spaces and '@', not '{}'",
                     kMaxGroup, text);
}

CheckResult bad_interface(const Value& value) {
  return bad_interfaces(Value{Texts{std::get<std::string>(value)}});
}

CheckResult bad_command(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (text.size() <= kMaxCommand && text.find('\0') == std::string::npos) return std::nullopt;
  return fmt::format("must have at most {} characters; put more into a script", kMaxCommand);
}

CheckResult bad_broadcast(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (text.empty() || is_address(text)) return std::nullopt;
  return fmt::format("must be an IP address, not '{}'; write for example 192.0.2.255", text);
}

CheckResult bad_profile(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (election::profile(text)) return std::nullopt;
  return fmt::format("must be classic, lan or fast, not '{}'", text);
}

CheckResult bad_mode(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (std::ranges::any_of(kModes, [&](const auto& mode) { return mode.first == text; }))
    return std::nullopt;
  return fmt::format("must be tempo or classic, not '{}'", text);
}

CheckResult bad_clock(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (std::ranges::any_of(kClocks, [&](const auto& clock) { return clock.first == text; }))
    return std::nullopt;
  return fmt::format("must be system, software or none, not '{}'", text);
}

CheckResult bad_kernel_claims(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (std::ranges::any_of(kKernelClaims, [&](const auto& one) { return one.first == text; }))
    return std::nullopt;
  return fmt::format("must be network or utc, not '{}'", text);
}

CheckResult bad_remote_read(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (std::ranges::any_of(kRemoteReads, [&](const auto& known) { return known.first == text; }))
    return std::nullopt;
  return fmt::format("must be key, open or off, not '{}'", text);
}

CheckResult bad_policy(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (std::ranges::any_of(kPolicies, [&](const auto& policy) { return policy.first == text; }))
    return std::nullopt;
  return fmt::format("must be strict, witness, preferred or available, not '{}'", text);
}

CheckResult bad_back_end(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (std::ranges::any_of(kBackEnds, [&](const auto& known) { return known.first == text; }))
    return std::nullopt;
  return fmt::format("must be tempo or etcd, not '{}'", text);
}

CheckResult bad_voters(const Value& value) {
  constexpr std::size_t kMaxVoters = 8;
  const auto& list = std::get<Texts>(value);
  if (list.empty() || list.size() > kMaxVoters)
    return fmt::format("has {} machines; name 1 to {}", list.size(), kMaxVoters);
  for (const std::string& text : list) {
    if (text.empty() || !printable(text)) return fmt::format("contains '{}', not a name", text);
    if (std::ranges::count(list, text) > 1) return fmt::format("names {} twice", text);
  }
  return std::nullopt;
}

CheckResult bad_endpoints(const Value& value) {
  const auto& list = std::get<Texts>(value);
  if (list.empty() || list.size() > kMaxEndpoints)
    return fmt::format("has {} endpoints; give 1 to {}", list.size(), kMaxEndpoints);
  for (const std::string& text : list) {
    const std::size_t scheme = text.starts_with("http://")    ? 7
                               : text.starts_with("https://") ? 8
                                                              : 0;
    if (scheme == 0 || text.size() == scheme || !printable(text) ||
        text.find_first_of("/ ?#", scheme) != std::string::npos)
      return fmt::format(
          "contains '{}', which is not an endpoint; write for example http://10.0.0.1:2379, "
          "without a path",
          text);
  }
  return std::nullopt;
}

CheckResult bad_log_level(const Value& value) {
  const auto& text = std::get<std::string>(value);
  if (text == "error" || text == "warning" || text == "info" || text == "debug")
    return std::nullopt;
  return fmt::format("must be error, warning, info or debug, not '{}'", text);
}

}  // namespace tempo::config
