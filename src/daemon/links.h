// The networks this host is on: their sockets, where the other hosts are, and whose departure is
// awaited.
//
// A network keeps its number while it is away, so that its election and the addresses learnt there
// outlive an interface that goes down and comes back. What the datagrams say is none of its
// business.
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

  // Opens what the settings name, or what the host is on. One that was named and cannot be had is
  // an error; the others are warned of, and tried again: an address may not be usable at once.
  Result<void> open(const config::Settings& settings);

  // What has become of the interfaces since the last call, or by other settings.
  struct Changes {
    std::vector<std::uint8_t> gone{};
    std::vector<std::uint8_t> come{};
  };
  Changes look_again(const config::Settings& settings, bool other_settings);

  // From now on `ready` is called when datagrams have arrived there, with `departed` if a transmit
  // stamp may be there too.
  using Ready = std::function<void(std::uint8_t number, bool departed)>;
  void watch(std::uint8_t number, const Ready& ready);
  // When interfaces have changed.
  void watch_interfaces(std::function<void()> changed);

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

  // The next datagram from there. One that cannot be from this host itself is `elsewhere`.
  std::optional<sys::Arrival> receive(std::uint8_t number);
  bool elsewhere(std::uint8_t number, const sys::Address& from) const;
  void learn(std::uint8_t number, NodeId host, const sys::Address& address);
  std::string address_of(NodeId host) const;  // empty: never heard

  void broadcast(std::uint8_t number, std::span<const std::byte> bytes);
  // False: where that host is has never been heard. With an exchange, its departure is awaited.
  bool send(std::uint8_t number, NodeId host, std::span<const std::byte> bytes,
            std::optional<std::uint32_t> exchange);

  // Over the first network on which it was heard.
  bool send_anywhere(NodeId host, std::span<const std::byte> bytes);

  // On all networks that are and were here.
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
    std::unique_ptr<sys::Network> network{};  // null: not there now
    sys::NetworkOptions options{};
    std::vector<sys::Address> own{};         // where it sends from; empty: not known
    std::map<NodeId, sys::Address> peers{};  // as many as the directory has hosts
    std::deque<Awaited> awaited{};           // at most kMaxAwaited
  };

  bool put(std::uint8_t number, const sys::NetworkOptions& options,
           Result<std::unique_ptr<sys::Network>> network, std::string& trouble);
  void notify(std::string trouble);

  sys::Loop* loop_;
  sys::Oscillator* oscillator_;
  std::array<Link, node::kMaxNetworks> links_;
  std::uint8_t count_ = 0;
  sys::Losses gone_;                                 // of networks that are here no more
  std::unique_ptr<sys::InterfaceWatch> interfaces_;  // null: the networks are fixed
  std::string trouble_;  // of networks that could not be opened when last tried, told once
};

}  // namespace tempo::daemon
