// Codecs of several hosts that talk to each other, for tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "protocol/wire/codec.h"

namespace tempo::wire {

inline constexpr Instant kNow{1000s};

inline auth::Key key_of(int seed) {
  auth::Key key{};
  key.fill(static_cast<std::byte>(seed));
  return key;
}

struct HostOptions {
  std::uint64_t id = 1;   // top bits of the host id, and its name
  HostId host = kNoHost;  // the host id itself; kNoHost: by `id`
  std::uint32_t incarnation = 10;
  std::uint64_t nonce = 100;
  std::vector<auth::Key> keys{key_of(1)};
  std::string cluster = "lab";
  Nanos exchange_interval{1s};
  int revision = kRevision;
};

// The first key seals, the others open.
inline auth::Keyring ring_of(const std::vector<auth::Key>& keys) {
  if (keys.empty()) return {};
  std::vector<auth::KeyLine> lines;
  for (const auth::Key& key : keys)
    lines.push_back({key, lines.empty() ? auth::KeyRole::seal : auth::KeyRole::open});
  return auth::Keyring(lines);
}

inline Codec codec_of(const HostOptions& options) {
  return Codec({.self = options.host != kNoHost ? options.host : HostId{options.id << 50},
                .incarnation = Incarnation{options.incarnation},
                .nonce = Nonce{options.nonce},
                .name = Name("host" + std::to_string(options.id)),
                .cluster = options.cluster,
                .keys = ring_of(options.keys),
                .secret = auth::new_key(),
                .exchange_interval = options.exchange_interval,
                .revision = static_cast<std::uint8_t>(options.revision)});
}

using Bytes = std::vector<std::byte>;

// The bytes that `write` writes to a buffer.
template <class Write>
Bytes written(Write write) {
  std::array<std::byte, kMaxBytes> buffer;
  const std::size_t size = write(buffer);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size)};
}

inline Bytes encoded(Codec& sender, const Codec::Content& content) {
  return written([&](auto& buffer) { return sender.encode(content, buffer); });
}
inline Bytes encoded_to(Codec& receiver, Codec& sender, const Codec::Content& content,
                        Instant now = kNow) {
  const NodeId to = sender.number_of(receiver.directory().host_of(receiver.self()));
  return written([&](auto& buffer) { return sender.encode(now, to, content, buffer); });
}
inline Bytes reply_of(Codec& codec, Instant now = kNow) {
  return written([&](auto& buffer) { return codec.take_reply(now, buffer); });
}

// Gives the bytes to the receiver. If the sender is not live, it answers the receiver's question,
// and the result is the datagram that was held.
inline Result<Codec::Received, DropReason> heard(Codec& receiver, Codec& sender, const Bytes& bytes,
                                                 Instant now = kNow, std::uint8_t network = 0) {
  const auto first = receiver.decode(now, network, now - 3us, bytes);
  if (first || first.error() != DropReason::not_live) return first;
  const Bytes question = reply_of(receiver, now);
  if (!sender.decode(now, network, now, question)) return first;
  if (!receiver.decode(now, network, now, reply_of(sender, now))) return first;
  const auto released = receiver.take_released();
  if (!released) return first;
  return *released;
}

inline node::Node::Message loop_of(Codec& sender, std::uint32_t round = 3) {
  node::Node::Message message;
  message.path = {.root = sender.self(), .hops = 2};
  message.body = election::Message{.kind = election::Kind::loop,
                                   .priority = election::Priority{5},
                                   .incarnation = Incarnation{10},
                                   .sequence = Sequence{17},
                                   .epoch = {round, sender.self(), Incarnation{10}},
                                   .subject = sender.self()};
  return message;
}

inline const node::Node::Message& message_in(const Result<Codec::Received, DropReason>& received) {
  return std::get<node::Node::Message>(received->content);
}

inline DropReason drop_reason(const Result<Codec::Received, DropReason>& received) {
  return received ? DropReason::count : received.error();
}

}  // namespace tempo::wire
