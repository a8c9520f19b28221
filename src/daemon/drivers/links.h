// The networks of this host: sockets, addresses of the other hosts, and outstanding transmit
// timestamps.
//
// A network keeps its number while its interface is down, so its election and the known addresses
// survive until the interface returns. The contents of datagrams do not matter here.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/settings.h"
#include "base/ids.h"
#include "base/result.h"
#include "platform/interface_watch.h"
#include "platform/loop.h"
#include "platform/network.h"
#include "protocol/sync/node.h"

namespace tempo::daemon {

class Links {
 public:
  // Both must outlive the links.
  Links(sys::Loop& loop, sys::Oscillator& oscillator) : loop_(&loop), oscillator_(&oscillator) {}

  // Opens the networks of the settings, or all networks of the host. A configured network that
  // cannot be opened is an error. Failures of other networks are logged and retried, at longer and
  // longer intervals, because an address may not be usable at once.
  Result<void> open(const config::Settings& settings);

  // Networks that appeared or disappeared since the last call, or because of new settings.
  struct Changes {
    std::vector<std::uint8_t> gone{};
    std::vector<std::uint8_t> come{};
  };
  Changes rescan(const config::Settings& settings, bool other_settings);

  // Calls `ready` when datagrams have arrived, with `departed` if a transmit timestamp may be
  // available.
  using Ready = std::function<void(std::uint8_t number, bool departed)>;
  void watch(std::uint8_t number, const Ready& ready);
  // Calls `changed` when interfaces have changed.
  void watch_interfaces(std::function<void()> changed);

  // The networks that could not be opened, and why; empty: none.
  const std::string& errors() const { return errors_; }

  std::uint8_t count() const { return count_; }
  const std::string& label(std::uint8_t number) const { return links_[number].options.label; }
  bool here(std::uint8_t number) const {
    return number < count_ && links_[number].network != nullptr;
  }
  bool kernel_stamps(std::uint8_t number) const {
    return here(number) && links_[number].network->kernel_stamps();
  }
  bool card_stamps(std::uint8_t number) const {
    return here(number) && links_[number].network->card_stamps();
  }

  std::optional<sys::Arrival> receive(std::uint8_t number);  // the next datagram
  bool knows(std::uint8_t number, NodeId host, const sys::Address& address) const;
  void learn(std::uint8_t number, NodeId host, const sys::Address& address);
  void forget(NodeId host);                   // the directory has evicted it
  std::string address_of(NodeId host) const;  // empty: unknown
  // Addresses at which hosts beyond a router reach this one, at most `most`; a port other than
  // `usual` is named.
  std::vector<std::string> own_addresses(std::size_t most, std::uint16_t usual) const;

  void broadcast(std::uint8_t number, std::span<const std::byte> bytes);
  void broadcast_everywhere(std::span<const std::byte> bytes);  // on every network that is up
  // False: the address of that host is unknown. With an exchange number, its departure is reported
  // later.
  bool send(std::uint8_t number, NodeId host, std::span<const std::byte> bytes,
            std::optional<std::uint32_t> exchange);

  void send(std::uint8_t number, const sys::Address& to, std::span<const std::byte> bytes);

  // Sends on the first network on which the host was heard.
  bool send_anywhere(NodeId host, std::span<const std::byte> bytes);

  // Sum over all networks, including those that are down.
  sys::Losses losses() const;

  struct Departed {
    NodeId host = kNobody;
    std::uint32_t exchange = 0;
    Instant at{};
  };
  static constexpr std::size_t kMaxAwaited = 256;
  bool awaits(std::uint8_t number) const { return !links_[number].awaited.empty(); }
  std::optional<Departed> departed(std::uint8_t number);

 private:
  struct Awaited {
    std::uint32_t transmission = 0;
    NodeId host = kNobody;
    std::uint32_t exchange = 0;
  };
  struct Link {
    std::unique_ptr<sys::Network> network{};  // null: down
    sys::NetworkOptions options{};
    std::map<NodeId, sys::Address> peers{};  // as many as the directory has hosts
    std::deque<Awaited> awaited{};           // at most kMaxAwaited
  };

  bool put(std::uint8_t number, const sys::NetworkOptions& options,
           Result<std::unique_ptr<sys::Network>> network, std::string& errors);
  void note_errors(std::string errors, bool changed);

  sys::Loop* loop_;
  sys::Oscillator* oscillator_;
  std::array<Link, node::kMaxNetworks> links_;
  std::uint8_t count_ = 0;
  sys::Losses gone_;                                 // losses of networks that are closed
  std::unique_ptr<sys::InterfaceWatch> interfaces_;  // null: the networks are fixed
  static constexpr Nanos kFirstPause = 1s;  // after an attempt to open networks that failed
  static constexpr Nanos kMaxPause = 1min;
  std::string errors_;         // errors of the last attempt to open networks, logged once
  Nanos pause_ = kFirstPause;  // until the next attempt
  Instant next_attempt_{};     // valid while there are errors
  bool behind_ = false;        // the networks could not be listed at the last change
};

}  // namespace tempo::daemon
