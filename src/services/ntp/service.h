// tempo-ntp: network time for NTP clients, and UTC from NTP servers.
//
// It reads the time page of tempod and never its socket. One thread and one poll(): nothing blocks,
// and a flood of datagrams delays the others by at most one round of kMaxAtOnce.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "platform/address.h"
#include "services/ntp/server.h"
#include "services/ntp/upstream_client.h"

namespace tempo::ntp {

class Service {
 public:
  static constexpr int kMaxAtOnce = 64;  // datagrams of one socket between two looks at the others

  struct Options {
    std::vector<sys::Address> listen;  // empty: every address of this host
    std::uint16_t port = kPort;
    std::string page;         // path of the time page
    Nanos claims_limit = 1s;  // largest error bound of synchronized time
    std::uint32_t reference_id = 0;
    bool serve = true;
    UpstreamClient::Options upstream;  // without servers: none is asked
  };
  static Result<std::unique_ptr<Service>> open(const Options& options);
  virtual ~Service() = default;

  virtual void run(const volatile int& stop) = 0;  // returns when `stop` is not 0
  virtual const Server::Counters& counters() const = 0;
};

// The reference id of a cluster: a hash of its name.
std::uint32_t reference_id_of(const std::string& cluster);

// What the server would serve now, for people: one line for each property.
struct Preview {
  bool synchronized = false;
  std::string text;
};
Preview preview(const Service::Options& options);

}  // namespace tempo::ntp
