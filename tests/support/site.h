// A network of real daemons on this machine: hosts are network namespaces, links are veth pairs,
// and every daemon has its own software clock.
//
// For whole-program tests and benchmarks. It needs root and iproute2; `Site::obstacle` names what
// is missing. The destructor removes namespaces, directories and processes; leftovers of a killed
// program are removed by the next Site.
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
#include "base/result.h"
#include "base/units.h"
#include "client/client.h"
#include "client/clock_offset.h"
#include "support/intruder.h"
#include "support/relay.h"

namespace tempo::testbed {

struct HostOptions {
  std::vector<int> lans{0};              // its LANs
  bool far = false;                      // on the far side of the trunk of each LAN
  Nanos offset{0};                       // clock offset at the start
  double drift = 0;                      // 50e-6: gains 50 microseconds per second
  std::string machine_id{};              // empty: a unique one
  std::string name{};                    // empty: "hostN"
  bool keyless = false;                  // does not have the key of the site
  bool ipv6 = false;                     // no IPv4 address, only the IPv6 link-local one
  std::string user{};                    // user of the worker; empty: root
  std::string state{};                   // state directory; empty: directory of the host
  std::vector<std::string> arguments{};  // for tempod, after all other arguments
};

class Site;

class Host {
 public:
  Host(Site& site, int number, HostOptions options);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void start();  // starts tempod in its namespace
  // For the next start: the arguments after all others, and whether it has no key.
  void set_arguments(std::vector<std::string> arguments, bool keyless = false);
  void stop();  // stops it cleanly and waits
  bool running() const { return process_ > 0; }
  pid_t parent() const { return process_; }
  pid_t worker() const;       // 0: none
  void kill_worker() const;   // like a crash
  void kill_all();            // parent and worker, without crash hint
  void pause(bool on) const;  // stops or continues the worker
  void reload() const;        // sends SIGHUP to the parent
  void set_link(bool up, int lan = 0) const;

  const std::string& name() const { return name_; }
  std::string space() const;  // network namespace
  std::string address(int lan = 0) const;
  std::string socket() const;
  std::string log() const;  // log of the daemon so far
  std::string directory() const;

  // Unset if the daemon does not answer.
  std::optional<obs::Snapshot> status() const;
  std::optional<client::ClockOffset> clock_offset() const;
  // Sends that many false datagrams to the addresses; this host runs no daemon.
  Attack attack(const std::vector<std::string>& targets, int count,
                Attempt attempt = Attempt::noise, int at_once = Plan{}.at_once) const;
  // Datagrams that the kernel dropped because the buffers of the daemon were full.
  std::uint64_t dropped() const;

  // Whether the daemon accepted the request; unset if it does not answer.
  std::optional<bool> command(const ipc::Request& request) const;
  // The reply of the daemon, which may take `timeout`; a refusal is an error.
  Result<ipc::Reply, client::Error> ask(const ipc::Request& request, Nanos timeout) const;

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
    std::string tempod{};  // path of the program
    std::string profile = "lan";
    bool key = false;                      // all hosts share one key
    bool realtime = false;                 // real-time priority, as in production
    std::vector<std::string> arguments{};  // for every tempod
  };

  // Names the missing prerequisite of a site; empty: none.
  static std::string obstacle();
  // Packets that the kernel of this machine lost between namespaces, of all programs.
  static std::uint64_t lost_on_the_way();

  explicit Site(Options options);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  Host& add(HostOptions options = {});
  Host& host(std::size_t i) { return *hosts_[i]; }
  std::size_t size() const { return hosts_.size(); }
  void start_all();

  // Sets the link between the near and the far side of a LAN up or down.
  void set_trunk(bool up, int lan = 0) const;
  // Replaces that link by a bad one.
  Relay& set_impairment(const Impairment& impairment, int lan = 0);
  // Replaces the nft rules in the forward chain of the bridge of the hub; empty: removes all.
  void filter(const std::vector<std::string>& rules) const;

  // Index of the master that all running daemons follow; -1: none.
  int master() const { return master_of_first(hosts_.size()); }
  int master_of_first(std::size_t count) const;
  // Waits for a condition. The limit is for an idle machine: the test waits three times as long.
  bool wait(Nanos limit, const std::function<bool()>& done) const;
  // One line per host: state, status, and clock offset from the first host.
  std::string describe() const;
  // Largest difference between the clocks of two running daemons, less the uncertainty of the
  // readings.
  std::optional<Nanos> spread() const { return spread_of_first(hosts_.size()); }
  std::optional<Nanos> spread_of_first(std::size_t count) const;

  const Options& options() const { return options_; }
  const std::string& directory() const { return directory_; }
  std::string space(const std::string& part) const;  // name of a namespace of this site
  std::string bridge(int lan, bool far) const;

 private:
  friend class Host;
  Options options_;
  std::string directory_;
  std::string prefix_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Relay>> relays_;
};

// Runs a command without a shell; returns its exit status.
int run(const std::vector<std::string>& arguments);

}  // namespace tempo::testbed
