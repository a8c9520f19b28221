// An attacker in the simulated network, without the key: it records every datagram, and sends the
// recording again, from the addresses of the senders, while a host starts.
//
// The order differs from one attack to the next: as recorded, backwards, shuffled, the newest ones
// again and again, or as answers, each after a datagram of the host that starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "lab/studies/daemon/wired_host.h"

namespace tempo::sim::daemon {

class Attacker {
 public:
  struct Datagram {
    NodeId from = kNobody;
    NodeId to = kNobody;  // kNobody: a broadcast
    WiredHost::Bytes bytes{};
  };

  explicit Attacker(std::uint64_t seed);

  void record(NodeId from, NodeId to, const WiredHost::Bytes& bytes);

  // An attack on the start of `target`, in `rounds` calls of `next`.
  void begin(NodeId target, std::size_t rounds);
  bool attacks() const { return attacks_; }
  void end() { attacks_ = false; }
  void target_sent();  // the target sent a datagram

  // The datagrams of this round.
  std::vector<Datagram> next();

  std::uint64_t replayed() const { return replayed_; }

 private:
  enum class Order : std::uint8_t { recorded, reversed, shuffled, newest, answers, count };

  static constexpr std::size_t kMaxRecorded = std::size_t{1} << 18;  // datagrams
  static constexpr std::size_t kNewest = 2000;
  static constexpr std::size_t kMaxInRound = 512;
  static constexpr std::size_t kAnswers = 4;  // to one datagram of the target

  Stream stream_;
  std::vector<Datagram> recorded_;
  std::vector<std::uint32_t> sequence_;  // the recorded datagrams in the order of this attack
  std::size_t place_ = 0;                // of the next one
  std::size_t each_ = 0;                 // datagrams in a round
  std::size_t due_ = 0;                  // answers: datagrams that may be sent
  NodeId target_ = kNobody;
  bool attacks_ = false;
  bool everywhere_ = false;  // each datagram goes to its own receiver; false: to the target
  Order order_ = Order::recorded;
  std::uint64_t replayed_ = 0;
};

}  // namespace tempo::sim::daemon
