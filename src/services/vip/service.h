// tempo-vip: addresses that are always on the leader of their group.
//
// One thread and one poll(). For each group it stands as a candidate at tempod, drives the machine
// that decides (holder.h) and carries out its notices: gate, addresses, announcements. Programs of
// this network namespace ask it over the abstract unix socket kSocket, which also keeps a second
// tempo-vip of the namespace from starting.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "services/vip/address_prefix.h"
#include "services/vip/check_runner.h"

namespace tempo::vip {

inline constexpr const char* kSocket = "@tempo-vip";

// The addresses of one group.
struct GroupOptions {
  std::string group;
  std::string interface;
  std::vector<AddressPrefix> addresses;
  std::int64_t weight = 0;   // the largest of all candidates wins
  Nanos min_stay = 30s;      // a leader keeps its role at least this long
  int announcements = 5;     // after a take-over, over three seconds
  std::string check;         // command; empty: none
  Nanos check_interval{1s};  // between two runs of it
};

class Service {
 public:
  struct Options {
    std::vector<GroupOptions> groups;
    std::string tempod;  // its control socket
    std::string user;    // of the check commands; empty: the user of this process
  };
  // Opens every socket and removes what an earlier process left.
  static Result<std::unique_ptr<Service>> open(const Options& options);
  virtual ~Service() = default;

  // Returns when `stop` is not 0, after the addresses are removed.
  virtual void run(const volatile int& stop) = 0;
};

}  // namespace tempo::vip
