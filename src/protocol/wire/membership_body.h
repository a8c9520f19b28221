// Messages about the main part (protocol/membership) in datagrams. A field that a kind does not use
// is 0, and since_main_ns is kNeverMain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/inline_vector.h"
#include "base/units.h"
#include "protocol/wire/error.h"

namespace tempo::wire {

// Largest number of a view and round of a ballot; the next one must not be 0.
inline constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 62;

// A view, in a section of its own.
struct ViewBody {
  static constexpr std::size_t kMax = 24;
  static constexpr std::size_t kFixedBytes = 29;
  static constexpr std::size_t kMaxBytes = kFixedBytes + kMax * sizeof(std::uint64_t);

  std::uint64_t lineage = 0;  // 0: no view in this message
  std::uint64_t number = 0;
  std::uint64_t tie_breaker = 0;
  std::uint32_t timescale_generation = 0;
  InlineVector<std::uint64_t, kMax> members{};  // in ascending order, none twice, none 0

  bool operator==(const ViewBody&) const = default;

  bool valid() const {
    return lineage != 0 && number != 0 && number <= kMaxCount &&
           (members.empty() || members.front() != 0) &&
           std::ranges::adjacent_find(members, std::greater_equal{}) == members.end();
  }

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    const auto members = io.length(self.members);
    io(self.lineage, self.number, self.tie_breaker, self.timescale_generation);
    io.list(self.members, members);
    io.expect(self.valid(), Error::bad_value);
  }
};

struct WireBallot {
  std::uint64_t round = 0;
  std::uint64_t master = 0;

  bool operator==(const WireBallot&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io(self.round, self.master);
    io.expect(self.round <= kMaxCount, Error::bad_value);
  }
};

struct MembershipBody {
  enum class Kind : std::uint8_t { ask, beacon, release };
  static constexpr std::uint8_t kKinds = 3;
  static constexpr std::uint8_t kParticipations = 3;
  static constexpr std::size_t kBytes = 83;
  static constexpr std::int64_t kNeverMain = kMaxNanos;

  Kind kind = Kind::ask;
  std::uint8_t participation = 0;  // ask: 0 member, 1 guest, 2 leaving
  bool urgent = false;             // beacon: the sender needs a quorum
  std::uint32_t number = 0;        // of the question, or of the beacon
  std::uint32_t answers = 0;  // ask: number of the beacon that it grants; beacon: of the question
  std::uint64_t self = 0;     // ask: number of the sender's record, not 0
  WireBallot ballot{};        // ask: of the beacon that it grants; beacon, release: of the sender
  WireBallot promised{};      // ask
  WireBallot accepted_in{};   // ask: ballot of the next view that it has accepted
  Nanos main_for{0};          // beacon; not negative
  // ask: since the main part ended for the sender; negative: it lasts
  std::int64_t since_main_ns = kNeverMain;  // kNeverMain: the sender never was in it
  ViewBody view{};                          // a section of its own; absent if its lineage is 0
  ViewBody next{};  // likewise: the view accepted or proposed as the next one

  bool operator==(const MembershipBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kBytes);
    io.kind(self.kind, kKinds);
    io.below(self.participation, kParticipations);
    io.flags(self.urgent);
    io(self.number, self.answers, self.self);
    io.expect(self.kind != Kind::ask || self.self != 0, Error::bad_value);
    io(self.ballot, self.promised, self.accepted_in);
    io.not_negative(self.main_for);
    io.range(self.since_main_ns, -kMaxNanos, kMaxNanos);
  }
};

}  // namespace tempo::wire
