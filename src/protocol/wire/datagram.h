// tempo's own datagrams, version 2: what travels between daemons, parsed and written.
//
// A datagram is a fixed header, sections (tag, length, body), and, when a key is in use, an
// authenticator at the end that auth/ adds and takes off. Unknown sections and unknown trailing
// bytes of known ones are skipped, so that the format can grow; two neighbouring revisions
// understand each other, others are refused. The first two bytes are laid out so that a historical
// TSP daemon drops it. doc/reference/wire.md specifies every byte.
//
// Nothing here allocates or trusts: whatever the bytes, `parse` gives a Datagram or the name of
// what is wrong with it. Hosts are HostIds here; a machine's NodeIds are the business of node/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "protocol/wire/error.h"
#include "protocol/wire/group_body.h"
#include "protocol/wire/lock_body.h"
#include "protocol/wire/mutex_body.h"
#include "protocol/wire/name.h"

namespace tempo::wire {

inline constexpr std::uint8_t kMagic = 0x54;  // 'T', no type of TSP version 1
inline constexpr std::uint8_t kVersion = 2;
inline constexpr std::uint8_t kRevision = 1;
inline constexpr std::size_t kHeaderBytes = 48;
inline constexpr std::size_t kTagBytes = 16;    // of the authenticator
inline constexpr std::size_t kMaxBytes = 1024;  // of a whole datagram

inline constexpr std::int64_t kMaxRate = 1'000'000'000'000;  // of SyncBody::rate_ppt

enum class ClusterId : std::uint64_t {};
enum class KeyId : std::uint32_t {};
inline constexpr KeyId kNoKey{0};

struct Header {
  ClusterId cluster{};
  HostId sender = kNoHost;
  Incarnation incarnation{};
  KeyId key = kNoKey;          // the Keyring's sealing_id; kNoKey: not authenticated
  std::uint64_t number = 0;    // counts the datagrams of this life of the sender, from 1
  std::uint32_t instance = 0;  // which lock or group; 0: the network's own election and time
  std::uint8_t revision = kRevision;

  bool operator==(const Header&) const = default;
};

// An election message. `kind` counts as the election's own enumeration does.
struct ElectionBody {
  static constexpr std::uint8_t kKinds = 16;

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
};

// What a master says of network time, beside its election messages.
struct TimeBody {
  Nanos bound{0};                          // of the master's own reading; not negative
  std::uint32_t timescale_generation = 0;  // how often the network's time was set by hand
  HostId root = kNoHost;  // whose time it is: the master's own, or that of a network beyond it
  std::uint8_t hops = 0;  // networks between the root and this one
  bool synchronized = false;

  bool operator==(const TimeBody&) const = default;
};

// A message of the synchronization: the stamps of an exchange, and what a member reports with it.
struct SyncBody {
  enum class Kind : std::uint8_t { probe, echo, follow_up, set_offset };
  static constexpr std::uint8_t kKinds = 4;

  Kind kind = Kind::probe;
  bool kernel_stamp = false;   // echo, follow_up: t2, or t3, was taken by the kernel
  bool will_follow = false;    // echo: the true time of sending follows; probe: it is wished for
  bool objects = false;        // probe: what the receiver tells of its clock cannot be
  std::uint32_t exchange = 0;  // of the asking host
  std::uint32_t timescale_generation = 0;  // see TimeBody
  std::int64_t received_ns = 0;  // echo: t2, on the master's raw clock; probe: UTC minus network
                                 // time, of one that carries UTC
  std::int64_t sent_ns = 0;      // echo, follow_up: t3, on the master's raw clock; probe: own clock
                                 // minus network time
  // echo: network time minus the master's raw clock at t2; probe: own raw clock minus the master's;
  // set_offset: by how much
  std::int64_t offset_ns = 0;
  std::int64_t rate_ppt = 0;   // echo, probe: of that, parts in 10^12
  std::uint64_t sigma_ns = 0;  // probe: standard error of the offset; 0: nothing known yet
  std::uint64_t bound_ns = 0;  // echo, probe: error bound of the sender's network time
  // probe: error bound of UTC, which received_ns then says; 0: the sender carries none. On the wire
  // it is rounded up by less than a thousandth.
  std::uint64_t utc_bound_ns = 0;

  bool operator==(const SyncBody&) const = default;
};

// Talk between daemons that is no protocol's: one asks all what ails them, each answers line by
// line.
struct DiagnosticBody {
  enum class Kind : std::uint8_t { ask, answer };
  static constexpr std::uint8_t kKinds = 2;
  static constexpr std::size_t kMaxText = 240;

  Kind kind = Kind::ask;
  std::uint8_t level = 0;      // answer: 0 well, 1 a note, 2 a problem
  std::uint8_t part = 0;       // answer: which line, from 0...
  std::uint8_t parts = 0;      // ...of how many
  std::uint32_t question = 0;  // of the asking host
  Text<kMaxText> text{};

  bool operator==(const DiagnosticBody&) const = default;
};

struct Datagram {
  Header header{};
  Name name{};
  std::uint64_t view = 0;  // fingerprint of the members its sender knows
  std::optional<ElectionBody> election{};
  std::optional<TimeBody> time{};
  std::optional<SyncBody> sync{};
  std::optional<DiagnosticBody> word{};
  std::optional<LockBody> lock{};
  std::optional<VoterSetBody> voter_set{};
  std::optional<GroupBody> group{};
  std::optional<MutexBody> bounded_delay{};
  std::optional<BeatBody> beat{};

  bool operator==(const Datagram&) const = default;
};

// `bytes` is the datagram without its authenticator. Exactly one of election, sync, word, lock,
// roster, group, quiet and beat is there. `own` is the revision of who reads it.
Result<Datagram, Error> parse(std::span<const std::byte> bytes, std::uint8_t own = kRevision);

// Only the header of a whole datagram, authenticator included: which key it names must be known
// before the rest is believed.
Result<Header, Error> parse_header(std::span<const std::byte> bytes, std::uint8_t own = kRevision);

// What the header of a datagram of any revision states, unchecked: it begins as ours do. Nothing if
// it is none of version 2.
std::optional<Header> stated_header(std::span<const std::byte> bytes);

// The number of bytes written; there is always room. The authenticator is not among them, but with
// `header.key` set the stated length counts it.
std::size_t write(const Datagram& datagram, std::span<std::byte, kMaxBytes> out);

}  // namespace tempo::wire
