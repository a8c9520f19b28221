// Parser and writer of tempo's datagrams, version 2.
//
// A datagram is a fixed header, sections (tag, length, body), and, if a key is in use, an
// authenticator at the end, which auth/ adds and removes. The parser skips unknown sections and
// unknown trailing bytes of known ones, so that the format can grow; it accepts its own and the
// neighbouring revisions, but none before kOldestRevision. The first two bytes make a historical
// TSP daemon drop the datagram. doc/reference/wire.md specifies every byte.
//
// Nothing here allocates, and `parse` returns a Datagram or an Error for any bytes. Datagrams name
// hosts by HostId; codec.h maps them to NodeIds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "protocol/wire/announcement_body.h"
#include "protocol/wire/error.h"
#include "protocol/wire/group_body.h"
#include "protocol/wire/lock_body.h"
#include "protocol/wire/membership_body.h"
#include "protocol/wire/mutex_body.h"
#include "protocol/wire/name.h"
#include "protocol/wire/short_bound.h"

namespace tempo::wire {

inline constexpr std::uint8_t kMagic = 0x54;  // 'T'; no type of TSP version 1 has this value
inline constexpr std::uint8_t kVersion = 2;
inline constexpr std::uint8_t kRevision = 2;
inline constexpr std::uint8_t kOldestRevision = 2;  // revision 1 has another header
inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kCommonBytes = 32;  // of the header: the same in every revision
inline constexpr std::size_t kTagBytes = 16;     // of the authenticator
inline constexpr std::size_t kMaxBytes = 1024;   // of a whole datagram

inline constexpr std::int64_t kMaxRate = 1'000'000'000'000;  // of SyncBody::rate_ppt

enum class ClusterId : std::uint64_t {};
enum class KeyId : std::uint32_t {};
inline constexpr KeyId kNoKey{0};
// The other key that the sender of a datagram opens, in two bytes.
enum class ShortKey : std::uint16_t {};
inline constexpr ShortKey kNoOtherKey{0};
inline constexpr ShortKey kOpensUnsealed{1};  // it accepts datagrams that are not sealed
ShortKey short_key(KeyId key);        // the upper 16 bits, at least 2; kNoKey: kOpensUnsealed
enum class Nonce : std::uint64_t {};  // random number of one incarnation

struct Header {
  ClusterId cluster{};
  HostId sender = kNoHost;
  Incarnation incarnation{};
  KeyId key = kNoKey;           // sealing_id of the Keyring; kNoKey: not authenticated
  std::uint64_t number = 0;     // counts the sender's datagrams in this incarnation, from 1; hello:
                                // that of its last other datagram
  Nonce nonce{};                // of the sender's incarnation
  std::uint64_t challenge = 0;  // for the receiver to repeat; 0: a broadcast
  std::uint64_t response = 0;  // newest challenge of the receiver; 0: none is known, or a broadcast
  std::uint8_t revision = kRevision;
  ShortKey other_key = kNoOtherKey;

  bool operator==(const Header&) const = default;
};

// Asks a process to repeat the challenge of the header, or repeats the challenge of a process.
struct HelloBody {
  enum class Kind : std::uint8_t { ask, answer };
  static constexpr std::uint8_t kKinds = 2;
  static constexpr std::size_t kBytes = 9;

  Kind kind = Kind::ask;
  Nonce to{};  // of the process that it is for: another one on that host must not use the challenge

  bool operator==(const HelloBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kBytes);
    io.kind(self.kind, kKinds);
    io(self.to);
  }
};

// An election message. `kind` is the value of election::Kind; the fields are those of
// election::Message.
struct ElectionBody {
  static constexpr std::uint8_t kKinds = 16;
  static constexpr std::size_t kBytes = 60;

  std::uint8_t kind = 0;
  bool not_set = false;
  bool was_master = false;
  std::uint8_t reluctance = 0;  // 9 - priority; 255: the sender never leads
  std::uint64_t sequence = 0;
  std::uint64_t answers = 0;
  std::uint64_t round = 0;  // of the epoch
  HostId epoch_host = kNoHost;
  Incarnation epoch_incarnation{};
  HostId subject = kNoHost;
  Incarnation subject_incarnation{};
  Nanos age{0};  // not negative

  bool operator==(const ElectionBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kBytes);
    io.kind(self.kind, kKinds);
    io.flags(self.not_set, self.was_master);
    io(self.reluctance);
    io.constant(std::uint8_t{0});
    io(self.sequence, self.answers, self.round, self.epoch_host, self.epoch_incarnation);
    io(self.subject, self.subject_incarnation);
    io.not_negative(self.age);
  }
};

// A master's information about network time, sent with its election messages.
struct TimeBody {
  static constexpr std::size_t kBytes = 24;

  Nanos bound{0};                          // error bound of the master's reading; not negative
  std::uint32_t timescale_generation = 0;  // times that network time was set by hand
  HostId root = kNoHost;  // source of the time: the master itself, or a master in another network
  std::uint8_t hops = 0;  // networks between the root and this one
  bool synchronized = false;

  bool operator==(const TimeBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kBytes);
    io.flags(self.synchronized);
    io(self.hops);
    io.constant(std::uint16_t{0});
    io(self.timescale_generation, self.root);
    io.not_negative(self.bound);
  }
};

// A synchronization message: the timestamps of an exchange, and the report of a member.
struct SyncBody {
  enum class Kind : std::uint8_t { probe, echo, follow_up, set_time };
  static constexpr std::uint8_t kKinds = 4;
  static constexpr std::size_t kBytes = 60;

  Kind kind = Kind::probe;
  bool kernel_stamp = false;   // echo, follow_up: the kernel took t2, or t3
  bool will_follow = false;    // echo: a follow_up with t3 follows; probe: asks for one
  bool objects = false;        // probe: the sender objects to the receiver's time
  std::uint32_t exchange = 0;  // number of the exchange, assigned by the sender of the probe
  std::uint32_t timescale_generation = 0;  // see TimeBody
  std::int64_t received_ns = 0;  // echo: t2 on the master's raw clock; probe: UTC minus network
                                 // time, if the sender carries UTC
  std::int64_t sent_ns = 0;      // echo, follow_up: t3 on the master's raw clock; probe: own clock
                                 // minus network time
  // echo: network time minus the master's raw clock at t2; probe: own raw clock minus the master's;
  // set_time: change of network time
  std::int64_t offset_ns = 0;
  std::int64_t rate_ppt = 0;   // echo, probe: rate of that offset, parts in 10^12
  std::uint64_t sigma_ns = 0;  // probe: standard error of the offset; 0: no estimate yet
  std::uint64_t bound_ns = 0;  // echo, probe: error bound of the sender's network time
  // probe: error bound of UTC minus network time, which is in received_ns; 0: the sender carries no
  // UTC. The wire format rounds it up by less than a thousandth.
  std::uint64_t utc_bound_ns = 0;

  bool operator==(const SyncBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kBytes);
    io.kind(self.kind, kKinds);
    io.flags(self.kernel_stamp, self.will_follow, self.objects);
    if (self.kind == Kind::probe)
      io.coded(self.utc_bound_ns, short_bound, bound_of);
    else
      io.constant(std::uint16_t{0});
    io(self.exchange, self.timescale_generation);
    io.range(self.received_ns, -kMaxNanos, kMaxNanos);
    io.range(self.sent_ns, -kMaxNanos, kMaxNanos);
    io.range(self.offset_ns, -kMaxNanos, kMaxNanos);
    io.range(self.rate_ppt, -kMaxRate, kMaxRate);
    io.range(self.sigma_ns, 0, kMaxNanos);
    io.range(self.bound_ns, 0, kMaxNanos);
  }
};

// Requests between daemons for their operators. `tempo doctor --all`: one daemon asks all others,
// and each answers with its findings, one per datagram. `tempo reelect`: one daemon asks the master
// to resign, and the master answers. `tempo -H HOST status`: one daemon asks another one
// (daemon/control/remote_queries.h).
struct DiagnosticBody {
  enum class Kind : std::uint8_t { ask, answer, reelect, reelect_answer, query, query_answer };
  static constexpr std::uint8_t kKinds = 6;
  static constexpr std::uint8_t kLevels = 3;
  static constexpr std::size_t kFixedBytes = 8;
  static constexpr std::size_t kMaxText = 240;
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMaxText;
  static constexpr std::uint8_t kHonoured = 0;  // level of a reelect_answer: the sender resigns
  static constexpr std::uint8_t kRefused = 2;   // it does not; `text` says why

  Kind kind = Kind::ask;
  std::uint8_t level = 0;      // answer: 0 no finding, 1 a note, 2 a problem; see also kRefused
  std::uint8_t part = 0;       // answer: number of the finding, from 0; query_answer: of the part;
                               // query: first part wanted
  std::uint8_t parts = 0;      // answer, query_answer: number of parts; query: what is asked
  std::uint32_t question = 0;  // number of the question, assigned by the asking host
  HostId target = kNoHost;     // reelect only: the host that should resign...
  std::uint64_t round = 0;     // ...from the mastership with this round of its epoch
  Text<kMaxText> text{};       // all kinds but reelect

  bool operator==(const DiagnosticBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    io.kind(self.kind, kKinds);
    io.below(self.level, kLevels);
    io(self.part, self.parts, self.question);
    if (self.kind == Kind::reelect)
      io(self.target, self.round);
    else
      io.rest(self.text, Error::bad_value);
  }
};

struct Datagram {
  using Body =
      std::variant<ElectionBody, SyncBody, DiagnosticBody, LockBody, VoterSetBody, GroupBody,
                   MutexBody, BeatBody, HelloBody, AnnouncementBody, MembershipBody>;

  Header header{};
  Name name{};
  std::uint64_t view = 0;  // fingerprint of the members that the sender knows
  Body body{};
  std::optional<TimeBody> time{};  // with an election

  bool operator==(const Datagram&) const = default;
};

// Parses a datagram without its authenticator. `own` is the revision of the receiver.
Result<Datagram, Error> parse(std::span<const std::byte> bytes, std::uint8_t own = kRevision);
// The same for a datagram whose header has been parsed, into one that is new: a datagram is large.
std::optional<Error> parse_into(Datagram& datagram, const Header& header,
                                std::span<const std::byte> bytes);

// Parses only the header of a datagram with its authenticator: the receiver needs the key id to
// authenticate the rest.
Result<Header, Error> parse_header(std::span<const std::byte> bytes, std::uint8_t own = kRevision);

// Reads the first kCommonBytes of a datagram of any revision, unchecked. nullopt: not a datagram of
// version 2.
std::optional<Header> stated_header(std::span<const std::byte> bytes);

// Writes the datagram and returns its size without the authenticator; every datagram fits. If
// `header.key` is set, the stated length includes the authenticator.
std::size_t write(const Datagram& datagram, std::span<std::byte, kMaxBytes> out);

}  // namespace tempo::wire
