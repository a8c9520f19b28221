#include "platform/address.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <net/if.h>
#include <netinet/in.h>

#include "base/check.h"
#include "base/number_text.h"

namespace tempo::sys {
namespace {

template <class T>
T read_as(const sockaddr_storage& storage) {
  T value{};
  static_assert(sizeof value <= sizeof storage);
  std::memcpy(&value, &storage, sizeof value);
  return value;
}

// Interface index, from the name of the interface or from the number itself.
std::optional<std::uint32_t> scope_of(const std::string& text) {
  if (const unsigned index = if_nametoindex(text.c_str()); index != 0) return index;
  return parse_number<std::uint32_t>(text);
}

std::unexpected<std::string> not_an_address(std::string_view text) {
  return std::unexpected(fmt::format("'{}' is not an IP address", text));
}

Address of(const sockaddr_in& v4) {
  sockaddr_storage storage{};
  std::memcpy(&storage, &v4, sizeof v4);
  return {reinterpret_cast<const sockaddr*>(&storage), sizeof v4};
}

Address of(const sockaddr_in6& v6) {
  sockaddr_storage storage{};
  std::memcpy(&storage, &v6, sizeof v6);
  return {reinterpret_cast<const sockaddr*>(&storage), sizeof v6};
}

// In IPv4 a colon separates address and port; in IPv6 brackets do.
struct Parts {
  std::string host;
  std::string scope;
  std::optional<std::string_view> port;
};

std::optional<Parts> split_address(std::string_view text) {
  Parts parts;
  std::string_view host = text;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host = text.substr(1, close - 1);
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') return std::nullopt;
    if (!rest.empty()) parts.port = rest.substr(1);
    if (!host.contains(':')) return std::nullopt;
  } else if (const auto colon = text.find(':');
             colon != std::string_view::npos && colon == text.rfind(':')) {
    host = text.substr(0, colon);
    parts.port = text.substr(colon + 1);
  }
  const auto percent = host.find('%');
  if (percent != std::string_view::npos) {
    parts.scope = host.substr(percent + 1);
    if (parts.scope.empty()) return std::nullopt;
  }
  parts.host = host.substr(0, percent);
  return parts;
}

}  // namespace

Address::Address(const sockaddr* from, socklen_t size)
    : size_(std::min(size, static_cast<socklen_t>(sizeof storage_))) {
  if (from == nullptr) size_ = 0;
  if (size_ != 0) std::memcpy(&storage_, from, size_);
}

Result<Address> Address::parse(std::string_view text, std::uint16_t port) {
  const std::optional<Parts> parts = split_address(text);
  if (!parts) return not_an_address(text);
  if (parts->port) {
    const auto given = parse_number<std::uint16_t>(*parts->port);
    if (!given || *given == 0) {
      return std::unexpected(fmt::format("'{}': '{}' is not a port", text, *parts->port));
    }
    port = *given;
  }
  sockaddr_in v4{};
  if (inet_pton(AF_INET, parts->host.c_str(), &v4.sin_addr) == 1) {
    if (!parts->scope.empty()) return not_an_address(text);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    return of(v4);
  }
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET6, parts->host.c_str(), &v6.sin6_addr) != 1) return not_an_address(text);
  if (!parts->scope.empty()) {
    const auto scope = scope_of(parts->scope);
    if (!scope) return std::unexpected(fmt::format("'{}': no interface '{}'", text, parts->scope));
    v6.sin6_scope_id = *scope;
  }
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  return of(v6);
}

Address Address::with_port(std::uint16_t port) const {
  if (family() == AF_INET) {
    auto v4 = read_as<sockaddr_in>(storage_);
    v4.sin_port = htons(port);
    return of(v4);
  }
  if (family() == AF_INET6) {
    auto v6 = read_as<sockaddr_in6>(storage_);
    v6.sin6_port = htons(port);
    return of(v6);
  }
  return *this;
}

std::uint16_t Address::port() const {
  if (family() == AF_INET) return ntohs(read_as<sockaddr_in>(storage_).sin_port);
  if (family() == AF_INET6) return ntohs(read_as<sockaddr_in6>(storage_).sin6_port);
  return 0;
}

std::uint32_t Address::scope() const {
  return family() == AF_INET6 ? read_as<sockaddr_in6>(storage_).sin6_scope_id : 0;
}

bool Address::any() const {
  if (family() == AF_INET) return read_as<sockaddr_in>(storage_).sin_addr.s_addr == INADDR_ANY;
  if (family() != AF_INET6) return false;
  const auto v6 = read_as<sockaddr_in6>(storage_);
  return IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
}

bool Address::multicast() const {
  if (family() == AF_INET)
    return IN_MULTICAST(ntohl(read_as<sockaddr_in>(storage_).sin_addr.s_addr));
  return family() == AF_INET6 && read_as<sockaddr_in6>(storage_).sin6_addr.s6_addr[0] == 0xff;
}

const sockaddr* Address::raw() const { return reinterpret_cast<const sockaddr*>(&storage_); }

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (family() == AF_INET) {
    const auto v4 = read_as<sockaddr_in>(storage_);
    return inet_ntop(AF_INET, &v4.sin_addr, buffer.data(), buffer.size());
  }
  if (family() != AF_INET6) return "none";
  const auto v6 = read_as<sockaddr_in6>(storage_);
  std::string text = inet_ntop(AF_INET6, &v6.sin6_addr, buffer.data(), buffer.size());
  if (v6.sin6_scope_id == 0) return text;
  std::array<char, IF_NAMESIZE> name{};
  if (if_indextoname(v6.sin6_scope_id, name.data()) != nullptr) return text + "%" + name.data();
  return fmt::format("{}%{}", text, v6.sin6_scope_id);
}

std::string Address::text_with_port() const {
  if (family() == AF_INET6) return fmt::format("[{}]:{}", text(), port());
  return none() ? text() : fmt::format("{}:{}", text(), port());
}

bool Address::operator==(const Address& other) const {
  if (family() != other.family() || port() != other.port() || scope() != other.scope())
    return false;
  if (family() == AF_INET) {
    return read_as<sockaddr_in>(storage_).sin_addr.s_addr ==
           read_as<sockaddr_in>(other.storage_).sin_addr.s_addr;
  }
  if (family() != AF_INET6) return true;
  const auto mine = read_as<sockaddr_in6>(storage_);
  const auto theirs = read_as<sockaddr_in6>(other.storage_);
  return std::memcmp(&mine.sin6_addr, &theirs.sin6_addr, sizeof mine.sin6_addr) == 0;
}

}  // namespace tempo::sys
