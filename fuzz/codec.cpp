// Fuzzes the codec with everything that an attacker can do to the datagrams of two hosts: it keeps
// them back, repeats, redirects and changes them, and restarts the hosts. A codec delivers each
// message at most once, and a datagram to one host only to the process that it was for.
//
// The input is a sequence of steps: one byte selects the step, the bytes after it are its
// arguments.
#include "protocol/wire/codec.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "base/check.h"

namespace tempo::wire {
namespace {

constexpr std::size_t kHosts = 2;
constexpr std::size_t kMaxSteps = 500;
constexpr std::size_t kMaxRecorded = 256;

HostId host(std::size_t number) { return HostId{(number + 1) << 50}; }

class Network {
 public:
  Network() {
    for (std::size_t i = 0; i < kHosts; ++i) restart(i);
  }

  void restart(std::size_t i) {
    auth::Key secret{};
    secret.fill(static_cast<std::byte>(++starts_));
    nonces_[i] = Nonce{starts_};
    codecs_[i] = std::make_unique<Codec>(Codec::Options{.self = host(i),
                                                        .incarnation = Incarnation{10},
                                                        .nonce = nonces_[i],
                                                        .name = Name("fuzz"),
                                                        .cluster = "fuzz",
                                                        .keys = {},
                                                        .secret = secret,
                                                        .exchange_interval = 1s});
    heard_[i].clear();
  }
  void pass(Nanos time) { now_ += time; }

  // The exchange number of the echo names the recorded datagram.
  void send(std::size_t from, bool broadcast) {
    const std::size_t to = 1 - from;
    node::Node::Message message;
    message.body = node::Echo{.exchange = ++messages_};
    Codec& codec = *codecs_[from];
    const NodeId node = codec.number_of(host(to));
    // A datagram to a host that was never heard is for any of its processes, like a broadcast.
    const Directory::Host* const known = codec.directory().find(node);
    const Nonce receiver = broadcast || !known->heard ? Nonce{} : known->nonce;
    keep(broadcast ? codec.encode(message, buffer_) : codec.encode(now_, node, message, buffer_));
    receivers_.push_back(receiver);
  }

  // Delivers a recorded datagram to a host; byte `place` of it is changed by `change`.
  void deliver(std::size_t which, std::size_t to, std::size_t place, std::byte change) {
    if (recorded_.empty()) return;
    std::vector<std::byte> bytes = recorded_[which % recorded_.size()];
    bytes[place % bytes.size()] ^= change;
    forged_ = forged_ || change != std::byte{0};
    Codec& codec = *codecs_[to];
    const auto received = codec.decode(now_, 0, now_, bytes);
    const std::size_t size = codec.take_reply(now_, buffer_);
    if (size > 0) keep(size);
    while (const auto released = codec.take_released()) judge(to, *released);
    if (received) judge(to, *received);
  }
  void deliver_raw(std::span<const std::byte> bytes, std::size_t to) {
    (void)codecs_[to]->decode(now_, 0, now_, bytes);
    (void)codecs_[to]->take_reply(now_, buffer_);
    while (codecs_[to]->take_released()) {
    }
    forged_ = true;
  }

 private:
  void keep(std::size_t size) {
    if (recorded_.size() == kMaxRecorded) recorded_.erase(recorded_.begin());
    recorded_.emplace_back(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(size));
  }

  // Without a key a changed datagram may say anything, and later ones may follow from it.
  void judge(std::size_t to, const Codec::Received& received) {
    const auto* message = std::get_if<node::Node::Message>(&received.content);
    if (message == nullptr || forged_) return;
    const auto* echo = std::get_if<node::Echo>(message->sync());
    CHECK(echo != nullptr && echo->exchange > 0 && echo->exchange <= messages_);
    const Nonce receiver = receivers_[echo->exchange - 1];
    CHECK(receiver == Nonce{} || receiver == nonces_[to]);
    CHECK(heard_[to].insert(echo->exchange).second);
  }

  Instant now_{1000s};
  std::uint64_t starts_ = 0;
  std::uint32_t messages_ = 0;
  bool forged_ = false;  // a datagram was changed
  std::array<std::unique_ptr<Codec>, kHosts> codecs_;
  std::array<Nonce, kHosts> nonces_{};
  std::array<std::set<std::uint32_t>, kHosts> heard_;  // messages delivered to this process
  std::vector<Nonce> receivers_;  // by message: the process that it is for; Nonce{}: any
  std::vector<std::vector<std::byte>> recorded_;
  std::array<std::byte, kMaxBytes> buffer_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::uint8_t> bytes(data, size);
  const auto byte = [&] {
    if (bytes.empty()) return std::uint8_t{0};
    const std::uint8_t first = bytes.front();
    bytes = bytes.subspan(1);
    return first;
  };
  Network network;
  for (std::size_t steps = 0; !bytes.empty() && steps < kMaxSteps; ++steps) {
    const std::uint8_t step = byte();
    const std::size_t host = step / 8 % kHosts;
    switch (step % 8) {
      case 0:
        network.restart(host);
        break;
      case 1:
        network.pass(100ms * byte());
        break;
      case 2:
        network.send(host, true);
        break;
      case 3:
        network.send(host, false);
        break;
      case 4:
        network.deliver(byte(), host, byte(), std::byte{byte()});
        break;
      case 5: {
        const std::size_t wanted = byte();
        const auto raw = bytes.first(std::min(wanted, bytes.size()));
        network.deliver_raw(std::as_bytes(raw), host);
        bytes = bytes.subspan(raw.size());
        break;
      }
      default:
        network.deliver(byte(), host, 0, std::byte{0});
        break;
    }
  }
  return 0;
}

}  // namespace tempo::wire
