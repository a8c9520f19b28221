// Asks upstream NTP servers and feeds what most of them agree on to tempod's source of UTC, once a
// second.
//
// A sample is sent only while its error bound is at most the error that the configuration states
// for that source, so that tempod never gets a time that is worse than it believes. No call blocks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "platform/address.h"
#include "platform/clocks/oscillator.h"
#include "platform/host.h"
#include "services/ntp/socket.h"
#include "services/ntp/upstream.h"

namespace tempo::ntp {

class UpstreamClient {
 public:
  struct Options {
    std::vector<sys::Address> servers;
    std::string feed;     // path of tempod's socket
    Nanos feed_error{0};  // largest error of its samples
    std::uint32_t reference_id = 0;
  };
  static Result<UpstreamClient> open(const Options& options);

  std::vector<int> descriptors() const;  // to poll for POLLIN
  // Sends what is due, receives what has arrived. Call it at least four times a second.
  void work(sys::Oscillator& oscillator);

 private:
  UpstreamClient(const Options& options, std::vector<Socket> sockets);
  void receive(sys::Oscillator& oscillator);
  void feed();
  void report(const std::string& state);

  Options options_;
  std::vector<Socket> sockets_;  // one for each server
  Upstream upstream_;
  sys::KernelDraw draw_;
  sys::Descriptor feed_;
  Instant next_feed_{};
  std::string reported_;  // last line about the feed
};

}  // namespace tempo::ntp
