// Liveness: a process of another host is believed only after it has repeated a number of ours.
//
// Every datagram to one host carries a challenge, and the newest challenge of that host as its
// response. A challenge is a keyed hash of the process that it is for, of time, and of a secret of
// this process. A response therefore proves that its sender ran within the last period, and that
// the datagram is for this process: a recording of an earlier process, of another receiver or of
// long ago has no such response. A broadcast carries neither; it is believed while its sender is
// live.
//
// The datagrams of a sender that is not live wait here while this host asks it for a response, in
// bounded space and for at most kHeldFor. First contact so costs one round trip and no datagram.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/auth/keyring.h"
#include "protocol/wire/datagram.h"

namespace tempo::wire {

// One run of tempod on one host.
struct Process {
  HostId host = kNoHost;
  Incarnation incarnation{};
  Nonce nonce{};

  auto operator<=>(const Process&) const = default;
};

class Liveness {
 public:
  static constexpr Nanos kLeastPeriod = 60s;
  static constexpr int kExchangesPerPeriod = 3;
  static constexpr Nanos kHeldFor = 2s;
  static constexpr Nanos kAskInterval = 10ms;      // least time between two questions to a process
  static constexpr std::size_t kMaxAsked = 4096;   // processes with an open question
  static constexpr std::size_t kMaxHeld = 512;     // datagrams, of all senders
  static constexpr std::size_t kMaxHeldOfOne = 8;  // datagrams of one process
  static constexpr std::uint32_t kMaxHellos = 8192;  // questions, and answers, in one second

  // `secret` is random and of this process alone. `exchange_interval` is the time between two
  // exchanges of a master and its follower.
  Liveness(const auth::Key& secret, Nanos exchange_interval);

  // A process that has not repeated a challenge for this time is not live.
  Nanos period() const { return period_; }
  bool live(Instant now, Instant proved) const;
  // Live, but it should repeat a challenge soon.
  bool ageing(Instant now, Instant proved) const { return now - proved >= period_ / 2; }

  // The challenge for a process; never 0. `changes`: the number of its predecessors on that host
  // that were live.
  std::uint64_t challenge(Instant now, const Process& process, std::uint32_t changes) const;

  enum class Response : std::uint8_t {
    none,     // 0
    current,  // to a challenge of the last period
    old,      // to an older challenge of this process to that process
    foreign   // to another process, or of another process
  };
  Response judge(Instant now, const Process& process, std::uint32_t changes,
                 std::uint64_t response) const;

  // Whether to ask the process for a response now, over this network; if so, an answer is expected.
  bool ask(Instant now, const Process& process, std::uint8_t network);
  // Whether to answer a question now.
  bool answer(Instant now) { return answers_.spend(now); }
  // Whether the process was asked over this network. One question has one answer.
  bool take_answer(Instant now, const Process& process, std::uint8_t network);

  struct Held {
    Instant since{};
    Instant arrived{};
    std::uint8_t network = 0;
    Datagram datagram{};
  };
  // Keeps a datagram of a process that was asked.
  void hold(const Process& process, const Held& held);
  // The datagrams of a process that is live now, in the order of their arrival.
  std::vector<Held> release(Instant now, const Process& process, std::uint8_t network);

 private:
  using Key = std::pair<Process, std::uint8_t>;  // a process on a network
  struct Asked {
    Instant at{};
    bool open = true;  // not answered yet
    std::vector<Held> held{};
  };

  // Hellos in one second. Questions and answers have one each: recorded questions must not keep
  // this host from asking.
  struct Budget {
    Instant until{};  // end of the present second
    std::uint32_t used = 0;

    bool spend(Instant now);
  };

  // Everything that a challenge depends on beside the secret.
  struct Question {
    Process process{};
    std::uint64_t span = 0;
    std::uint32_t changes = 0;

    bool operator==(const Question&) const = default;
  };
  struct Hash {
    Question of{};
    std::uint64_t value = 0;  // 0: none computed yet
  };
  static constexpr std::size_t kHashes = 64;  // a power of two

  std::uint64_t hash(const Question& question) const;
  std::uint64_t computed(const Question& question) const;
  std::uint64_t span_of(Instant now) const;
  void purge(Instant now);
  void forget(std::map<Key, Asked>::iterator entry);

  auth::Key secret_;
  // Hashes computed last, by host and span: each datagram of a peer asks for the same ones.
  mutable std::array<Hash, kHashes> hashes_{};
  Nanos period_;
  std::map<Key, Asked> asked_;
  std::size_t held_ = 0;  // datagrams in `asked_`
  Instant next_purge_{};  // of questions without an answer
  Budget questions_;
  Budget answers_;
};

}  // namespace tempo::wire
