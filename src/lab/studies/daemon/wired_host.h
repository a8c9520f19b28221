// A host with its codec: the machine whose messages are datagrams, as they are on the wire.
//
// It receives bytes, decodes them as tempod does, and gives the host what the codec believes.
// Outputs of the host become bytes when they leave (`write`), so that their numbers and responses
// are those of that moment, as in the daemon. Questions and answers about liveness stay here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "lab/studies/daemon/daemon_plan.h"
#include "machine/compose.h"
#include "protocol/host/host.h"
#include "protocol/wire/codec.h"

namespace tempo::sim::daemon {

class WiredHost {
 public:
  using Host = host::Host;
  using Bytes = std::vector<std::byte>;
  using Message = std::variant<Host::Message, Bytes>;  // only bytes travel
  using Command = Host::Command;
  using Notice = Host::Notice;
  using Record = Host::Record;
  using BootClock = Host::BootClock;
  using Parts = PartList<Host>;

  static Command persisted(const Record& record) { return Host::persisted(record); }

  // `host` numbers its peers by the directory of `codec`.
  WiredHost(std::unique_ptr<wire::Codec> codec, Host host);

  void start(Turn<WiredHost>& turn);
  void receive(Turn<WiredHost>& turn, NodeId address, const Message& message);
  void on_timer(Turn<WiredHost>& turn, TimerId timer);
  void command(Turn<WiredHost>& turn, const Command& command);
  auto timers() const { return host_.timers(); }
  const char* check() const { return host_.check(); }

  // Makes `message` the bytes that leave now, and `to` the address of that host. False: the address
  // is not known.
  bool write(Instant now, NodeId& to, Message& message);

  static bool waits_for_record(const Output<WiredHost>& output);

  const Host& host() const { return host_; }
  const wire::Codec& codec() const { return *codec_; }
  std::uint64_t heard() const { return heard_; }  // messages that reached the host

 private:
  template <class Step>
  void step(Turn<WiredHost>& turn, Step step);
  void check_id(Turn<WiredHost>& turn);
  void deliver(Turn<WiredHost>& turn, const wire::Codec::Received& received);
  void note_address(Turn<WiredHost>& turn, const wire::Codec::Received& received, NodeId address);
  static void send(Turn<WiredHost>& turn, NodeId address, std::size_t size, const std::byte* bytes);

  std::unique_ptr<wire::Codec> codec_;
  Host host_;
  std::array<NodeId, kMaxHosts> addresses_;  // by host; kNobody: unknown
  std::uint64_t heard_ = 0;
  bool id_taken_ = false;
};

}  // namespace tempo::sim::daemon
