// Fuzzes invitations. The first byte says what the rest is: a token as an operator types it, a
// datagram to a member or to a newcomer, or the contents of a box that a holder of the token
// sealed.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.h"
#include "protocol/auth/invitation.h"

namespace tempo::auth {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data, size).subspan(1));
  const BootTime now{std::chrono::seconds(1)};
  static Invitations member;
  static const Token token = member.invite(now).value();
  static const JoinAttempt newcomer(token, "fuzz");
  switch (data[0] % 4) {
    case 0: {
      const auto parsed = parse_token({reinterpret_cast<const char*>(rest.data()), rest.size()});
      if (parsed) CHECK(parse_token(token_text(*parsed)) == *parsed);
      if (!parsed) CHECK(!parsed.error().empty());
      return 0;
    }
    case 1:
      CHECK(!member.receive(now, rest, {}));
      return 0;
    case 2:
      CHECK(!newcomer.open(rest));
      return 0;
    default:
      if (const auto parsed =
              parse_membership({reinterpret_cast<const char*>(rest.data()), rest.size()}))
        CHECK(parse_membership(membership_text(*parsed)) == *parsed);
      return 0;
  }
}

}  // namespace tempo::auth
