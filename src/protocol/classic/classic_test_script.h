// Hosts in classic mode in scripts (lab/sim/world_script.h). Settings:
//
//     profile classic          timers; the default is that of 4.3BSD
//     networks 0;0+1;1         the networks of host1, host2, ...; default: network 0
//     clocks 0s;+300ms;-40ms   how far the clock of each host is ahead; default: 0s
//     setdate host2            this host obeys Setdate and Setdatereq
//
// Command: host1 stop. `show` shows each host's state in its networks, the masters and its clock's
// difference from true time. The names of the hosts are h1, h2, ...; ICMP timestamps are shown as
// timestamp-request and timestamp-reply.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "lab/sim/world_script.h"
#include "machine/overloaded.h"
#include "protocol/classic/classic_host.h"

namespace tempo::classic {

inline std::string signed_ms(Nanos span) {
  return fmt::format("{:+.3f} ms", static_cast<double>(span.count()) / 1e6);
}

inline std::string text_of(const Notice& notice) {
  return std::visit(
      Overloaded{
          [](const StateChanged& one) {
            return fmt::format(
                "is {} on {}{}", name_of(one.state), one.network,
                one.master.size() == 0 ? "" : fmt::format(", master {}", one.master.text()));
          },
          [](const ClockChanged& one) {
            return fmt::format("{} its clock by {}", one.stepped ? "steps" : "slews",
                               signed_ms(one.by));
          },
          [](const PeerDown& one) { return fmt::format("misses {}", one.peer.text()); },
          [](const Refused& one) {
            return fmt::format("refuses {} of {}: {}", signed_ms(one.by), one.peer.text(),
                               name_of(one.reason));
          },
          [](const TimeLoop& one) { return fmt::format("loops on {}", one.network); },
          [](const Tracing& one) { return std::string(one.on ? "traces" : "traces no more"); }},
      notice);
}

class ScriptedClassic {
 public:
  using Machine = ClassicHost;

  Result<bool> setting(std::string_view word, std::string_view value) {
    if (word == "profile") {
      TRY(timing, election::profile(value));
      rules_.timing = timing;
    } else if (word == "networks") {
      networks_.clear();
      for (const std::string_view host : split_text(value, ';')) {
        std::uint8_t bits = 0;
        for (const std::string_view number : split_text(host, '+')) {
          TRY(network, (number_within<std::uint32_t>(number, 0, kMaxNetworks - 1)));
          bits = static_cast<std::uint8_t>(bits | 1U << network);
        }
        networks_.push_back(bits);
      }
    } else if (word == "clocks") {
      ahead_.clear();
      for (std::string_view text : split_text(value, ';')) {
        const bool behind = text.starts_with('-');
        if (behind || text.starts_with('+')) text.remove_prefix(1);
        TRY(span, parse_span(text));
        ahead_.push_back(behind ? -span : span);
      }
    } else if (word == "setdate") {
      setdate_ = value;
    } else {
      return false;
    }
    return true;
  }
  void set_hosts(std::uint32_t /*hosts*/) {}

  ClassicHost make(NodeId node, Incarnation incarnation, Instant now, const Nothing* /*record*/) {
    const std::size_t i = index(node);
    const std::uint8_t networks = i < networks_.size() ? networks_[i] : 1;
    const Nanos ahead = i < ahead_.size() ? ahead_[i] : 0ns;
    return {{.self = node,
             .incarnation = incarnation,
             .name = wire::Name(fmt::format("h{}", i + 1)),
             .networks = networks},
            rules_,
            {.setdate = setdate_ == sim::host_name(node), .answers_timestamps = true},
            clock::SteeredClock(now, kWallStart + now.time_since_epoch() + ahead, 0)};
  }

  Result<ClassicHost::Command> command(Instant /*now*/, const std::vector<std::string_view>& line) {
    if (line.size() == 1 && line.front() == "stop") return Stop{};
    return std::unexpected(fmt::format("'{}' is not a command", line.front()));
  }

  std::string text(const Packet& packet) const {
    return classic::text_of(packet) +
           (networks_.empty() ? "" : fmt::format(" on {}", packet.network));
  }
  std::string text(const Notice& notice) const { return text_of(notice); }
  std::string text(const Nothing& /*record*/) const { return ""; }

  std::string state(const ClassicHost& host, Instant now) const {
    std::string text;
    for (std::uint8_t i = 0; i < kMaxNetworks; ++i)
      if (const election::MasterElection* election = host.network(i)) {
        const wire::Name master = host.master_of(i);
        text +=
            fmt::format("{} on {}, {}, {} listed; ", name_of(election->state()), i,
                        master.size() == 0 ? "no master" : fmt::format("master {}", master.text()),
                        election->list().size());
      }
    const Nanos ahead = host.time(now) - (kWallStart + now.time_since_epoch());
    return text + "clock " + signed_ms(ahead);
  }

 private:
  static constexpr WallTime kWallStart{1'700'000'000s};

  election::Rules rules_{
      .timing = *election::profile("classic"), .repeats = 0, .variant = ClassicHost::variant()};
  std::vector<std::uint8_t> networks_;  // by host; empty: network 0
  std::vector<Nanos> ahead_;            // by host
  std::string setdate_;
};

}  // namespace tempo::classic
