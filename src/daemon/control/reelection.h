// `reelect` between hosts: a member forwards the request of its clients to the master.
//
// The request is one datagram (wire::DiagnosticBody) to the master, sent at most three times, one
// second apart, until the master answers. It names the mastership by its round, so that a late copy
// or a recording ends no other one. A host has at most one request in progress; clients that ask
// meanwhile share its result, and it ends when all of them are gone. The master honours one request
// of other hosts in ten seconds and repeats its answer to a request that was sent again. The worker
// sends the datagrams and resigns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/wire/datagram.h"

namespace tempo::daemon {

// The side of the member.
class ReelectRequest {
 public:
  static constexpr int kMaxSends = 3;
  static constexpr Nanos kSendInterval = 1s;  // after the last send: time to wait for the answer

  struct Master {
    std::uint8_t network = 0;
    NodeId node = kNobody;
    HostId host = kNoHost;
    std::uint64_t round = 0;  // of the epoch of its mastership
  };

  // Starts a request unless one is in progress. Returns the number of the one in progress, never 0.
  std::uint32_t ask(Instant now, const Master& master);
  // A client that asked for the request with that number is gone.
  void withdraw(std::uint32_t number);
  // Call it at `next`. Returns the datagram to send to `master` now; unset: none.
  std::optional<wire::DiagnosticBody> take_due(Instant now);
  Instant next() const { return in_progress_ ? next_ : kNever; }
  const Master& master() const { return master_; }

  void receive(NodeId from, const wire::DiagnosticBody& body);

  struct Outcome {
    enum class What : std::uint8_t { honoured, refused, no_answer };
    What what = What::no_answer;
    Master master{};
    std::string reason{};  // refused: sentence of the master
  };
  // Outcome of the request with that number; unset: in progress. The last one is kept.
  std::optional<Outcome> outcome(std::uint32_t number) const;

 private:
  void begin(Instant now, const Master& master);
  void end(Outcome outcome);

  std::uint32_t number_ = 0;  // of the last request
  bool in_progress_ = false;
  std::size_t clients_ = 0;  // that wait for the request in progress
  Master master_;            // of the last request
  int sends_ = 0;            // of the request in progress
  Instant next_{};           // time of the next send, or of the end
  Outcome outcome_;          // of request `ended_`
  std::uint32_t ended_ = 0;
};

// The side of the master.
class ReelectLimiter {
 public:
  static constexpr Nanos kMinInterval = 10s;

  struct Asker {
    NodeId host = kNobody;
    Incarnation incarnation{};
    std::uint32_t question = 0;

    bool operator==(const Asker&) const = default;
  };
  struct Verdict {
    bool resign = false;  // this host must resign now
    wire::DiagnosticBody answer{};
  };
  // `leads`: this host is master of the network that the request came from, with the round that
  // the request names.
  Verdict judge(Instant now, const Asker& asker, bool leads);

  std::uint64_t honoured() const { return honoured_; }
  std::uint64_t refused() const { return refused_; }

 private:
  std::optional<Asker> last_;  // asker of the last honoured request; unset: none yet
  Instant honoured_at_{};      // time of that
  std::uint64_t honoured_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace tempo::daemon
