#include "protocol/wire/datagram.h"

#include <algorithm>
#include <array>
#include <cmath>
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
  signatures = 16
};

constexpr double kShortSteps = 1024;
constexpr std::uint16_t kMaxShortBound = 1 + 62 * 1024;  // kMaxNanos

constexpr std::size_t kSectionHeadBytes = 2;
constexpr std::size_t kMaxSectionBytes = 255;  // without tag and length
constexpr std::size_t kViewBytes = 8;
static_assert(std::max({DiagnosticBody::kMaxBytes, LockBody::kMaxBytes, LockStanding::kMaxBytes,
                        LockVoters::kMaxBytes, VoterSetBody::kMaxBytes, GroupBody::kMaxBytes,
                        GroupSignaturesBody::kMaxBytes, MutexBody::kMaxBytes,
                        BeatBody::kMaxBytes}) <= kMaxSectionBytes);
// The longest datagrams fit: a body with name, view and time; a lock with all its sections.
static_assert(kHeaderBytes + 5 * kSectionHeadBytes + kMaxName + kViewBytes + TimeBody::kBytes +
                  GroupBody::kMaxBytes + GroupSignaturesBody::kMaxBytes + kTagBytes <=
              kMaxBytes);
static_assert(kHeaderBytes + (6 + kMaxLockStandings) * kSectionHeadBytes + kMaxName + kViewBytes +
                  LockBody::kMaxBytes + LockPass::kBytes +
                  kMaxLockStandings * LockStanding::kMaxBytes + 2 * LockVoters::kMaxBytes +
                  kTagBytes <=
              kMaxBytes);

// The header as it is on the wire.
struct StatedHeader {
  Header header{};
  std::uint16_t length = 0;  // of the whole datagram

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    auto& header = self.header;
    io.constant(kMagic);
    io.constant(kVersion);
    io(header.revision);
    io.constant(std::uint8_t{0});  // flags: none defined
    io(self.length);
    io.constant(std::uint16_t{0});
    io(header.cluster, header.sender, header.incarnation, header.key, header.number);
    io(header.instance);
    io.constant(std::uint32_t{0});
  }
};

Result<StatedHeader, Error> read_stated(std::span<const std::byte> bytes) {
  if (bytes.size() >= 2 && (bytes[0] != std::byte{kMagic} || bytes[1] != std::byte{kVersion}))
    return std::unexpected(Error::wrong_version);
  if (bytes.size() < kHeaderBytes) return std::unexpected(Error::too_short);
  return read_body<StatedHeader>(Reader(bytes));
}

// `size` is that of the whole datagram with its authenticator, which the header must state;
// nullopt: the size of `bytes`, plus that of the authenticator if the header names a key.
Result<Header, Error> read_header(std::span<const std::byte> bytes, std::optional<std::size_t> size,
                                  std::uint8_t own) {
  TRY(stated, read_stated(bytes));
  const Header& header = stated.header;
  const std::size_t whole = size.value_or(bytes.size() + (header.key == kNoKey ? 0 : kTagBytes));
  if (whole > kMaxBytes) return std::unexpected(Error::too_long);
  if (header.revision + 1 < own || header.revision > own + 1)
    return std::unexpected(Error::wrong_revision);
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

int bodies_of(const Datagram& datagram) {
  const std::array bodies{datagram.election.has_value(),      datagram.sync.has_value(),
                          datagram.diagnostic.has_value(),    datagram.lock.has_value(),
                          datagram.voter_set.has_value(),     datagram.group.has_value(),
                          datagram.bounded_delay.has_value(), datagram.beat.has_value()};
  return static_cast<int>(std::ranges::count(bodies, true));
}

void write_lock(Writer& out, const LockBody& body) {
  write_section(out, Section::lock, body);
  if (body.set.number != 0) write_section(out, Section::voters, body.set);
  if (body.next.number != 0) write_section(out, Section::next_voters, body.next);
  if (body.pass.target == kNoHost) return;
  write_section(out, Section::pass, body.pass);
  for (const LockStanding& standing : body.pass.standings)
    write_section(out, Section::standing, standing);
}

// Stores a section that may occur once.
template <class T>
std::optional<Error> read_once(std::optional<T>& place, Reader in) {
  const Result<T, Error> read = read_body<T>(in);
  if (!read) return read.error();
  if (place) return Error::two_bodies;
  place = *read;
  return std::nullopt;
}

std::optional<Error> append(InlineVector<LockStanding, kMaxLockStandings>& all, Reader in) {
  const Result<LockStanding, Error> read = read_body<LockStanding>(in);
  if (!read) return read.error();
  if (all.full()) return Error::two_bodies;
  all.push_back(*read);
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Error error) {
  CHECK(error < Error::count);
  return kErrorNames[std::to_underlying(error)];
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
  const Result<StatedHeader, Error> stated = read_stated(bytes);
  return stated ? std::optional(stated->header) : std::nullopt;
}

Result<Datagram, Error> parse(std::span<const std::byte> bytes, std::uint8_t own) {
  Datagram datagram;
  TRY(header, read_header(bytes, std::nullopt, own));
  datagram.header = header;

  std::optional<Name> name;
  std::optional<std::uint64_t> view;
  std::optional<LockPass> pass;
  std::optional<LockVoters> voters;
  std::optional<LockVoters> next_voters;
  std::optional<GroupSignaturesBody> signatures;
  InlineVector<LockStanding, kMaxLockStandings> standings;
  Reader in(bytes.subspan(kHeaderBytes));
  while (in.left() > 0) {
    if (in.left() < kSectionHeadBytes) return std::unexpected(Error::bad_section);
    const auto tag = in.take<std::uint8_t>();
    const auto length = in.take<std::uint8_t>();
    if (in.left() < length) return std::unexpected(Error::bad_section);
    const Reader body(in.take_bytes(length));
    std::optional<Error> error;
    switch (Section{tag}) {
      case Section::name:
        error = read_once(name, body);
        break;
      case Section::view:
        error = read_once(view, body);
        break;
      case Section::election:
        error = read_once(datagram.election, body);
        break;
      case Section::time:
        error = read_once(datagram.time, body);
        break;
      case Section::sync:
        error = read_once(datagram.sync, body);
        break;
      case Section::diagnostic:
        error = read_once(datagram.diagnostic, body);
        break;
      case Section::lock:
        error = read_once(datagram.lock, body);
        break;
      case Section::pass:
        error = read_once(pass, body);
        break;
      case Section::standing:
        error = append(standings, body);
        break;
      case Section::voter_set:
        error = read_once(datagram.voter_set, body);
        break;
      case Section::group:
        error = read_once(datagram.group, body);
        break;
      case Section::bounded_delay:
        error = read_once(datagram.bounded_delay, body);
        break;
      case Section::beat:
        error = read_once(datagram.beat, body);
        break;
      case Section::voters:
        error = read_once(voters, body);
        break;
      case Section::next_voters:
        error = read_once(next_voters, body);
        break;
      case Section::signatures:
        error = read_once(signatures, body);
        break;
      default:
        break;  // a section of a later revision
    }
    if (error) return std::unexpected(*error);
  }
  const int bodies = bodies_of(datagram);
  if (bodies > 1) return std::unexpected(Error::two_bodies);
  if (bodies == 0) return std::unexpected(Error::no_body);
  if (!standings.empty() && !pass) return std::unexpected(Error::no_body);
  if (pass) {
    if (!datagram.lock) return std::unexpected(Error::no_body);
    datagram.lock->pass = *pass;
    datagram.lock->pass.standings = standings;
  }
  if ((voters || next_voters) && !datagram.lock) return std::unexpected(Error::no_body);
  if (voters) datagram.lock->set = *voters;
  if (next_voters) datagram.lock->next = *next_voters;
  if (signatures && !datagram.group) return std::unexpected(Error::no_body);
  if (signatures) datagram.group->signatures = signatures->signatures;
  datagram.name = name.value_or(Name{});
  datagram.view = view.value_or(0);
  return datagram;
}

std::size_t write(const Datagram& datagram, std::span<std::byte, kMaxBytes> out) {
  CHECK(datagram.header.sender != kNoHost);
  CHECK(bodies_of(datagram) == 1);
  Writer sections(out.subspan(kHeaderBytes));
  const auto write_if = [&](Section section, const auto& body) {
    if (body) write_section(sections, section, *body);
  };
  if (datagram.name.size() > 0) write_section(sections, Section::name, datagram.name);
  if (datagram.view != 0) write_section(sections, Section::view, datagram.view);
  write_if(Section::election, datagram.election);
  write_if(Section::time, datagram.time);
  write_if(Section::sync, datagram.sync);
  write_if(Section::diagnostic, datagram.diagnostic);
  if (datagram.lock) write_lock(sections, *datagram.lock);
  write_if(Section::voter_set, datagram.voter_set);
  write_if(Section::group, datagram.group);
  if (datagram.group && !datagram.group->signatures.empty())
    write_section(sections, Section::signatures, GroupSignaturesBody{datagram.group->signatures});
  write_if(Section::bounded_delay, datagram.bounded_delay);
  write_if(Section::beat, datagram.beat);

  const std::size_t size = kHeaderBytes + sections.written();
  const std::size_t whole = size + (datagram.header.key == kNoKey ? 0 : kTagBytes);
  Writer front(out);
  write_body(front, StatedHeader{datagram.header, static_cast<std::uint16_t>(whole)});
  return size;
}

}  // namespace tempo::wire
