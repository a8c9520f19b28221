#include "protocol/auth/invitation.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "protocol/auth/secret_box.h"

namespace tempo::auth {
namespace {

constexpr std::array<std::byte, 2> kMagic{std::byte{'T'}, std::byte{'J'}};
constexpr std::byte kVersion{1};
enum class Kind : std::uint8_t { request = 1, answer = 2 };
constexpr std::size_t kNumberBytes = 16;
constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kHeadBytes = kMagic.size() + 2 + kIdBytes;
constexpr std::size_t kMaxContents = kJoinBytes - kHeadBytes - kBoxBytes;
constexpr std::size_t kMaxName = 64;

std::string_view purpose_of(Kind kind) {
  return kind == Kind::request ? "join request" : "join answer";
}

std::uint64_t id_of(const Token& token) {
  const Key key = derived_key(token, "invitation id");
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < kIdBytes; ++i) id = id << 8U | std::to_integer<std::uint64_t>(key[i]);
  return id;
}

// Head, then a box of the contents.
Bytes packet(Kind kind, const Token& token, std::span<const std::byte> contents) {
  Bytes bytes(kMagic.begin(), kMagic.end());
  bytes.push_back(kVersion);
  bytes.push_back(static_cast<std::byte>(kind));
  const std::uint64_t id = id_of(token);
  for (std::size_t i = 0; i < kIdBytes; ++i)
    bytes.push_back(static_cast<std::byte>(id >> (8 * (kIdBytes - 1 - i))));
  const Bytes box = seal_box(derived_key(token, purpose_of(kind)), purpose_of(kind), contents);
  bytes.insert(bytes.end(), box.begin(), box.end());
  return bytes;
}

bool has_head(std::span<const std::byte> bytes, Kind kind) {
  return bytes.size() >= kHeadBytes && bytes.size() <= kJoinBytes &&
         std::ranges::equal(bytes.first(kMagic.size()), kMagic) && bytes[2] == kVersion &&
         bytes[3] == static_cast<std::byte>(kind);
}

std::uint64_t id_in(std::span<const std::byte> bytes) {
  std::uint64_t id = 0;
  for (const std::byte byte : bytes.subspan(kHeadBytes - kIdBytes, kIdBytes))
    id = id << 8U | std::to_integer<std::uint64_t>(byte);
  return id;
}

// The contents of a packet: a number and a text.
struct Contents {
  std::array<std::byte, kNumberBytes> number{};
  std::string text{};
};

Bytes bytes_of(const Contents& contents) {
  Bytes bytes(contents.number.begin(), contents.number.end());
  const auto text = std::as_bytes(std::span(contents.text));
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

std::optional<Contents> open_packet(Kind kind, const Token& token,
                                    std::span<const std::byte> bytes) {
  if (!has_head(bytes, kind) || id_in(bytes) != id_of(token)) return std::nullopt;
  const auto opened =
      open_box(derived_key(token, purpose_of(kind)), purpose_of(kind), bytes.subspan(kHeadBytes));
  if (!opened || opened->size() < kNumberBytes) return std::nullopt;
  Contents contents;
  std::copy_n(opened->begin(), kNumberBytes, contents.number.begin());
  for (const std::byte byte : std::span(*opened).subspan(kNumberBytes))
    contents.text += static_cast<char>(byte);
  return contents;
}

// Printable ASCII, so that a log line is one line.
std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kMaxName))
    if (c > ' ' && c <= '~') shown += c;
  return shown;
}

// --- the token as text: 128 bits and a checksum of 32 bits in base 32 ---

// Crockford's: no i, l, o and u. A reader takes i and l for 1, and o for 0.
constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::size_t kCheckBytes = 4;
constexpr std::size_t kTokenBytes = std::tuple_size_v<Token>;
constexpr std::size_t kDigits = (kTokenBytes + kCheckBytes) * 8 / 5;
constexpr std::size_t kGroup = 4;  // digits between two hyphens

using Checked = std::array<std::byte, kTokenBytes + kCheckBytes>;

Checked with_checksum(const Token& token) {
  Checked checked{};
  const Key check = derived_key(token, "token checksum");
  std::ranges::copy(token, checked.begin());
  std::copy_n(check.begin(), kCheckBytes, checked.begin() + kTokenBytes);
  return checked;
}

std::optional<unsigned> digit_of(char c) {
  if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (c == 'i' || c == 'l') c = '1';
  if (c == 'o') c = '0';
  const std::size_t at = kAlphabet.find(c);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned>(at);
}

}  // namespace

std::string token_text(const Token& token) {
  std::string text;
  std::uint32_t bits = 0;
  unsigned have = 0;
  std::size_t digits = 0;
  for (const std::byte byte : with_checksum(token)) {
    bits = bits << 8U | std::to_integer<std::uint32_t>(byte);
    for (have += 8; have >= 5; have -= 5) {
      if (digits > 0 && digits % kGroup == 0) text += '-';
      text += kAlphabet[bits >> (have - 5) & 31U];
      ++digits;
    }
  }
  CHECK(digits == kDigits);
  return text;
}

Result<Token> parse_token(std::string_view text) {
  Checked checked{};
  std::size_t bytes = 0;
  std::size_t digits = 0;
  std::uint32_t bits = 0;
  unsigned have = 0;
  for (const char c : text) {
    if (c == '-' || c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
    const auto digit = digit_of(c);
    if (!digit)
      return std::unexpected(
          std::string("a token has only letters, digits and hyphens; copy it again"));
    if (++digits > kDigits) break;
    bits = bits << 5U | *digit;
    have += 5;
    if (have < 8) continue;
    have -= 8;
    checked[bytes++] = static_cast<std::byte>(bits >> have);
  }
  if (digits != kDigits)
    return std::unexpected("a token has " + std::to_string(kDigits) +
                           " letters and digits; this one has " +
                           (digits > kDigits ? "more" : std::to_string(digits)));
  Token token{};
  std::copy_n(checked.begin(), kTokenBytes, token.begin());
  if (with_checksum(token) != checked)
    return std::unexpected(std::string("the token is mistyped: its checksum is wrong"));
  return token;
}

std::string addressed_token_text(const AddressedToken& invitation) {
  CHECK(invitation.addresses.size() <= AddressedToken::kMaxAddresses);
  std::string text = token_text(invitation.token);
  for (const std::string& address : invitation.addresses)
    text += (&address == &invitation.addresses.front() ? '@' : ',') + address;
  return text;
}

Result<AddressedToken> parse_addressed_token(std::string_view text) {
  if (text.size() > AddressedToken::kMaxText)
    return std::unexpected(std::string("this is too long for a token; copy it again"));
  AddressedToken invitation;
  const std::size_t at = text.find('@');
  TRY(token, parse_token(text.substr(0, at)));
  invitation.token = token;
  for (std::size_t begin = at; begin != std::string_view::npos;) {
    const std::size_t end = text.find(',', begin + 1);
    std::string_view address = text.substr(begin + 1, end == text.npos ? end : end - begin - 1);
    constexpr std::string_view kBlanks = " \t\r\n";
    address.remove_prefix(std::min(address.find_first_not_of(kBlanks), address.size()));
    address = address.substr(0, address.find_last_not_of(kBlanks) + 1);
    if (address.empty() || invitation.addresses.size() == AddressedToken::kMaxAddresses)
      return std::unexpected("after @ a token has 1 to " +
                             std::to_string(AddressedToken::kMaxAddresses) +
                             " addresses, separated by commas; copy it again");
    invitation.addresses.emplace_back(address);
    begin = end;
  }
  return invitation;
}

// --- the membership as text ---

std::string membership_text(const Membership& membership) {
  std::string text = membership.cluster + '\n' + std::to_string(membership.port) + '\n' +
                     membership.member + "\n\n";
  for (const KeyLine& line : membership.keys) text += text_of(line) + '\n';
  return text;
}

std::optional<Membership> parse_membership(std::string_view text) {
  Membership membership;
  std::array<std::string_view, 4> lines;
  for (std::string_view& line : lines) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    line = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  const std::string_view port = lines[1];
  const auto [rest, error] =
      std::from_chars(port.data(), port.data() + port.size(), membership.port);
  if (error != std::errc{} || rest != port.data() + port.size() || membership.port == 0 ||
      !lines[3].empty())
    return std::nullopt;
  membership.cluster = printable(lines[0]);
  membership.member = printable(lines[2]);
  auto keys = parse_keys(text);
  if (membership.cluster != lines[0] || membership.cluster.empty() || !keys) return std::nullopt;
  membership.keys = *std::move(keys);
  return membership;
}

// --- the newcomer ---

bool is_join_request(std::span<const std::byte> bytes) { return has_head(bytes, Kind::request); }

JoinAttempt::JoinAttempt(const Token& token, std::string_view name) : token_(token) {
  fill_random(number_);
  Contents contents{.number = number_, .text = printable(name) + '\n'};
  contents.text.resize(kMaxContents - kNumberBytes, ' ');  // as long as the longest answer
  request_ = packet(Kind::request, token_, bytes_of(contents));
}

std::optional<Membership> JoinAttempt::open(std::span<const std::byte> bytes) const {
  const auto contents = open_packet(Kind::answer, token_, bytes);
  if (!contents || contents->number != number_) return std::nullopt;
  return parse_membership(contents->text);
}

// --- the member ---

std::optional<Token> Invitations::invite(BootTime now) {
  std::erase_if(invitations_, [&](const Invitation& one) { return one.until <= now; });
  if (invitations_.size() == kMax) return std::nullopt;
  Invitation& fresh = invitations_.emplace_back();
  fill_random(fresh.token);
  fresh.id = id_of(fresh.token);
  fresh.until = now + kValidFor;
  return fresh.token;
}

// The valid invitation that the request names. The number of requests that are opened is limited:
// an id is in clear and can be repeated by an attacker.
Invitations::Invitation* Invitations::find(BootTime now, std::span<const std::byte> request) {
  if (!is_join_request(request)) return nullptr;
  const auto named = std::ranges::find(invitations_, id_in(request), &Invitation::id);
  if (named == invitations_.end() || named->until <= now) return nullptr;
  if (now >= second_) {
    second_ = now + std::chrono::seconds(1);
    opened_ = 0;
  }
  if (opened_ == kMaxPerSecond) return nullptr;
  ++opened_;
  return &*named;
}

std::optional<Invitations::Joined> Invitations::receive(BootTime now,
                                                        std::span<const std::byte> request,
                                                        const Membership& membership) {
  Invitation* const invitation = find(now, request);
  const auto contents =
      invitation == nullptr ? std::nullopt : open_packet(Kind::request, invitation->token, request);
  if (!contents || invitation->number.value_or(contents->number) != contents->number) {
    ++refused_;
    return std::nullopt;
  }
  const bool first = !invitation->number;
  invitation->number = contents->number;
  joined_ += first ? 1 : 0;
  const Contents answer{.number = contents->number, .text = membership_text(membership)};
  CHECK(answer.text.size() <= kMaxContents - kNumberBytes);
  return Joined{.name = printable(contents->text.substr(0, contents->text.find('\n'))),
                .answer = packet(Kind::answer, invitation->token, bytes_of(answer)),
                .first = first};
}

}  // namespace tempo::auth
