// A network of hosts that speak TSP version 1: tempod in classic mode, and the historical time
// daemon that the environment names. Every host has a software clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/site.h"

namespace tempo::testbed {

// A program that is run to its end: its output and exit status.
struct Printed {
  std::string out;
  int status = 0;
};
Printed printed_by(const std::string& command);

class ClassicNetwork {
 public:
  // `timers`: arguments of every tempod that change those of the profile.
  explicit ClassicNetwork(const std::string& profile, int lans = 1,
                          std::vector<std::string> timers = {});
  ~ClassicNetwork();
  ClassicNetwork(const ClassicNetwork&) = delete;
  ClassicNetwork& operator=(const ClassicNetwork&) = delete;

  // Adds a host that runs tempod, and starts it.
  Host& tempod(HostOptions options, const std::vector<std::string>& more = {});
  // Adds a host for another program; the kernel does not answer ICMP timestamps there.
  Host& add(HostOptions options);

  // `tempo classic ...` on that host.
  static Printed tempo(const Host& host, const std::string& arguments);
  // Sends a datagram of TSP from a free port, or from the port of TSP.
  static void send(const Host& from, const std::string& to, std::uint8_t type,
                   std::uint16_t sequence, std::int64_t micros, const std::string& name,
                   std::uint16_t port = 0);

  Site& site() { return site_; }
  bool wait(Nanos limit, const std::function<bool()>& done) { return site_.wait(limit, done); }

  static std::string state(const Host& host, std::size_t network = 0);
  static std::string master(const Host& host, std::size_t network = 0);
  static std::uint64_t counter(const Host& host, const std::string& name);
  // Offset of the clock from that of the machine; unset: unknown.
  static std::optional<double> offset_ms(const Host& host);
  std::string offsets();  // of all hosts with tempod, as text
  std::string logs();

 private:
  Site site_;
};

}  // namespace tempo::testbed
