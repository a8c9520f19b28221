// Each section has one function that takes its fields and one that puts them, both in the order of
// the tables in doc/reference/wire.md.
#include "protocol/wire/datagram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "protocol/wire/bytes.h"

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

constexpr std::size_t kSectionHeadBytes = 2;
constexpr std::size_t kViewBytes = 8;
constexpr std::size_t kElectionBytes = 60;
constexpr std::size_t kTimeBytes = 24;
constexpr std::size_t kSyncBytes = 60;
constexpr std::size_t kDiagnosticBytes = 8;  // without the text
constexpr std::size_t kReelectBytes = kDiagnosticBytes + 16;
static_assert(kElectionBytes <= kDiagnosticBytes + DiagnosticBody::kMaxText &&
              kSyncBytes <= kDiagnosticBytes + DiagnosticBody::kMaxText);
static_assert(kHeaderBytes + 4 * kSectionHeadBytes + kMaxName + kViewBytes + kTimeBytes +
                  kDiagnosticBytes + DiagnosticBody::kMaxText + kTagBytes <=
              kMaxBytes);
static_assert(kMaxMutexBytes <= kMaxBeatBytes && kMaxBeatBytes <= 255);
static_assert(kMaxLockVotersBytes <= 255 && kMaxLockBytes <= 255 && kMaxLockStandingBytes <= 255 &&
              kMaxVoterSetBytes <= 255 && kGroupFixedBytes + kMaxGroupName <= 255 &&
              kMaxGroupSignatureBytes <= 255);
static_assert(kHeaderBytes + (6 + kMaxLockStandings) * kSectionHeadBytes + kMaxName + kViewBytes +
                  kMaxLockBytes + kLockPassBytes + kMaxLockStandings * kMaxLockStandingBytes +
                  2 * kMaxLockVotersBytes + kTagBytes <=
              kMaxBytes);

constexpr bool in_range(std::int64_t nanos) { return nanos >= -kMaxNanos && nanos <= kMaxNanos; }
constexpr bool in_range(std::uint64_t nanos) {
  return nanos <= static_cast<std::uint64_t>(kMaxNanos);
}
constexpr std::int64_t clamped(std::int64_t nanos) {
  return std::clamp(nanos, -kMaxNanos, kMaxNanos);
}
constexpr std::uint64_t clamped(std::uint64_t nanos) {
  return std::min(nanos, static_cast<std::uint64_t>(kMaxNanos));
}
std::int64_t not_negative(Nanos span) {
  CHECK(span >= Nanos{0});
  return clamped(span.count());
}

constexpr std::uint8_t bit(std::uint8_t number, bool set) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(set) << number);
}
constexpr bool bit_of(std::uint8_t flags, std::uint8_t number) {
  return (static_cast<unsigned>(flags) >> number) % 2 != 0;
}

struct Stated {
  Header header{};
  std::uint16_t length = 0;  // of the whole datagram
};

Result<Stated, Error> take_stated(std::span<const std::byte> bytes) {
  if (bytes.size() >= 2 && (bytes[0] != std::byte{kMagic} || bytes[1] != std::byte{kVersion}))
    return std::unexpected(Error::wrong_version);
  if (bytes.size() < kHeaderBytes) return std::unexpected(Error::too_short);

  Reader in(bytes);
  in.take_bytes(2);
  Header header;
  header.revision = in.take<std::uint8_t>();
  in.take<std::uint8_t>();  // flags: none defined
  const auto length = in.take<std::uint16_t>();
  in.take<std::uint16_t>();
  header.cluster = ClusterId{in.take<std::uint64_t>()};
  header.sender = HostId{in.take<std::uint64_t>()};
  header.incarnation = Incarnation{in.take<std::uint32_t>()};
  header.key = KeyId{in.take<std::uint32_t>()};
  header.number = in.take<std::uint64_t>();
  header.instance = in.take<std::uint32_t>();
  return Stated{.header = header, .length = length};
}

// `size` is that of the whole datagram with its authenticator, which the header must state;
// nullopt: the size of `bytes`, plus that of the authenticator if the header names a key.
Result<Header, Error> take_header(std::span<const std::byte> bytes, std::optional<std::size_t> size,
                                  std::uint8_t own) {
  TRY(stated, take_stated(bytes));
  const Header& header = stated.header;
  const std::size_t whole = size.value_or(bytes.size() + (header.key == kNoKey ? 0 : kTagBytes));
  if (whole > kMaxBytes) return std::unexpected(Error::too_long);
  if (header.revision + 1 < own || header.revision > own + 1)
    return std::unexpected(Error::wrong_revision);
  if (stated.length != whole) return std::unexpected(Error::wrong_length);
  if (header.sender == kNoHost) return std::unexpected(Error::no_sender);
  return header;
}

void put_header(Writer& out, const Header& header, std::size_t length) {
  out.put(kMagic);
  out.put(kVersion);
  out.put(header.revision);
  out.put(std::uint8_t{0});
  out.put(static_cast<std::uint16_t>(length));
  out.put(std::uint16_t{0});
  out.put(std::to_underlying(header.cluster));
  out.put(std::to_underlying(header.sender));
  out.put(std::to_underlying(header.incarnation));
  out.put(std::to_underlying(header.key));
  out.put(header.number);
  out.put(header.instance);
  out.put(std::uint32_t{0});
}

void put_section(Writer& out, Section section, std::size_t bytes) {
  out.put(std::to_underlying(section));
  out.put(static_cast<std::uint8_t>(bytes));
}

Result<Name, Error> take_name(std::span<const std::byte> body) {
  const auto name = Name::read(body);
  if (!name) return std::unexpected(Error::bad_name);
  return *name;
}

void put_name(Writer& out, const Name& name) {
  const std::string_view text = name.text();
  put_section(out, Section::name, text.size());
  out.put_bytes(std::as_bytes(std::span(text)));
}

Result<ElectionBody, Error> take_election(Reader in) {
  if (in.left() < kElectionBytes) return std::unexpected(Error::bad_section);
  ElectionBody body;
  body.kind = in.take<std::uint8_t>();
  const auto flags = in.take<std::uint8_t>();
  body.not_set = bit_of(flags, 0);
  body.was_master = bit_of(flags, 1);
  body.reluctance = in.take<std::uint8_t>();
  in.take<std::uint8_t>();
  body.sequence = in.take<std::uint64_t>();
  body.answers = in.take<std::uint64_t>();
  body.round = in.take<std::uint64_t>();
  body.epoch_host = HostId{in.take<std::uint64_t>()};
  body.epoch_incarnation = Incarnation{in.take<std::uint32_t>()};
  body.subject = HostId{in.take<std::uint64_t>()};
  body.subject_incarnation = Incarnation{in.take<std::uint32_t>()};
  body.age = Nanos{in.take<std::int64_t>()};
  if (body.kind >= ElectionBody::kKinds) return std::unexpected(Error::bad_kind);
  if (body.age < Nanos{0} || !in_range(body.age.count())) return std::unexpected(Error::bad_value);
  return body;
}

void put_election(Writer& out, const ElectionBody& body) {
  CHECK(body.kind < ElectionBody::kKinds);
  put_section(out, Section::election, kElectionBytes);
  out.put(body.kind);
  out.put(static_cast<std::uint8_t>(bit(0, body.not_set) | bit(1, body.was_master)));
  out.put(body.reluctance);
  out.put(std::uint8_t{0});
  out.put(body.sequence);
  out.put(body.answers);
  out.put(body.round);
  out.put(std::to_underlying(body.epoch_host));
  out.put(std::to_underlying(body.epoch_incarnation));
  out.put(std::to_underlying(body.subject));
  out.put(std::to_underlying(body.subject_incarnation));
  out.put(not_negative(body.age));
}

Result<TimeBody, Error> take_time(Reader in) {
  if (in.left() < kTimeBytes) return std::unexpected(Error::bad_section);
  TimeBody body;
  body.synchronized = bit_of(in.take<std::uint8_t>(), 0);
  body.hops = in.take<std::uint8_t>();
  in.take<std::uint16_t>();
  body.timescale_generation = in.take<std::uint32_t>();
  body.root = HostId{in.take<std::uint64_t>()};
  body.bound = Nanos{in.take<std::int64_t>()};
  if (body.bound < Nanos{0} || !in_range(body.bound.count()))
    return std::unexpected(Error::bad_value);
  return body;
}

void put_time(Writer& out, const TimeBody& body) {
  put_section(out, Section::time, kTimeBytes);
  out.put(bit(0, body.synchronized));
  out.put(body.hops);
  out.put(std::uint16_t{0});
  out.put(body.timescale_generation);
  out.put(std::to_underlying(body.root));
  out.put(not_negative(body.bound));
}

// Encodes a bound in two bytes, so that a probe has the length of its echo: 1 + 1024 log2 of
// nanoseconds, rounded up; 0: none.
constexpr double kShortSteps = 1024;
constexpr std::uint16_t kMaxShort = 1 + 62 * 1024;  // kMaxNanos

std::uint64_t bound_of(std::uint16_t written) {
  if (written == 0) return 0;
  const double steps = std::min(written, kMaxShort) - 1;
  return static_cast<std::uint64_t>(std::ceil(std::exp2(steps / kShortSteps)));
}

// The smallest code whose bound is not less, so that decoding and encoding again changes nothing.
std::uint16_t short_bound(std::uint64_t bound_ns) {
  if (bound_ns == 0) return 0;
  const double steps = std::ceil(kShortSteps * std::log2(static_cast<double>(bound_ns)));
  const auto rounded = static_cast<std::uint16_t>(std::min<double>(1 + steps, kMaxShort));
  const auto less = static_cast<std::uint16_t>(rounded - 1);
  return less > 0 && bound_of(less) >= bound_ns ? less : rounded;
}

Result<SyncBody, Error> take_sync(Reader in) {
  if (in.left() < kSyncBytes) return std::unexpected(Error::bad_section);
  SyncBody body;
  const auto kind = in.take<std::uint8_t>();
  if (kind >= SyncBody::kKinds) return std::unexpected(Error::bad_kind);
  body.kind = static_cast<SyncBody::Kind>(kind);
  const auto flags = in.take<std::uint8_t>();
  body.kernel_stamp = bit_of(flags, 0);
  body.will_follow = bit_of(flags, 1);
  body.objects = bit_of(flags, 2);
  const auto utc_bound = in.take<std::uint16_t>();
  if (body.kind == SyncBody::Kind::probe) body.utc_bound_ns = bound_of(utc_bound);
  body.exchange = in.take<std::uint32_t>();
  body.timescale_generation = in.take<std::uint32_t>();
  body.received_ns = in.take<std::int64_t>();
  body.sent_ns = in.take<std::int64_t>();
  body.offset_ns = in.take<std::int64_t>();
  body.rate_ppt = in.take<std::int64_t>();
  body.sigma_ns = in.take<std::uint64_t>();
  body.bound_ns = in.take<std::uint64_t>();
  if (!in_range(body.received_ns) || !in_range(body.sent_ns) || !in_range(body.offset_ns) ||
      body.rate_ppt < -kMaxRate || body.rate_ppt > kMaxRate || !in_range(body.sigma_ns) ||
      !in_range(body.bound_ns))
    return std::unexpected(Error::bad_value);
  return body;
}

void put_sync(Writer& out, const SyncBody& body) {
  CHECK(std::to_underlying(body.kind) < SyncBody::kKinds);
  put_section(out, Section::sync, kSyncBytes);
  out.put(std::to_underlying(body.kind));
  out.put(static_cast<std::uint8_t>(bit(0, body.kernel_stamp) | bit(1, body.will_follow) |
                                    bit(2, body.objects)));
  out.put(body.kind == SyncBody::Kind::probe ? short_bound(body.utc_bound_ns) : std::uint16_t{0});
  out.put(body.exchange);
  out.put(body.timescale_generation);
  out.put(clamped(body.received_ns));
  out.put(clamped(body.sent_ns));
  out.put(clamped(body.offset_ns));
  out.put(std::clamp(body.rate_ppt, -kMaxRate, kMaxRate));
  out.put(clamped(body.sigma_ns));
  out.put(clamped(body.bound_ns));
}

Result<DiagnosticBody, Error> take_diagnostic(Reader in) {
  if (in.left() < kDiagnosticBytes) return std::unexpected(Error::bad_section);
  DiagnosticBody body;
  const auto kind = in.take<std::uint8_t>();
  if (kind >= DiagnosticBody::kKinds) return std::unexpected(Error::bad_kind);
  body.kind = static_cast<DiagnosticBody::Kind>(kind);
  body.level = in.take<std::uint8_t>();
  body.part = in.take<std::uint8_t>();
  body.parts = in.take<std::uint8_t>();
  body.question = in.take<std::uint32_t>();
  if (body.level > 2) return std::unexpected(Error::bad_value);
  if (body.kind == DiagnosticBody::Kind::reelect) {
    if (in.left() < kReelectBytes - kDiagnosticBytes) return std::unexpected(Error::bad_section);
    body.target = HostId{in.take<std::uint64_t>()};
    body.round = in.take<std::uint64_t>();
    return body;
  }
  const auto text = Text<DiagnosticBody::kMaxText>::read(in.take_bytes(in.left()));
  if (!text) return std::unexpected(Error::bad_value);
  body.text = *text;
  return body;
}

void put_diagnostic(Writer& out, const DiagnosticBody& body) {
  CHECK(std::to_underlying(body.kind) < DiagnosticBody::kKinds);
  const bool reelect = body.kind == DiagnosticBody::Kind::reelect;
  const std::string_view text = body.text.text();
  put_section(out, Section::diagnostic, reelect ? kReelectBytes : kDiagnosticBytes + text.size());
  out.put(std::to_underlying(body.kind));
  out.put(body.level);
  out.put(body.part);
  out.put(body.parts);
  out.put(body.question);
  if (reelect) {
    out.put(std::to_underlying(body.target));
    out.put(body.round);
    return;
  }
  out.put_bytes(std::as_bytes(std::span(text)));
}

Result<std::uint64_t, Error> take_view(Reader in) {
  if (in.left() < kViewBytes) return std::unexpected(Error::bad_section);
  return in.take<std::uint64_t>();
}

int bodies_of(const Datagram& datagram) {
  const std::array bodies{datagram.election.has_value(),      datagram.sync.has_value(),
                          datagram.diagnostic.has_value(),    datagram.lock.has_value(),
                          datagram.voter_set.has_value(),     datagram.group.has_value(),
                          datagram.bounded_delay.has_value(), datagram.beat.has_value()};
  return static_cast<int>(std::ranges::count(bodies, true));
}

// Writes a section whose length follows from its body.
template <class Body>
void put_measured(Writer& out, Section section, void (*put)(Writer&, const Body&),
                  const Body& body) {
  std::array<std::byte, 255> bytes;
  Writer inner(bytes);
  put(inner, body);
  put_section(out, section, inner.written());
  out.put_bytes(std::span(bytes).first(inner.written()));
}

void put_lock_sections(Writer& out, const LockBody& body) {
  put_measured(out, Section::lock, put_lock, body);
  if (body.set.number != 0) put_measured(out, Section::voters, put_voters, body.set);
  if (body.next.number != 0) put_measured(out, Section::next_voters, put_voters, body.next);
  if (body.pass.target == kNoHost) return;
  put_measured(out, Section::pass, put_pass, body.pass);
  for (const LockStanding& standing : body.pass.standings)
    put_measured(out, Section::standing, put_standing, standing);
}

// Stores a section that may occur once.
template <class T>
std::optional<Error> store_once(std::optional<T>& place, Result<T, Error> taken) {
  if (!taken) return taken.error();
  if (place) return Error::two_bodies;
  place = *std::move(taken);
  return std::nullopt;
}

std::optional<Error> append(InlineVector<LockStanding, kMaxLockStandings>& all,
                            const Result<LockStanding, Error>& taken) {
  if (!taken) return taken.error();
  if (all.full()) return Error::two_bodies;
  all.push_back(*taken);
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Error error) {
  CHECK(error < Error::count);
  return kErrorNames[std::to_underlying(error)];
}

Result<Header, Error> parse_header(std::span<const std::byte> bytes, std::uint8_t own) {
  return take_header(bytes, bytes.size(), own);
}

std::optional<Header> stated_header(std::span<const std::byte> bytes) {
  const Result<Stated, Error> stated = take_stated(bytes);
  return stated ? std::optional(stated->header) : std::nullopt;
}

Result<Datagram, Error> parse(std::span<const std::byte> bytes, std::uint8_t own) {
  Datagram datagram;
  TRY(header, take_header(bytes, std::nullopt, own));
  datagram.header = header;

  std::optional<Name> name;
  std::optional<std::uint64_t> view;
  std::optional<LockPass> pass;
  std::optional<LockVoters> voters;
  std::optional<LockVoters> next_voters;
  std::optional<GroupSignatures> signatures;
  InlineVector<LockStanding, kMaxLockStandings> standings;
  Reader in(bytes.subspan(kHeaderBytes));
  while (in.left() > 0) {
    if (in.left() < kSectionHeadBytes) return std::unexpected(Error::bad_section);
    const auto tag = in.take<std::uint8_t>();
    const auto length = in.take<std::uint8_t>();
    if (in.left() < length) return std::unexpected(Error::bad_section);
    const auto body = in.take_bytes(length);
    std::optional<Error> error;
    switch (Section{tag}) {
      case Section::name:
        error = store_once(name, take_name(body));
        break;
      case Section::view:
        error = store_once(view, take_view(Reader(body)));
        break;
      case Section::election:
        error = store_once(datagram.election, take_election(Reader(body)));
        break;
      case Section::time:
        error = store_once(datagram.time, take_time(Reader(body)));
        break;
      case Section::sync:
        error = store_once(datagram.sync, take_sync(Reader(body)));
        break;
      case Section::diagnostic:
        error = store_once(datagram.diagnostic, take_diagnostic(Reader(body)));
        break;
      case Section::lock:
        error = store_once(datagram.lock, take_lock(Reader(body)));
        break;
      case Section::pass:
        error = store_once(pass, take_pass(Reader(body)));
        break;
      case Section::standing:
        error = append(standings, take_standing(Reader(body)));
        break;
      case Section::voter_set:
        error = store_once(datagram.voter_set, take_voter_set(Reader(body)));
        break;
      case Section::group:
        error = store_once(datagram.group, take_group(Reader(body)));
        break;
      case Section::bounded_delay:
        error = store_once(datagram.bounded_delay, take_mutex(Reader(body)));
        break;
      case Section::beat:
        error = store_once(datagram.beat, take_beat(Reader(body)));
        break;
      case Section::voters:
        error = store_once(voters, take_voters(Reader(body)));
        break;
      case Section::next_voters:
        error = store_once(next_voters, take_voters(Reader(body)));
        break;
      case Section::signatures:
        error = store_once(signatures, take_signatures(Reader(body)));
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
  if (signatures) datagram.group->signatures = *signatures;
  datagram.name = name.value_or(Name{});
  datagram.view = view.value_or(0);
  return datagram;
}

std::size_t write(const Datagram& datagram, std::span<std::byte, kMaxBytes> out) {
  CHECK(datagram.header.sender != kNoHost);
  CHECK(bodies_of(datagram) == 1);
  Writer sections(out.subspan(kHeaderBytes));
  if (!datagram.name.text().empty()) put_name(sections, datagram.name);
  if (datagram.view != 0) {
    put_section(sections, Section::view, kViewBytes);
    sections.put(datagram.view);
  }
  if (datagram.election) put_election(sections, *datagram.election);
  if (datagram.time) put_time(sections, *datagram.time);
  if (datagram.sync) put_sync(sections, *datagram.sync);
  if (datagram.diagnostic) put_diagnostic(sections, *datagram.diagnostic);
  if (datagram.lock) put_lock_sections(sections, *datagram.lock);
  if (datagram.voter_set)
    put_measured(sections, Section::voter_set, put_voter_set, *datagram.voter_set);
  if (datagram.group) put_measured(sections, Section::group, put_group, *datagram.group);
  if (datagram.group && !datagram.group->signatures.empty())
    put_measured(sections, Section::signatures, put_signatures, datagram.group->signatures);
  if (datagram.bounded_delay)
    put_measured(sections, Section::bounded_delay, put_mutex, *datagram.bounded_delay);
  if (datagram.beat) put_measured(sections, Section::beat, put_beat, *datagram.beat);

  const std::size_t size = kHeaderBytes + sections.written();
  Writer front(out);
  put_header(front, datagram.header, size + (datagram.header.key == kNoKey ? 0 : kTagBytes));
  return size;
}

}  // namespace tempo::wire
