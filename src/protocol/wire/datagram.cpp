#include "protocol/wire/datagram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "protocol/wire/bytes.h"
#include "protocol/wire/layout.h"

namespace tempo::wire {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Error::count)> kErrorNames{
    "too_short",   "too_long",   "wrong_version", "wrong_revision", "wrong_length", "no_sender",
    "bad_section", "two_bodies", "no_body",       "bad_kind",       "bad_name",     "bad_value"};

enum class Section : std::uint8_t {
  name = 1,
  view = 2,
  election = 3,
  time = 4,
  sync = 5,
  diagnostic = 6,
  lock = 7,
  pass = 8,
  standing = 9,
  voter_set = 10,
  group = 11,
  voters = 12,
  next_voters = 13,
  bounded_delay = 14,
  beat = 15,
  signatures = 16,
  hello = 17,
  announcement = 18,
  claims = 19,
  inside = 20,
  membership = 21,
  agreed_view = 22,
  next_view = 23
};

constexpr double kShortSteps = 1024;
constexpr std::uint16_t kMaxShortBound = 1 + 62 * 1024;  // kMaxNanos

constexpr std::size_t kSectionHeadBytes = 2;
constexpr std::size_t kMaxSectionBytes = 255;  // without tag and length
constexpr std::size_t kViewBytes = 8;
static_assert(std::max({DiagnosticBody::kMaxBytes, LockBody::kMaxBytes, LockStanding::kMaxBytes,
                        LockVoters::kMaxBytes, LockInside::kMaxBytes, VoterSetBody::kMaxBytes,
                        GroupBody::kMaxBytes, GroupSignaturesBody::kMaxBytes,
                        LockClaimsBody::kMaxBytes, MutexBody::kMaxBytes, BeatBody::kMaxBytes,
                        AnnouncementBody::kMaxBytes, MembershipBody::kBytes,
                        ViewBody::kMaxBytes}) <= kMaxSectionBytes);
// The longest datagrams fit: a body with name, view and time; a lock with all its sections.
static_assert(kHeaderBytes + 5 * kSectionHeadBytes + kMaxName + kViewBytes + TimeBody::kBytes +
                  GroupBody::kMaxBytes + GroupSignaturesBody::kMaxBytes + kTagBytes <=
              kMaxBytes);
static_assert(kHeaderBytes + (6 + kMaxLockStandings) * kSectionHeadBytes + kMaxName + kViewBytes +
                  LockBody::kMaxBytes + LockPass::kBytes +
                  kMaxLockStandings * LockStanding::kMaxBytes + 2 * LockVoters::kMaxBytes +
                  kTagBytes <=
              kMaxBytes);
static_assert(kHeaderBytes + 7 * kSectionHeadBytes + kMaxName + kViewBytes + LockBody::kMaxBytes +
                  2 * LockVoters::kMaxBytes + LockClaimsBody::kMaxBytes + LockInside::kMaxBytes +
                  kTagBytes <=
              kMaxBytes);

static_assert(kHeaderBytes + 4 * kSectionHeadBytes + kViewBytes + MembershipBody::kBytes +
                  2 * ViewBody::kMaxBytes + kTagBytes <=
              kMaxBytes);

// The header as it is on the wire: the part that every revision has, then that of this one.
struct StatedHeader {
  Header header{};
  std::uint16_t length = 0;  // of the whole datagram
  bool common = false;       // the common part only

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    auto& header = self.header;
    io.constant(kMagic);
    io.constant(kVersion);
    io(header.revision);
    io.constant(std::uint8_t{0});  // flags: none defined
    io(self.length, header.other_key);
    io(header.cluster, header.sender, header.incarnation, header.key);
    if (!self.common) io(header.number, header.nonce, header.challenge, header.response);
  }
};

Result<StatedHeader, Error> read_common(std::span<const std::byte> bytes) {
  if (bytes.size() >= 2 && (bytes[0] != std::byte{kMagic} || bytes[1] != std::byte{kVersion}))
    return std::unexpected(Error::wrong_version);
  if (bytes.size() < kCommonBytes) return std::unexpected(Error::too_short);
  StatedHeader stated{.common = true};
  FieldReader io{Reader(bytes)};
  io(stated);
  return stated;
}

// `size` is that of the whole datagram with its authenticator, which the header must state;
// nullopt: the size of `bytes`, plus that of the authenticator if the header names a key.
Result<Header, Error> read_header(std::span<const std::byte> bytes, std::optional<std::size_t> size,
                                  std::uint8_t own) {
  TRY(common, read_common(bytes));
  const std::uint8_t revision = common.header.revision;
  if (revision < kOldestRevision || revision + 1 < own || revision > own + 1)
    return std::unexpected(Error::wrong_revision);
  if (bytes.size() < kHeaderBytes) return std::unexpected(Error::too_short);
  TRY(stated, read_body<StatedHeader>(Reader(bytes)));
  const Header& header = stated.header;
  const std::size_t whole = size.value_or(bytes.size() + (header.key == kNoKey ? 0 : kTagBytes));
  if (whole > kMaxBytes) return std::unexpected(Error::too_long);
  if (stated.length != whole) return std::unexpected(Error::wrong_length);
  if (header.sender == kNoHost) return std::unexpected(Error::no_sender);
  return header;
}

// Writes a section; its length follows from its body.
template <class Body>
void write_section(Writer& out, Section section, const Body& body) {
  std::array<std::byte, kMaxSectionBytes> bytes;
  Writer inner(bytes);
  write_body(inner, body);
  out.put(std::to_underlying(section));
  out.put(static_cast<std::uint8_t>(inner.written()));
  out.put_bytes(std::span(bytes).first(inner.written()));
}

// By the index of the body in its variant.
constexpr std::array kBodySections{Section::election,      Section::sync,      Section::diagnostic,
                                   Section::lock,          Section::voter_set, Section::group,
                                   Section::bounded_delay, Section::beat,      Section::hello,
                                   Section::announcement,  Section::membership};
static_assert(kBodySections.size() == std::variant_size_v<Datagram::Body>);

// A set of sections; those of later revisions are in no set.
constexpr std::uint32_t bit(Section section) {
  const bool known = section >= Section::name && section <= Section::next_view;
  return known ? 1U << std::to_underlying(section) : 0;
}
constexpr std::uint32_t kBodyBits =
    std::transform_reduce(kBodySections.begin(), kBodySections.end(), 0U, std::bit_or{}, bit);
constexpr std::uint32_t kLockPartBits = bit(Section::pass) | bit(Section::voters) |
                                        bit(Section::next_voters) | bit(Section::claims) |
                                        bit(Section::inside);
constexpr std::uint32_t kMembershipPartBits = bit(Section::agreed_view) | bit(Section::next_view);

void write_parts(Writer& out, const LockBody& body) {
  if (body.set.number != 0) write_section(out, Section::voters, body.set);
  if (body.next.number != 0) write_section(out, Section::next_voters, body.next);
  if (body.pass.target == kNoHost) {
    if (!body.claims.empty()) write_section(out, Section::claims, LockClaimsBody{body.claims});
    if (body.inside.sub != 0) write_section(out, Section::inside, body.inside);
    return;
  }
  write_section(out, Section::pass, body.pass);
  for (const LockStanding& standing : body.pass.standings)
    write_section(out, Section::standing, standing);
}
void write_parts(Writer& out, const GroupBody& body) {
  if (!body.signatures.empty())
    write_section(out, Section::signatures, GroupSignaturesBody{body.signatures});
}
void write_parts(Writer& out, const MembershipBody& body) {
  if (body.view.lineage != 0) write_section(out, Section::agreed_view, body.view);
  if (body.next.lineage != 0) write_section(out, Section::next_view, body.next);
}
void write_parts(Writer& /*out*/, const auto& /*body*/) {}

template <class Body>
std::optional<Error> read_into(Body& body, Reader in) {
  body = Body{};
  FieldReader io(in);
  io(body);
  return io.error();
}

// Reads one of the bodies; skips a section of a later revision.
template <class... Bodies>
std::optional<Error> read_one_of(std::variant<Bodies...>& body, Section section, Reader in) {
  std::optional<Error> error;
  std::size_t at = 0;
  const auto read_if = [&]<class Body>(std::in_place_type_t<Body>) {
    if (section == kBodySections[at++]) error = read_into(body.template emplace<Body>(), in);
  };
  (read_if(std::in_place_type<Bodies>), ...);
  return error;
}

// Reads the sections of a datagram one by one.
class Parser {
 public:
  explicit Parser(Datagram& datagram) : datagram_(datagram) {}

  std::optional<Error> add(Section section, Reader in) {
    if (const auto error = read(section, in)) return error;
    if (section == Section::standing) return std::nullopt;
    if ((seen_ & bit(section)) != 0) return Error::two_bodies;
    seen_ |= bit(section);
    return std::nullopt;
  }

  std::optional<Error> finish() {
    if (std::popcount(seen_ & kBodyBits) > 1) return Error::two_bodies;
    auto* const lock = std::get_if<LockBody>(&datagram_.body);
    auto* const group = std::get_if<GroupBody>(&datagram_.body);
    auto* const membership = std::get_if<MembershipBody>(&datagram_.body);
    if ((seen_ & kBodyBits) == 0 || (!standings_.empty() && !seen(Section::pass)) ||
        ((seen_ & kLockPartBits) != 0 && lock == nullptr) ||
        (seen(Section::signatures) && group == nullptr) ||
        ((seen_ & kMembershipPartBits) != 0 && membership == nullptr))
      return Error::no_body;
    if (lock != nullptr) {
      lock->pass = pass_;
      lock->pass.standings = standings_;
      lock->set = voters_;
      lock->next = next_voters_;
      lock->claims = claims_.claims;
      lock->inside = inside_;
    }
    if (group != nullptr) group->signatures = signatures_.signatures;
    if (membership != nullptr) {
      membership->view = agreed_view_;
      membership->next = next_view_;
    }
    return std::nullopt;
  }

 private:
  bool seen(Section section) const { return (seen_ & bit(section)) != 0; }

  std::optional<Error> read(Section section, Reader in) {
    switch (section) {
      case Section::name:
        return read_into(datagram_.name, in);
      case Section::view:
        return read_into(datagram_.view, in);
      case Section::time:
        return read_into(datagram_.time.emplace(), in);
      case Section::pass:
        return read_into(pass_, in);
      case Section::standing:
        return read_standing(in);
      case Section::voters:
        return read_into(voters_, in);
      case Section::next_voters:
        return read_into(next_voters_, in);
      case Section::claims:
        return read_into(claims_, in);
      case Section::inside:
        return read_into(inside_, in);
      case Section::signatures:
        return read_into(signatures_, in);
      case Section::agreed_view:
        return read_into(agreed_view_, in);
      case Section::next_view:
        return read_into(next_view_, in);
      default:
        return read_one_of(datagram_.body, section, in);
    }
  }
  std::optional<Error> read_standing(Reader in) {
    LockStanding standing;
    if (const auto error = read_into(standing, in)) return error;
    if (standings_.full()) return Error::two_bodies;
    standings_.push_back(standing);
    return std::nullopt;
  }
  Datagram& datagram_;
  std::uint32_t seen_ = 0;  // the sections read, but no standings
  // Sections of a lock, of a group, and of a message about the main part.
  LockPass pass_;
  InlineVector<LockStanding, kMaxLockStandings> standings_;
  LockVoters voters_;
  LockVoters next_voters_;
  LockClaimsBody claims_;
  LockInside inside_;
  GroupSignaturesBody signatures_;
  ViewBody agreed_view_;
  ViewBody next_view_;
};

}  // namespace

std::string_view name_of(Error error) {
  CHECK(error < Error::count);
  return kErrorNames[std::to_underlying(error)];
}

ShortKey short_key(KeyId key) {
  if (key == kNoKey) return kOpensUnsealed;
  constexpr std::uint32_t kReserved = 2;
  return ShortKey{static_cast<std::uint16_t>(std::max(std::to_underlying(key) >> 16U, kReserved))};
}

std::uint64_t bound_of(std::uint16_t written) {
  if (written == 0) return 0;
  const double steps = std::min(written, kMaxShortBound) - 1;
  return static_cast<std::uint64_t>(std::ceil(std::exp2(steps / kShortSteps)));
}

// The smallest code whose bound is not less.
std::uint16_t short_bound(std::uint64_t bound_ns) {
  if (bound_ns == 0) return 0;
  const double steps = std::ceil(kShortSteps * std::log2(static_cast<double>(bound_ns)));
  const auto rounded = static_cast<std::uint16_t>(std::min<double>(1 + steps, kMaxShortBound));
  const auto less = static_cast<std::uint16_t>(rounded - 1);
  return less > 0 && bound_of(less) >= bound_ns ? less : rounded;
}

Result<Header, Error> parse_header(std::span<const std::byte> bytes, std::uint8_t own) {
  return read_header(bytes, bytes.size(), own);
}

std::optional<Header> stated_header(std::span<const std::byte> bytes) {
  const Result<StatedHeader, Error> common = read_common(bytes);
  return common ? std::optional(common->header) : std::nullopt;
}

std::optional<Error> parse_into(Datagram& datagram, const Header& header,
                                std::span<const std::byte> bytes) {
  CHECK(bytes.size() >= kHeaderBytes);
  datagram.header = header;
  Parser parser(datagram);
  Reader in(bytes.subspan(kHeaderBytes));
  while (in.left() > 0) {
    if (in.left() < kSectionHeadBytes) return Error::bad_section;
    const Section section{in.take<std::uint8_t>()};
    const auto length = in.take<std::uint8_t>();
    if (in.left() < length) return Error::bad_section;
    if (const auto error = parser.add(section, Reader(in.take_bytes(length)))) return error;
  }
  return parser.finish();
}

Result<Datagram, Error> parse(std::span<const std::byte> bytes, std::uint8_t own) {
  TRY(header, read_header(bytes, std::nullopt, own));
  Result<Datagram, Error> datagram;
  if (const auto error = parse_into(*datagram, header, bytes)) return std::unexpected(*error);
  return datagram;
}

std::size_t write(const Datagram& datagram, std::span<std::byte, kMaxBytes> out) {
  CHECK(datagram.header.sender != kNoHost);
  Writer sections(out.subspan(kHeaderBytes));
  if (datagram.name.size() > 0) write_section(sections, Section::name, datagram.name);
  if (datagram.view != 0) write_section(sections, Section::view, datagram.view);
  std::visit(
      [&](const auto& body) {
        write_section(sections, kBodySections[datagram.body.index()], body);
        write_parts(sections, body);
      },
      datagram.body);
  if (datagram.time) write_section(sections, Section::time, *datagram.time);

  const std::size_t size = kHeaderBytes + sections.written();
  const std::size_t whole = size + (datagram.header.key == kNoKey ? 0 : kTagBytes);
  Writer front(out);
  write_body(front,
             StatedHeader{.header = datagram.header, .length = static_cast<std::uint16_t>(whole)});
  return size;
}

}  // namespace tempo::wire
