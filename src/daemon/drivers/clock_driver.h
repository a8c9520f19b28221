// Connects the clock of the node to this machine: steers the system clock and states its error to
// the kernel, publishes the time page and the time for programs that do not know tempo, carries UTC
// of a trusted machine, saves the rate, and watches the bound.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/daemon_identity.h"
#include "daemon/drivers/doors.h"
#include "daemon/drivers/event_log.h"
#include "daemon/drivers/host_clock.h"
#include "daemon/drivers/instruments.h"
#include "daemon/drivers/publisher.h"
#include "daemon/drivers/utc_door.h"
#include "daemon/parent_line.h"
#include "platform/clocks/discipline.h"
#include "platform/loop.h"
#include "protocol/clock/utc.h"

namespace tempo::daemon {

class ClockDriver {
 public:
  static constexpr std::string_view kSaveRate =
      "@rate";  // message to the parent: save this rate (see rate_text)

  // All must outlive the driver. `parent` may be null: then the state is written here.
  struct Parts {
    DaemonIdentity* identity = nullptr;
    Instruments* instruments = nullptr;
    sys::Loop* loop = nullptr;
    HostRuntime* host = nullptr;
    EventLog* events = nullptr;
    const ParentLine* parent = nullptr;
  };
  explicit ClockDriver(const Parts& parts);

  void publish_to(page::Writer page) { publisher_.emplace(std::move(page)); }
  void publish_to(Doors doors) { doors_.emplace(std::move(doors)); }
  // Takes UTC from these sources.
  void carry_utc_of(UtcDoor door) {
    utc_door_.emplace(std::move(door));
    utc_door_->listen(*parts_.loop, *parts_.instruments->oscillator);
  }
  std::vector<std::string> warnings() const {
    return utc_door_ ? utc_door_->warnings() : std::vector<std::string>{};
  }
  void stop_publishing() {
    publisher_.reset();
    doors_.reset();
  }

  void on_notice(const node::SyncNotice& notice);
  void each_second();
  void save_rate();

  node::Reading reading() const;
  const std::string& error() const { return error_; }  // of the system clock; empty: none

 private:
  const node::Sync& sync() const { return parts_.host->machine().node().sync(); }
  Instant now() const { return parts_.instruments->oscillator->now(); }
  void follow(bool stepped);
  Result<void> claim(Instant at);
  page::Reading page_reading(Instant at) const;
  void publish();
  void serve_doors();
  void carry_utc();
  void carry_trusted_clock();
  void save_rate_if_due();
  void watch_bound();

  Parts parts_;
  std::optional<Publisher> publisher_;
  std::optional<Doors> doors_;
  std::optional<UtcDoor> utc_door_;
  std::unique_ptr<sys::KernelClock> utc_source_;  // null: its clock is not trusted
  clock::LeapSmear leaps_;
  Instant next_save_;
  bool utc_synchronized_ = true;  // another program synchronizes the system clock, as last reported
  bool alarmed_ = false;          // the bound exceeds bound-alarm-us
  std::string error_;             // last error of the system clock, logged once
  std::string door_error_;        // of the doors, the same
};

}  // namespace tempo::daemon
