// Connects the clock of the node to this machine: steers the system clock, publishes the time page,
// carries UTC of a trusted machine, saves the rate, and watches the bound.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/daemon_identity.h"
#include "daemon/drivers/event_log.h"
#include "daemon/drivers/host_clock.h"
#include "daemon/drivers/instruments.h"
#include "daemon/drivers/main_part.h"
#include "daemon/drivers/publisher.h"
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
    const MainPart* main_part = nullptr;
    EventLog* events = nullptr;
    const ParentLine* parent = nullptr;
  };
  explicit ClockDriver(const Parts& parts);

  void publish_to(page::Writer page) { publisher_.emplace(std::move(page)); }
  void stop_publishing() { publisher_.reset(); }

  void on_notice(const node::SyncNotice& notice);
  void each_second();
  void save_rate();

  node::Reading reading() const;
  const std::string& error() const { return error_; }  // of the system clock; empty: none

 private:
  const node::Sync& sync() const { return parts_.host->machine().node().sync(); }
  Instant now() const { return parts_.instruments->oscillator->now(); }
  void follow(bool stepped);
  void publish();
  void carry_utc();
  void save_rate_if_due();
  void watch_bound();

  Parts parts_;
  std::optional<Publisher> publisher_;
  std::unique_ptr<sys::KernelClock> utc_source_;  // null: this machine does not carry UTC
  clock::LeapSmear leaps_;
  Instant next_save_;
  bool utc_synchronized_ = true;  // another program synchronizes the system clock, as last reported
  bool alarmed_ = false;          // the bound exceeds bound-alarm-us
  std::string error_;             // last error of the system clock, logged once
};

}  // namespace tempo::daemon
