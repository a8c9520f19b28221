// tempo-etcd: a bridge from tempod's locks to etcd.
//
// It listens on a unix socket and serves the lock requests of the control protocol
// (doc/reference/control-protocol.md): lock, unlock, locks. Its client is tempod, with one
// connection for all its programs and an id for each lock. When the connection ends, tempod is
// gone: held locks last until their deadlines, and waiting requests are dropped.
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

  virtual void run(const volatile int& stop) = 0;  // returns when `stop` is not 0
};

}  // namespace tempo::etcd
