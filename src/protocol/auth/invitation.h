// Invitations: a newcomer gets the name and the keys of a cluster for a token, once.
//
// A member makes a token (`tempo invite`) and an operator carries it to the newcomer (`tempo
// join`), which sends a request to the members; the member that made the token answers. Request and
// answer are boxes (secret_box.h) under keys derived from the token, so that nothing is learnt
// without it. Only an id of the token, a hash, is in clear.
//
// A token is valid for ten minutes and for one newcomer: the first valid request binds it to a
// random number of that newcomer, which may repeat its request, because an answer may be lost.
// Every other request has no answer and is counted. A request is at least as long as its answer, so
// a member amplifies nothing. doc/reference/wire.md specifies every byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "protocol/auth/key_rotation.h"

namespace tempo::auth {

using Token = std::array<std::byte, 16>;
using Bytes = std::vector<std::byte>;

// 32 letters and digits in groups of four, with a checksum: "abcd-efgh-...". Parsing ignores case,
// blanks and hyphens; the error says what is wrong with the text.
std::string token_text(const Token& token);
Result<Token> parse_token(std::string_view text);

// A token with addresses of the member that made it, so that a newcomer beyond a router can ask it:
// "abcd-efgh-...@192.0.2.7,198.51.100.7". Without addresses it is the token alone. Parsing does not
// look at the form of an address.
struct AddressedToken {
  static constexpr std::size_t kMaxAddresses = 8;
  static constexpr std::size_t kMaxText = 512;

  Token token{};
  std::vector<std::string> addresses{};  // at most kMaxAddresses

  bool operator==(const AddressedToken&) const = default;
};
std::string addressed_token_text(const AddressedToken& invitation);
Result<AddressedToken> parse_addressed_token(std::string_view text);

// The facts that a newcomer needs.
struct Membership {
  std::string cluster{};   // name of the cluster
  std::uint16_t port = 0;  // UDP port
  std::string member{};    // name of the member that answers
  KeyLines keys{};         // its key file

  bool operator==(const Membership&) const = default;
};

// Three lines, an empty one, and the key file. nullopt: not such a text.
std::string membership_text(const Membership& membership);
std::optional<Membership> parse_membership(std::string_view text);

inline constexpr std::size_t kJoinBytes = 1024;  // longest request and longest answer

bool is_join_request(std::span<const std::byte> bytes);

// One attempt of a newcomer.
class JoinAttempt {
 public:
  JoinAttempt(const Token& token, std::string_view name);  // name of the newcomer

  const Bytes& request() const { return request_; }  // to send, and to send again
  // nullopt: not an answer to this attempt.
  std::optional<Membership> open(std::span<const std::byte> bytes) const;

 private:
  Token token_;
  std::array<std::byte, 16> number_{};
  Bytes request_;
};

// The invitations of one member.
class Invitations {
 public:
  static constexpr std::size_t kMax = 16;
  static constexpr Nanos kValidFor = std::chrono::minutes(10);
  static constexpr std::uint32_t kMaxPerSecond = 16;  // requests that name a known token

  // A new token; nullopt: kMax are valid.
  std::optional<Token> invite(BootTime now);

  struct Joined {
    std::string name;  // of the newcomer
    Bytes answer;
    bool first = false;  // false: it has asked before
  };
  // nullopt: silence.
  std::optional<Joined> receive(BootTime now, std::span<const std::byte> request,
                                const Membership& membership);

  std::uint64_t refused() const { return refused_; }  // requests without an answer
  std::uint64_t joined() const { return joined_; }    // newcomers

 private:
  struct Invitation {
    Token token{};
    std::uint64_t id = 0;
    BootTime until{};
    std::optional<std::array<std::byte, 16>> number{};  // of the newcomer that has used it
  };

  Invitation* find(BootTime now, std::span<const std::byte> request);

  std::vector<Invitation> invitations_;  // at most kMax
  BootTime second_{};                    // end of the present second
  std::uint32_t opened_ = 0;             // requests opened in it
  std::uint64_t refused_ = 0;
  std::uint64_t joined_ = 0;
};

}  // namespace tempo::auth
