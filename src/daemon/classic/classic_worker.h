// The worker process in classic mode: a host that speaks TSP version 1 (protocol/classic),
// connected to sockets, the clock and local clients.
//
// It has the loop of the ordinary worker (daemon/worker.h) and nothing of its protocols: no locks,
// no groups, no time page, because TSP has neither them nor an error bound. TSP has no
// authentication; the worker accepts datagrams only on its networks, from the configured peers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/control_protocol.h"
#include "api/snapshot.h"
#include "daemon/classic/classic_peers.h"
#include "daemon/control/control_server.h"
#include "daemon/daemon_identity.h"
#include "daemon/drivers/event_log.h"
#include "daemon/drivers/instruments.h"
#include "daemon/drivers/links.h"
#include "daemon/drivers/runtime.h"
#include "daemon/parent_line.h"
#include "platform/clocks/timestamp_socket.h"
#include "platform/host.h"
#include "platform/loop.h"
#include "platform/notify.h"
#include "protocol/classic/classic_host.h"

namespace tempo::daemon {

struct RawClock {
  sys::Oscillator* oscillator = nullptr;
  Instant now() const { return oscillator->now(); }
};

class ClassicWorker {
 public:
  // `parent` may be null. The error is a sentence for users.
  static Result<std::unique_ptr<ClassicWorker>> create(const DaemonIdentity& identity,
                                                       const ParentLine* parent);

  // Serves local clients from this worker.
  Result<ControlServer> open_control_server(const std::string& path);

  // Runs until a signal or `stop`; returns the exit status, as Worker::run.
  int run();
  void stop() { stopping_ = true; }

  obs::Snapshot snapshot();
  std::vector<ipc::Finding> findings();
  WallTime time() { return host_.machine().time(now()); }
  Instant now() { return instruments_.oscillator->now(); }

 private:
  using Runtime = daemon::Runtime<classic::ClassicHost, RawClock>;
  enum class Drop : std::uint8_t { other_address, malformed, no_room, count };

  ClassicWorker(const DaemonIdentity& identity, Instruments instruments,
                sys::TimestampSocket timestamps, const ParentLine* parent);

  void join(std::uint8_t network);
  void update_networks();
  void receive(std::uint8_t network);
  void receive_datagram(std::uint8_t network, const sys::Arrival& arrival);
  void receive_timestamps();
  void receive_timestamp(const sys::TimestampSocket::Received& received);
  bool allowed(const sys::Address& address) const;
  NodeId sender_of(std::uint8_t network, const sys::Address& from,
                   const wire::tsp::Datagram& datagram);
  void drop(Drop why) { ++drops_[static_cast<std::size_t>(why)]; }

  void trace(std::string_view direction, const std::string& address, const classic::Packet& packet);
  void carry_out(const Output<classic::ClassicHost>& output);
  void send(std::uint8_t network, NodeId to, const classic::Packet& packet);
  void on_notice(const classic::Notice& notice);
  void on_notice(const classic::StateChanged& changed);
  void follow(bool stepped);
  void housekeeping();
  std::vector<std::string> warnings() const;

  DaemonIdentity identity_;
  Instruments instruments_;
  const ParentLine* parent_;  // may be null
  sys::Loop loop_;
  sys::KernelDraw draw_;
  election::Rules rules_;
  Links links_;
  sys::TimestampSocket timestamps_;
  std::vector<ClassicPeers> peers_;   // by network
  std::vector<std::string> allowed_;  // addresses; empty: every one
  Runtime host_;
  EventLog events_;
  sys::Notifier notifier_ = sys::Notifier::from_environment();
  std::function<void()> each_round_;
  Instant started_;
  Instant next_housekeeping_;
  // The sender of the packet in this step, when it is no host of the network: a control program, or
  // a host that measures this clock.
  sys::Address stranger_;
  std::map<std::uint8_t, election::State> shown_;  // by network, as last reported
  std::map<std::uint8_t, std::string> masters_;    // the same; empty: none, or this machine
  std::map<std::string, std::uint64_t> received_;  // by type
  std::map<std::string, std::uint64_t> sent_;      // by type
  std::array<std::uint64_t, static_cast<std::size_t>(Drop::count)> drops_{};
  std::uint64_t refused_ = 0;    // corrections and Setdates that the configuration does not allow
  std::string clock_error_;      // of the system clock, logged once
  bool tracing_ = false;         // Traceon: packets are logged
  std::size_t trace_lines_ = 0;  // logged since the last housekeeping
  bool stopping_ = false;
};

}  // namespace tempo::daemon
