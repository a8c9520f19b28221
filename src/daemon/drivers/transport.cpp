#include "daemon/drivers/transport.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <variant>

#include "daemon/control/daemon_view.h"
#include "machine/overloaded.h"

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

wire::Codec::Content content_of(const Host::Locks::Message& message) {
  return std::visit(Overloaded{[](const locks::BoundedDelayLocks::Message& of_clients) {
                                 return std::visit(
                                     [](const auto& body) { return wire::Codec::Content{body}; },
                                     of_clients.body);
                               },
                               [](const auto& body) { return wire::Codec::Content{body}; }},
                    message);
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
  const auto* of_locks = std::get_if<Host::Locks::Message>(&output.message);
  std::array<std::byte, wire::kMaxBytes> buffer;
  const std::size_t size = codec_.encode(
      of_locks != nullptr ? content_of(*of_locks) : std::get<Host::Groups::Message>(output.message),
      buffer);
  const std::span<const std::byte> bytes{buffer.data(), size};
  if (output.kind == OutputKind::send)
    links_.send_anywhere(output.to, bytes);
  else
    links_.broadcast_everywhere(bytes);
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
  const std::span<const std::byte> bytes{buffer.data(), codec_.encode(message, buffer)};
  if (all)
    links_.broadcast(network, bytes);
  else if (!links_.send(network, output.to, bytes, exchange_to_stamp(message)))
    ++unsent_;
}

void Transport::send(std::uint8_t network, NodeId to, const wire::DiagnosticBody& body) {
  std::array<std::byte, wire::kMaxBytes> buffer;
  if (!links_.send(network, to, {buffer.data(), codec_.encode(body, buffer)}, std::nullopt))
    ++unsent_;
}

void Transport::broadcast(const wire::DiagnosticBody& body) {
  std::array<std::byte, wire::kMaxBytes> buffer;
  links_.broadcast_everywhere({buffer.data(), codec_.encode(body, buffer)});
}

void Transport::notify_duplicate() {
  std::array<std::byte, wire::kMaxBytes> buffer;
  for (std::uint8_t i = 0; i < links_.count(); ++i)
    if (const std::size_t size = codec_.notify_duplicate(buffer); size > 0 && links_.here(i))
      links_.broadcast(i, {buffer.data(), size});
}

// --- receiving ---

void Transport::receive(std::uint8_t network) {
  for (int i = 0; i < sys::Network::kMaxAtOnce; ++i) {
    const std::optional<sys::Arrival> arrival = links_.receive(network);
    if (!arrival) return;
    const Instant now = oscillator_->now();
    const auto received =
        codec_.decode(now, network, std::min(arrival->at, now), arrival->bytes,
                      links_.elsewhere(network, arrival->from) ? wire::Codec::Source::elsewhere
                                                               : wire::Codec::Source::anywhere);
    if (!received) {
      if (const auto revision = codec_.incompatible_revision())
        handlers_.incompatible(arrival->from.text(), *revision);
      continue;
    }
    if (!received->sent_by_parent) links_.learn(network, received->from, arrival->from);
    dispatch(network, *received);
  }
}

void Transport::dispatch(std::uint8_t network, const wire::Codec::Received& received) {
  const NodeId from = received.from;
  const auto of_locks = [&](const auto& body) {
    handlers_.message(from, Host::Locks::Message{body});
  };
  const auto of_clients = [&](const auto& body) {
    const Incarnation sender = codec_.directory().find(from)->incarnation;
    of_locks(locks::BoundedDelayLocks::Message{sender, body});
  };
  std::visit(
      Overloaded{
          [&](const node::Node::Message& message) {
            if (trace_.on())
              trace_.received(oscillator_->now(), {.node = from, .name = name_of(from)},
                              node::name_of(message));
            // The departure time must be known before the answer, which may have overtaken
            // it.
            if (message.sync() != nullptr && links_.awaits(network)) read_departures(network);
            handlers_.message(from, message);
          },
          [&](const wire::DiagnosticBody& body) { handlers_.diagnostic(network, from, body); },
          [&](const wire::GroupBody& body) { handlers_.message(from, body); },
          [&](const wire::MutexBody& body) { of_clients(body); },
          [&](const wire::BeatBody& body) { of_clients(body); },
          [&](const auto& body) { of_locks(body); }},
      received.content);
}

void Transport::read_departures(std::uint8_t network) {
  for (std::size_t i = 0; i < Links::kMaxAwaited; ++i) {
    const std::optional<Links::Departed> departed = links_.departed(network);
    if (!departed) return;
    handlers_.departed(network, *departed);
  }
}

std::string Transport::name_of(NodeId node) const { return name_of_node(codec_, node); }

std::string Transport::name_of(HostId host) const {
  const wire::Directory::Host* known = codec_.directory().find(host);
  if (host == kNoHost || known == nullptr) return "";
  return name_of(known->node);
}

}  // namespace tempo::daemon
