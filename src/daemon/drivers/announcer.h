// Drives the announcements of this host (protocol/announce): sends them, receives those of the
// other members, and gives their names to the directory of hosts.
#pragma once

#include <optional>
#include <string>

#include "base/random.h"
#include "daemon/daemon_identity.h"
#include "daemon/drivers/runtime.h"
#include "daemon/drivers/transport.h"
#include "platform/clocks/oscillator.h"
#include "protocol/host/announcements.h"

namespace tempo::daemon {

class Announcer {
 public:
  // All must outlive the announcer.
  struct Parts {
    const DaemonIdentity* identity = nullptr;
    Transport* transport = nullptr;
    sys::Oscillator* oscillator = nullptr;
    Draw* draw = nullptr;
  };
  explicit Announcer(const Parts& parts);

  // The state of this host's clock, for its next announcements.
  struct ClockState {
    std::string_view status;
    Nanos offset{0};
    Nanos bound{0};  // zero: no network time
    bool leads = false;
  };
  void describe(Instant started, const ClockState& clock);
  void start() { machine_.start(); }
  void stop() { machine_.command(announce::Announcements::Stop{}); }
  void receive(NodeId from, const wire::AnnouncementBody& body);
  Instant deadline() const { return machine_.deadline(); }
  void wake() { machine_.wake(); }

  const announce::Announcements& machine() const { return machine_.machine(); }

  // How this host sees another one.
  struct Sight {
    std::string name{};
    std::optional<announce::State> state{};  // unset: never heard nor mentioned
    Nanos heard_ago{0};                      // by this host, or by the one that mentions it
  };
  Sight sight_of(HostId host) const;

 private:
  struct RawClock {
    sys::Oscillator* oscillator = nullptr;
    Instant now() const { return oscillator->now(); }
  };

  Parts parts_;
  Runtime<announce::Announcements, RawClock> machine_;
};

// What this host says of its settings.
wire::AnnouncementBody announced_settings(const config::Settings& settings);
// Fingerprint of all timers; equal timers have equal ones.
std::uint32_t fingerprint(const election::Timing& timing);

}  // namespace tempo::daemon
