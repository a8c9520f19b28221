// Carries the messages of the host: encodes, seals and sends them, receives and decodes them.
//
// A message of the node belongs to one network. Messages of locks and groups go to a host on the
// first network on which it was heard; a broadcast is one datagram on all networks, which a host on
// several of them accepts once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "daemon/daemon_identity.h"
#include "daemon/drivers/links.h"
#include "daemon/drivers/live_trace.h"
#include "platform/loop.h"
#include "protocol/host/host.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

class Transport {
 public:
  // `loop` and `oscillator` must outlive the transport.
  Transport(const DaemonIdentity& identity, sys::Loop& loop, sys::Oscillator& oscillator);

  void carry_out(const Output<host::Host>& output);  // a send or a broadcast
  void send(std::uint8_t network, NodeId to, const wire::DiagnosticBody& body);
  void send(NodeId to, const wire::DiagnosticBody& body);  // on the network where it was heard
  void broadcast(const wire::DiagnosticBody& body);
  void broadcast(const wire::AnnouncementBody& body);
  // Asks every known host for a sign of life; its answer names its keys.
  void ask_all();

  struct Handlers {
    std::function<void(NodeId from, const host::Host::Message& message)> message{};
    std::function<void(std::uint8_t network, NodeId from, const wire::DiagnosticBody& body)>
        diagnostic{};
    std::function<void(NodeId from, const wire::AnnouncementBody& body)> announcement{};
    std::function<void(const std::string& address, std::uint8_t revision)> incompatible{};
    // Every other datagram that the codec refuses, and every one that it accepts.
    std::function<void(const sys::Address& address, wire::DropReason reason)> refused{};
    std::function<void(const sys::Address& address)> accepted{};
    // The request of a newcomer with an invitation (auth/invitation.h).
    std::function<void(std::uint8_t network, const sys::Address& from,
                       std::span<const std::byte> request)>
        join{};
    std::function<void(std::uint8_t network, const Links::Departed& departed)> departed{};
  };
  void on_input(Handlers handlers) { handlers_ = std::move(handlers); }
  // Receives the datagrams that have arrived on a network.
  void receive(std::uint8_t network);
  // Reads the transmit timestamps that are available.
  void read_departures(std::uint8_t network);

  wire::Codec& codec() { return codec_; }
  const wire::Codec& codec() const { return codec_; }
  Links& links() { return links_; }
  const Links& links() const { return links_; }
  LiveTrace& trace() { return trace_; }
  std::uint64_t unsent() const { return unsent_; }
  std::string name_of(NodeId node) const;  // name for users; empty: no host
  std::string name_of(HostId host) const;

 private:
  void transmit(const Output<host::Host>& output, const node::Node::Message& message);
  std::size_t encode(NodeId to, const wire::Codec::Content& content,
                     std::span<std::byte, wire::kMaxBytes> out);
  void note_address(Instant now, std::uint8_t network, const wire::Codec::Received& received,
                    const sys::Address& from);
  void dispatch(std::uint8_t network, const wire::Codec::Received& received);

  sys::Oscillator* oscillator_;
  wire::Codec codec_;
  Links links_;
  LiveTrace trace_;
  Handlers handlers_;
  std::uint64_t unsent_ = 0;  // messages to hosts whose address is unknown
};

}  // namespace tempo::daemon
