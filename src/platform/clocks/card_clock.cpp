#include "platform/clocks/card_clock.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/ptp_clock.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "platform/clocks/oscillator.h"
#include "platform/descriptor.h"

namespace tempo::sys {
namespace {

constexpr unsigned kReadings = 3;

constexpr unsigned kNeeded =
    SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;

Nanos nanos_of(const ptp_clock_time& time) {
  return std::chrono::seconds{time.sec} + Nanos{time.nsec};
}

// An interface ioctl that reads or sets `data`.
bool interface_ioctl(int socket, unsigned long what, const std::string& interface, void* data) {
  ifreq request{};
  if (interface.size() >= sizeof request.ifr_name) return false;
  std::memcpy(request.ifr_name, interface.data(), interface.size());
  request.ifr_data = static_cast<char*>(data);
  return ioctl(socket, what, &request) == 0;
}

// Enables timestamps of all sent and received datagrams; returns the index of the PTP clock.
std::optional<int> stamping_clock(const std::string& interface) {
  const auto socket = plain_socket(AF_INET, SOCK_DGRAM, 0);
  if (!socket) return std::nullopt;
  ethtool_ts_info info{};
  info.cmd = ETHTOOL_GET_TS_INFO;
  if (!interface_ioctl(socket->number(), SIOCETHTOOL, interface, &info)) return std::nullopt;
  if (info.phc_index < 0 || (info.so_timestamping & kNeeded) != kNeeded) return std::nullopt;

  hwtstamp_config set{};
  const bool known = interface_ioctl(socket->number(), SIOCGHWTSTAMP, interface, &set);
  if (!known || (set.tx_type == HWTSTAMP_TX_OFF && set.rx_filter == HWTSTAMP_FILTER_NONE)) {
    set = {.flags = 0, .tx_type = HWTSTAMP_TX_ON, .rx_filter = HWTSTAMP_FILTER_ALL};
    if (!interface_ioctl(socket->number(), SIOCSHWTSTAMP, interface, &set)) return std::nullopt;
  }
  // With timestamps in one direction only, the other direction would look late.
  if (set.tx_type != HWTSTAMP_TX_ON || set.rx_filter != HWTSTAMP_FILTER_ALL) return std::nullopt;
  return info.phc_index;
}

class PtpClock final : public CardClock {
 public:
  explicit PtpClock(Descriptor device) : device_(std::move(device)) {}

  std::optional<Bracket> read() override {
    ptp_sys_offset_extended readings{};
    readings.n_samples = kReadings;
    if (ioctl(device_.number(), PTP_SYS_OFFSET_EXTENDED, &readings) != 0) return std::nullopt;
    return bracket_of(readings, read_bracket());
  }

 private:
  Descriptor device_;
};

}  // namespace

std::optional<Bracket> bracket_of(const ptp_sys_offset_extended& readings, const Bracket& now) {
  std::vector<Bracket> brackets;
  const unsigned count = std::min<unsigned>(readings.n_samples, PTP_MAX_SAMPLES);
  for (unsigned i = 0; i < count; ++i) {
    const auto& [before, card, after] = readings.ts[i];
    brackets.push_back({.before = Instant{nanos_of(before) - now.ahead()},
                        .real = nanos_of(card),
                        .after = Instant{nanos_of(after) - now.ahead()}});
  }
  if (brackets.empty()) return std::nullopt;
  return narrowest(brackets);
}

std::unique_ptr<CardClock> open_card_clock(const std::string& interface) {
  const auto number = stamping_clock(interface);
  if (!number) return nullptr;
  Descriptor device{open(fmt::format("/dev/ptp{}", *number).c_str(), O_RDONLY)};
  if (device.none() || !make_plain(device.number())) return nullptr;
  auto clock = std::make_unique<PtpClock>(std::move(device));
  // If the driver does not support this reading, no timestamp could be converted.
  if (!clock->read()) return nullptr;
  return clock;
}

}  // namespace tempo::sys
