// Checks the properties of every kind of lock by true time:
//   exclusion     no two clients are inside in conflicting modes
//   token-order   of two conflicting grants, the later has the larger token
// and counts entries, waits and messages. A client is inside from the notice of its grant until it
// leaves, is notified of a lost lock, passes its own deadline, or dies.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "lab/studies/lock/waits.h"
#include "protocol/lock/mode.h"

namespace tempo::sim::lock {

// Counts of one lock, or sums over many runs.
struct Tally {
  std::uint64_t entries = 0;
  std::uint64_t violations = 0;      // entries while a conflicting client was inside
  std::uint64_t token_disorder = 0;  // entries whose token was too low
  std::uint64_t deadlocks = 0;       // runs that ended with a waiting client and no further entry
  std::uint64_t messages = 0;        // datagrams of every kind; a broadcast to n sites counts n
  std::uint64_t refusals = 0;
  Waits waits;
  std::vector<std::uint64_t> entries_of;  // by site

  void add(const Tally& other);
  // Largest number of entries of a site divided by the smallest; 0 if a site has none.
  double fairness() const;
};

class Ledger {
 public:
  // The caller numbers the clients; `site_of[client]` is the client's site.
  Ledger(std::uint32_t sites, std::vector<NodeId> site_of);

  void asked(std::uint32_t client, Instant at);
  // The client withdraws its request or dies while it waits.
  void gave_up(std::uint32_t client);
  void entered(std::uint32_t client, tempo::lock::Mode mode, tempo::lock::Token token, Instant at);
  void left(std::uint32_t client);

  bool waits(std::uint32_t client) const { return clients_[client].waits; }
  bool inside(std::uint32_t client) const { return clients_[client].inside; }
  std::uint32_t waiting() const;

  // For counts that only the caller can make.
  Tally& tally() { return tally_; }
  const Tally& tally() const { return tally_; }
  // Time of the first violation of exclusion or token order; kNever: none.
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
  tempo::lock::Token highest_{};            // highest token of all grants
  tempo::lock::Token highest_exclusive_{};  // highest token of the exclusive grants
  Instant first_broken_ = kNever;
};

}  // namespace tempo::sim::lock
