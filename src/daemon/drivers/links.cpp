#include "daemon/drivers/links.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <sys/poll.h>

#include "daemon/daemon_identity.h"
#include "daemon/log.h"
#include "platform/interfaces.h"

namespace tempo::daemon {
namespace {

void add(const sys::Losses& some, sys::Losses& sum) {
  for (const auto& [error, count] : some.unsent) sum.unsent[error] += count;
  sum.too_long += some.too_long;
}

}  // namespace

Result<void> Links::open(const config::Settings& settings) {
  const bool fixed = !settings.bind.empty() || !settings.peers.empty();
  TRY(networks, networks_of(settings));
  std::string errors;
  for (const sys::NetworkOptions& options : networks) {
    auto network = sys::Network::open(options, *oscillator_);
    if (fixed && !network) return std::unexpected(network.error());
    put(count_, options, std::move(network), errors);
  }
  note_errors(std::move(errors), true);
  if (fixed) return {};
  interfaces_ = std::make_unique<sys::InterfaceWatch>();
  if (count_ == 0)
    log_warning(
        "no network with broadcast is up; waiting for one (or set peers in the configuration)");
  return {};
}

void Links::note_errors(std::string errors, bool changed) {
  if (changed || errors != errors_) pause_ = kFirstPause;
  next_attempt_ = oscillator_->now() + pause_;
  pause_ = std::min(2 * pause_, kMaxPause);
  if (!errors.empty() && errors != errors_)
    log_error(fmt::format("cannot use a network: {}; tempod tries again, at least once a minute",
                          errors));
  errors_ = std::move(errors);
}

bool Links::put(std::uint8_t number, const sys::NetworkOptions& options,
                Result<std::unique_ptr<sys::Network>> network, std::string& errors) {
  if (!network) {
    errors += fmt::format("{}{}: {}", errors.empty() ? "" : "; ", options.label, network.error());
    return false;
  }
  Link& link = links_[number];
  link.network = std::move(*network);
  link.options = options;
  count_ = std::max<std::uint8_t>(count_, number + 1);
  return true;
}

Links::Changes Links::rescan(const config::Settings& settings, bool other_settings) {
  Changes changes;
  if (interfaces_ == nullptr) return changes;
  const bool changed = interfaces_->changed() || other_settings || behind_;
  if (!changed && (errors_.empty() || oscillator_->now() < next_attempt_)) return changes;
  const auto networks = networks_of(settings);
  behind_ = changed && !networks;
  if (!networks) return changes;
  for (std::uint8_t i = 0; i < count_; ++i) {
    Link& link = links_[i];
    const bool there = std::ranges::any_of(*networks, [&](const sys::NetworkOptions& options) {
      return options.label == link.options.label && options.bind == link.options.bind;
    });
    if (there || link.network == nullptr) continue;
    for (const int descriptor : link.network->descriptors()) loop_->forget(descriptor);
    add(link.network->losses(), gone_);
    link.network.reset();
    changes.gone.push_back(i);
  }
  std::string errors;
  for (const sys::NetworkOptions& options : *networks) {
    std::uint8_t number = 0;
    while (number < count_ && links_[number].options.label != options.label) ++number;
    if (number == node::kMaxNetworks || links_[number].network != nullptr) continue;
    if (put(number, options, sys::Network::open(options, *oscillator_), errors))
      changes.come.push_back(number);
  }
  note_errors(std::move(errors), changed);
  return changes;
}

void Links::watch(std::uint8_t number, const Ready& ready) {
  for (const int descriptor : links_[number].network->descriptors())
    loop_->watch(descriptor, POLLIN | POLLPRI, [number, ready](short events) {
      ready(number, (events & (POLLERR | POLLPRI)) != 0);
    });
}

void Links::watch_interfaces(std::function<void()> changed) {
  if (interfaces_ == nullptr) return;
  if (const auto descriptor = interfaces_->descriptor())
    loop_->watch(*descriptor, POLLIN, [changed = std::move(changed)](short) { changed(); });
}

std::optional<sys::Arrival> Links::receive(std::uint8_t number) {
  if (!here(number)) return std::nullopt;
  return links_[number].network->receive();
}

bool Links::knows(std::uint8_t number, NodeId host, const sys::Address& address) const {
  const auto peer = links_[number].peers.find(host);
  return peer != links_[number].peers.end() && peer->second == address;
}

void Links::learn(std::uint8_t number, NodeId host, const sys::Address& address) {
  links_[number].peers[host] = address;
}

void Links::forget(NodeId host) {
  for (Link& link : links_) link.peers.erase(host);
}

std::string Links::address_of(NodeId host) const {
  std::string text;
  for (const Link& link : links_)
    if (const auto peer = link.peers.find(host); peer != link.peers.end())
      text = peer->second.text();
  return text;
}

void Links::broadcast(std::uint8_t number, std::span<const std::byte> bytes) {
  links_[number].network->broadcast(bytes);
}

void Links::broadcast_everywhere(std::span<const std::byte> bytes) {
  for (std::uint8_t number = 0; number < count_; ++number)
    if (here(number)) broadcast(number, bytes);
}

bool Links::send(std::uint8_t number, NodeId host, std::span<const std::byte> bytes,
                 std::optional<std::uint32_t> exchange) {
  Link& link = links_[number];
  const auto peer = link.peers.find(host);
  if (peer == link.peers.end()) return false;
  const auto transmission = link.network->send(peer->second, bytes, exchange.has_value());
  if (!exchange || !transmission) return true;
  if (link.awaited.size() >= kMaxAwaited) link.awaited.pop_front();
  link.awaited.push_back({.transmission = *transmission, .host = host, .exchange = *exchange});
  return true;
}

void Links::send(std::uint8_t number, const sys::Address& to, std::span<const std::byte> bytes) {
  if (here(number)) links_[number].network->send(to, bytes, false);
}

bool Links::send_anywhere(NodeId host, std::span<const std::byte> bytes) {
  for (std::uint8_t number = 0; number < count_; ++number)
    if (here(number) && send(number, host, bytes, std::nullopt)) return true;
  return false;
}

std::vector<std::string> Links::own_addresses(std::size_t most, std::uint16_t usual) const {
  std::vector<std::string> texts;
  const auto note = [&](const sys::Address& address) {
    if (address.scope() != 0) return;  // valid on one link only
    std::string text = address.port() == usual ? address.text() : address.text_with_port();
    if (texts.size() < most && std::ranges::find(texts, text) == texts.end())
      texts.push_back(std::move(text));
  };
  for (const Link& link : links_) {
    const auto bound =
        link.network == nullptr ? std::vector<sys::Address>{} : link.network->bound();
    if (bound.empty()) continue;
    if (!bound.front().any()) {
      note(bound.front());
      continue;
    }
    for (const sys::InterfaceAddress& one :
         sys::interface_addresses().value_or(std::vector<sys::InterfaceAddress>{}))
      if (one.up && !one.loopback && one.address.family() == bound.front().family())
        note(one.address.with_port(bound.front().port()));
  }
  return texts;
}

sys::Losses Links::losses() const {
  sys::Losses sum = gone_;
  for (const Link& link : links_)
    if (link.network != nullptr) add(link.network->losses(), sum);
  return sum;
}

std::optional<Links::Departed> Links::departed(std::uint8_t number) {
  if (!here(number)) return std::nullopt;
  Link& link = links_[number];
  for (std::size_t i = 0; i < kMaxAwaited; ++i) {
    const std::optional<sys::Departure> departure = link.network->departure();
    if (!departure) return std::nullopt;
    const auto found =
        std::ranges::find(link.awaited, departure->transmission, &Awaited::transmission);
    if (found == link.awaited.end()) continue;
    const Departed departed{.host = found->host, .exchange = found->exchange, .at = departure->at};
    link.awaited.erase(found);
    return departed;
  }
  return std::nullopt;
}

}  // namespace tempo::daemon
