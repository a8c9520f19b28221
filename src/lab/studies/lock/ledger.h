// What is promised of every lock, judged by true time, whatever kind of lock it is:
//   exclusion     no two clients are inside in modes that conflict
//   token-order   of two grants that conflict, the later has the larger token
// and what is counted of it on the way. A client is inside from the moment it is told so until it
// leaves, it is told that it lost the lock, its own deadline passes, or it dies.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "lab/studies/lock/waits.h"
#include "protocol/lock/mode.h"

namespace tempo::sim::lock {

// One lock's story, or that of many runs added up.
struct Tally {
  std::uint64_t entries = 0;
  std::uint64_t violations = 0;      // entries while a client in conflict was inside
  std::uint64_t token_disorder = 0;  // entries whose token was not above those it had to be above
  std::uint64_t deadlocks = 0;       // runs that ended with somebody waiting and nobody entering
  std::uint64_t messages = 0;        // datagrams for whatever reason; a broadcast to n is n
  std::uint64_t refusals = 0;
  Waits waits;
  std::vector<std::uint64_t> entries_of;  // by site

  void add(const Tally& other);
  // The most entries of a site by the fewest of one; 0 if some site has none.
  double fairness() const;
};

class Ledger {
 public:
  // Clients are numbered by the caller; `site_of[client]` is where each lives.
  Ledger(std::uint32_t sites, std::vector<NodeId> site_of);

  void asked(std::uint32_t client, Instant at);
  // No longer wants it, or died waiting.
  void gave_up(std::uint32_t client);
  void entered(std::uint32_t client, tempo::lock::Mode mode, tempo::lock::Token token, Instant at);
  void left(std::uint32_t client);

  bool waits(std::uint32_t client) const { return clients_[client].waits; }
  bool inside(std::uint32_t client) const { return clients_[client].inside; }
  std::uint32_t waiting() const;

  // For what only the caller can count.
  Tally& tally() { return tally_; }
  const Tally& tally() const { return tally_; }
  // When exclusion or the order of tokens was first broken; kNever: it was not.
  Instant first_broken() const { return first_broken_; }

 private:
  struct Client {
    NodeId site = kNobody;
    bool waits = false;
    bool inside = false;
    tempo::lock::Mode mode = tempo::lock::Mode::exclusive;
    Instant since{};
  };
  bool excluded(std::uint32_t client, tempo::lock::Mode mode) const;
  bool in_order(tempo::lock::Mode mode, tempo::lock::Token token) const;

  std::vector<Client> clients_;
  Tally tally_;
  tempo::lock::Token highest_{};            // of all grants
  tempo::lock::Token highest_exclusive_{};  // of the exclusive ones
  Instant first_broken_ = kNever;
};

}  // namespace tempo::sim::lock
