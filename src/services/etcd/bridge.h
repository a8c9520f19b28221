// tempo-etcd: a bridge from tempod's locks to etcd.
//
// It listens at a unix socket and speaks what tempod speaks of locks
// (doc/reference/control-protocol.md): lock, unlock, locks. Who connects is tempod, one connection
// for all its programs, each with an id. When that connection ends, tempod has: what its programs
// hold then lasts until its deadline, and what they wait for is given up.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tempo::etcd {

class Bridge {
 public:
  struct Options {
    std::string socket;
    std::string cluster;
    std::string host;
    Nanos lease{0};
    std::vector<std::string> endpoints;
    std::string ca_file{};
    std::string cert_file{};
    std::string key_file{};
  };
  static Result<std::unique_ptr<Bridge>> open(const Options& options);
  virtual ~Bridge() = default;

  virtual void run(const volatile int& stop) = 0;  // until `stop` is not 0
};

}  // namespace tempo::etcd
