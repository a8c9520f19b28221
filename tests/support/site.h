// A network of real daemons on this one machine: hosts are network namespaces, wires are veth
// pairs, and every daemon has a software clock of its own.
//
// For whole-program tests and benchmarks. It needs root and iproute2; `Site::obstacle` says what is
// missing. Everything it makes is removed with it: namespaces, directories, processes. What a Site
// left behind whose program was killed is removed by the next one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "api/control_protocol.h"
#include "api/snapshot.h"
#include "base/units.h"
#include "client/clock_offset.h"
#include "support/intruder.h"
#include "support/relay.h"

namespace tempo::testbed {

struct HostOptions {
  std::vector<int> lans{0};              // the lans it is on
  bool far = false;                      // on the far side of each lan's trunk
  Nanos offset{0};                       // of its clock at the start
  double drift = 0;                      // 50e-6: gains 50 microseconds a second
  std::string machine_id{};              // empty: one of its own
  std::string name{};                    // empty: "hostN"
  bool keyless = false;                  // without the site's key
  bool ipv6 = false;                     // no IPv4 address, only the kernel's own of IPv6
  std::string user{};                    // whom the worker becomes; empty: stays root
  std::string state{};                   // where it remembers things; empty: in its directory
  std::vector<std::string> arguments{};  // for tempod, after all others
};

class Site;

class Host {
 public:
  Host(Site& site, int number, HostOptions options);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void start();  // tempod, in its namespace
  void stop();   // cleanly, and waits
  bool running() const { return process_ > 0; }
  pid_t parent() const { return process_; }
  pid_t worker() const;       // 0: none now
  void kill_worker() const;   // as a crash does
  void kill_all();            // parent and worker, without a word
  void pause(bool on) const;  // the worker, with SIGSTOP and SIGCONT
  void reload() const;        // SIGHUP, for the parent
  void set_link(bool up, int lan = 0) const;

  const std::string& name() const { return name_; }
  std::string space() const;  // the namespace
  std::string address(int lan = 0) const;
  std::string socket() const;
  std::string log() const;  // what the daemon has said so far
  std::string directory() const;

  // Nothing if it cannot be asked now.
  std::optional<obs::Snapshot> status() const;
  std::optional<client::ClockOffset> clock_offset() const;
  // Without a daemon of its own, this host sends that many false datagrams to the addresses.
  Attack attack(const std::vector<std::string>& targets, int count,
                Attempt attempt = Attempt::noise) const;
  // Datagrams that the kernel has thrown away because the daemon's buffers were full.
  std::uint64_t dropped() const;

  // Whether the daemon did what it was told; nothing if it cannot be asked.
  std::optional<bool> command(const ipc::Request& request) const;

 private:
  Site* site_;
  int number_;
  HostOptions options_;
  std::string name_;
  pid_t process_ = 0;
};

class Site {
 public:
  struct Options {
    int lans = 1;
    std::string tempod{};  // the program
    std::string profile = "lan";
    bool key = false;                      // all share one
    bool realtime = false;                 // as in production; else as patient as other programs
    std::vector<std::string> arguments{};  // for every tempod
  };

  // What stands in the way of having one here; empty: nothing.
  static std::string obstacle();
  // Packets that this machine's kernel has thrown away on the way between namespaces, anybody's.
  static std::uint64_t lost_on_the_way();

  explicit Site(Options options);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  Host& add(HostOptions options = {});
  Host& host(std::size_t i) { return *hosts_[i]; }
  std::size_t size() const { return hosts_.size(); }
  void start_all();

  // The trunk between the near and the far side of a lan.
  void set_trunk(bool up, int lan = 0) const;
  // From now on a bad wire takes the place of that trunk.
  Relay& set_weather(const Weather& weather, int lan = 0);
  // Rules for nft, in the bridge's forward chain of the hub, in the place of those before; none
  // removes all.
  void filter(const std::vector<std::string>& rules) const;

  // The one that all running daemons follow and that leads; -1 while there is none.
  int master() const { return master_of_first(hosts_.size()); }
  int master_of_first(std::size_t count) const;
  // Limits are for an idle machine: three times as long is waited before it is given up.
  bool wait(Nanos limit, const std::function<bool()>& done) const;
  // Every host in a line: what it is, how it stands, how far its clock is from the first one's.
  std::string describe() const;
  // The largest difference between two running daemons' clocks, less what cannot be known.
  std::optional<Nanos> spread() const { return spread_of_first(hosts_.size()); }
  std::optional<Nanos> spread_of_first(std::size_t count) const;

  const Options& options() const { return options_; }
  const std::string& directory() const { return directory_; }
  std::string space(const std::string& part) const;  // the name of a namespace of this site
  std::string bridge(int lan, bool far) const;

 private:
  friend class Host;
  Options options_;
  std::string directory_;
  std::string prefix_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Relay>> relays_;
};

// Runs a command without a shell's help beyond the words given; its exit status.
int run(const std::vector<std::string>& words);

}  // namespace tempo::testbed
