#include "daemon/drivers/transport.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <variant>

#include "daemon/control/daemon_view.h"
#include "protocol/auth/invitation.h"
#include "protocol/host/host_content.h"

namespace tempo::daemon {
namespace {

using host::Host;

// The exchange of a message that needs a transmit timestamp; nullopt: it needs none.
std::optional<std::uint32_t> exchange_to_stamp(const node::Node::Message& message) {
  const node::SyncMessage* sync = message.sync();
  if (sync == nullptr) return std::nullopt;
  const auto* probe = std::get_if<node::Probe>(sync);
  if (probe != nullptr && probe->wants_follow_up) return probe->exchange;
  const auto* echo = std::get_if<node::Echo>(sync);
  if (echo != nullptr && echo->follow_up_comes) return echo->exchange;
  return std::nullopt;
}

}  // namespace

Transport::Transport(const DaemonIdentity& identity, sys::Loop& loop, sys::Oscillator& oscillator)
    : oscillator_(&oscillator),
      codec_(make_codec(identity)),
      links_(loop, oscillator),
      trace_(oscillator.now(), {.node = codec_.self(), .name = identity.name}) {}

// --- sending ---

void Transport::carry_out(const Output<Host>& output) {
  if (const auto* message = std::get_if<node::Node::Message>(&output.message))
    return transmit(output, *message);
  const wire::Codec::Content content = host::content_of(output.message);
  std::array<std::byte, wire::kMaxBytes> buffer;
  if (output.kind == OutputKind::send)
    links_.send_anywhere(output.to, {buffer.data(), encode(output.to, content, buffer)});
  else
    links_.broadcast_everywhere({buffer.data(), codec_.encode(content, buffer)});
}

void Transport::transmit(const Output<Host>& output, const node::Node::Message& message) {
  const std::uint8_t network = message.network;
  if (!links_.here(network)) return;
  const bool all = output.kind == OutputKind::broadcast;
  if (trace_.on())
    trace_.sent(oscillator_->now(),
                all ? LiveTrace::Peer{} : LiveTrace::Peer{output.to, name_of(output.to)},
                node::name_of(message));
  std::array<std::byte, wire::kMaxBytes> buffer;
  if (all)
    links_.broadcast(network, {buffer.data(), codec_.encode(message, buffer)});
  else if (!links_.send(network, output.to, {buffer.data(), encode(output.to, message, buffer)},
                        exchange_to_stamp(message)))
    ++unsent_;
}

std::size_t Transport::encode(NodeId to, const wire::Codec::Content& content,
                              std::span<std::byte, wire::kMaxBytes> out) {
  return codec_.encode(oscillator_->now(), to, content, out);
}

void Transport::send(std::uint8_t network, NodeId to, const wire::DiagnosticBody& body) {
  std::array<std::byte, wire::kMaxBytes> buffer;
  if (!links_.send(network, to, {buffer.data(), encode(to, body, buffer)}, std::nullopt)) ++unsent_;
}

void Transport::send(NodeId to, const wire::DiagnosticBody& body) {
  std::array<std::byte, wire::kMaxBytes> buffer;
  if (!links_.send_anywhere(to, {buffer.data(), encode(to, body, buffer)})) ++unsent_;
}

void Transport::broadcast(const wire::DiagnosticBody& body) {
  std::array<std::byte, wire::kMaxBytes> buffer;
  links_.broadcast_everywhere({buffer.data(), codec_.encode(body, buffer)});
}

void Transport::broadcast(const wire::AnnouncementBody& body) {
  std::array<std::byte, wire::kMaxBytes> buffer;
  links_.broadcast_everywhere({buffer.data(), codec_.encode(body, buffer)});
}

void Transport::ask_all() {
  const Instant now = oscillator_->now();
  codec_.directory().for_each([&](const wire::Directory::Host& host) {
    if (!host.heard || host.node == codec_.self()) return;
    std::array<std::byte, wire::kMaxBytes> buffer;
    for (std::uint8_t i = 0; i < links_.count(); ++i)
      if (const std::size_t size = codec_.ask(now, i, host.node, buffer); size > 0)
        links_.send(i, host.node, {buffer.data(), size}, std::nullopt);
  });
}

// --- receiving ---

void Transport::receive(std::uint8_t network) {
  for (int i = 0; i < sys::Network::kMaxAtOnce; ++i) {
    const std::optional<sys::Arrival> arrival = links_.receive(network);
    if (!arrival) return;
    if (auth::is_join_request(arrival->bytes)) {
      handlers_.join(network, arrival->from, arrival->bytes);
      continue;
    }
    const Instant now = oscillator_->now();
    const auto received = codec_.decode(now, network, std::min(arrival->at, now), arrival->bytes);
    for (const NodeId evicted : codec_.directory().take_evicted()) links_.forget(evicted);
    std::array<std::byte, wire::kMaxBytes> buffer;
    if (const std::size_t size = codec_.take_reply(now, buffer); size > 0)
      links_.send(network, arrival->from, {buffer.data(), size});
    if (!received) {
      if (const auto revision = codec_.incompatible_revision())
        handlers_.incompatible(arrival->from.text(), *revision);
      else
        handlers_.refused(arrival->from, received.error());
      continue;
    }
    handlers_.accepted(arrival->from);
    note_address(now, network, *received, arrival->from);
    while (const auto released = codec_.take_released()) dispatch(network, *released);
    dispatch(network, *received);
  }
}

// The source of a broadcast proves nothing: the host is asked there first.
void Transport::note_address(Instant now, std::uint8_t network,
                             const wire::Codec::Received& received, const sys::Address& from) {
  if (received.proved) return links_.learn(network, received.from, from);
  if (received.from == kNobody || links_.knows(network, received.from, from)) return;
  std::array<std::byte, wire::kMaxBytes> buffer;
  if (const std::size_t size = codec_.ask(now, network, received.from, buffer); size > 0)
    links_.send(network, from, {buffer.data(), size});
}

void Transport::dispatch(std::uint8_t network, const wire::Codec::Received& received) {
  if (const auto* body = std::get_if<wire::DiagnosticBody>(&received.content))
    return handlers_.diagnostic(network, received.from, *body);
  if (const auto* body = std::get_if<wire::AnnouncementBody>(&received.content))
    return handlers_.announcement(received.from, *body);
  const std::optional<Host::Message> message = host::message_of(codec_, received);
  if (!message) return;
  if (const auto* of_node = std::get_if<node::Node::Message>(&*message)) {
    if (trace_.on())
      trace_.received(oscillator_->now(), {.node = received.from, .name = name_of(received.from)},
                      node::name_of(*of_node));
    // The departure time must be known before the answer, which may have overtaken it.
    if (of_node->sync() != nullptr && links_.awaits(network)) read_departures(network);
  }
  handlers_.message(received.from, *message);
}

void Transport::read_departures(std::uint8_t network) {
  for (std::size_t i = 0; i < Links::kMaxAwaited; ++i) {
    const std::optional<Links::Departed> departed = links_.departed(network);
    if (!departed) return;
    handlers_.departed(network, *departed);
  }
}

std::string Transport::name_of(NodeId node) const { return name_of_node(codec_, node); }

std::string Transport::name_of(HostId host) const { return name_of_host(codec_, host); }

}  // namespace tempo::daemon
