#include "daemon/drivers/clock_driver.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "api/door_status.h"
#include "base/span_text.h"
#include "daemon/log.h"
#include "machine/overloaded.h"

namespace tempo::daemon {
namespace {

constexpr Nanos kRateInterval = 1min;    // the rate is saved at this interval...
constexpr double kMinRateChange = 1e-6;  // ...and when it has changed by more than this

// Signed duration, e.g. "-200.1ms".
std::string signed_text(Nanos by) {
  return (by < Nanos{0} ? "-" : "+") + span_text(std::chrono::abs(by));
}

}  // namespace

ClockDriver::ClockDriver(const Parts& parts) : parts_(parts), next_save_(now() + kRateInterval) {
  if (parts.identity->settings.trusted) utc_source_ = sys::real_kernel_clock();
}

node::Reading ClockDriver::reading() const { return sync().reading(now()); }

void ClockDriver::on_notice(const node::SyncNotice& notice) {
  std::visit(
      Overloaded{[this](const node::Stepped& stepped) {
                   parts_.events->emit("clock-stepped",
                                       fmt::format("clock stepped by {}", signed_text(stepped.by)));
                   follow(true);
                   publish();
                 },
                 [this](const node::Steered&) {
                   follow(false);
                   publish();
                 },
                 [this](const node::NetworkTimeSet& set) {
                   parts_.events->emit(
                       "time-set",
                       fmt::format("an operator changed network time by {}", signed_text(set.by)));
                 },
                 [](const node::Outvoted&) {}, [](const node::Reinstated&) {}},
      notice);
}

void ClockDriver::each_second() {
  carry_utc();
  follow(false);
  publish();
  serve_doors();
  watch_bound();
  save_rate_if_due();
}

// Call it after the system clock has moved, so that no client sees the new time before that.
void ClockDriver::publish() {
  if (publisher_) publisher_->publish(*parts_.instruments->oscillator, sync());
}

void ClockDriver::follow(bool stepped) {
  if (parts_.identity->settings.clock != config::ClockKind::system) return;
  // The steered clock stood still during a suspension: following it would set the system clock
  // back.
  if (parts_.loop->slept() > Nanos{0}) return;
  const Instant at = now();
  const clock::SteeredClock& dial = sync().steered_clock();
  auto done = parts_.instruments->clock->follow(at, dial.at(at), dial.rate(), stepped);
  if (done) done = claim(at);
  const std::string error = done ? "" : done.error();
  if (error != error_ && !error.empty()) log_error(error);
  error_ = error;
}

// After every change of the clock, because a step makes the kernel forget the last claim.
Result<void> ClockDriver::claim(Instant at) {
  const config::Settings& settings = parts_.identity->settings;
  const page::Reading reading = page_reading(at);
  const bool claims =
      settings.kernel_claims == config::KernelClaims::network &&
      doors::door_status(reading.status, doors::bound_of(reading), settings.claims_limit).claims;
  if (!claims) return parts_.instruments->clock->claim(std::nullopt);
  return parts_.instruments->clock->claim(sys::KernelClaim{.at = at,
                                                           .time = reading.time,
                                                           .earliest = reading.earliest,
                                                           .latest = reading.latest,
                                                           .rate = sync().steered_clock().rate(),
                                                           .tai = settings.tai_offset});
}

page::Reading ClockDriver::page_reading(Instant at) const {
  const node::Reading reading = sync().reading(at);
  return {.time = reading.time,
          .earliest = reading.earliest,
          .latest = reading.latest,
          .status = page_status(reading.status)};
}

void ClockDriver::serve_doors() {
  if (!doors_) return;
  timespec monotonic{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &monotonic);
  const sys::Bracket kernel = sys::read_bracket();
  doors_->publish(kernel, page_reading(parts_.instruments->oscillator->at(kernel.raw())),
                  sys::nanos_of(monotonic));
  if (const std::string& error = doors_->error(); error != door_error_) {
    if (!error.empty()) log_warning(error);
    door_error_ = error;
  }
}

void ClockDriver::carry_utc() {
  if (utc_source_ != nullptr) carry_trusted_clock();
  if (!utc_door_) return;
  const Instant at = now();
  const auto utc = utc_door_->read(at, *parts_.events);
  if (utc)
    parts_.host->command(node::Node::Command{
        node::Node::ClockCommand{node::CarryUtc{.at = at, .utc = utc->utc, .bound = utc->bound}}});
}

// UTC from the system clock that another program synchronizes, without the steps of leap seconds.
void ClockDriver::carry_trusted_clock() {
  const auto state = sys::read_discipline(*utc_source_);
  const bool synchronized = state && state->synchronized;
  if (synchronized != utc_synchronized_)
    parts_.events->emit(
        synchronized ? "utc-found" : "utc-lost",
        synchronized
            ? "the system clock is synchronized again; this machine is a source of UTC"
            : "this machine is configured as trusted, but no program synchronizes its clock; "
              "check chronyd or ptp4l");
  utc_synchronized_ = synchronized;
  if (!synchronized) return;
  const Nanos utc = leaps_.utc(state->raw, state->real, state->tai);
  parts_.host->command(node::Node::Command{
      node::Node::ClockCommand{node::CarryUtc{.at = parts_.instruments->oscillator->at(state->raw),
                                              .utc = utc,
                                              .bound = std::max(state->most_error, Nanos{1})}}});
}

void ClockDriver::watch_bound() {
  const std::optional<Nanos>& alarm = parts_.identity->settings.bound_alarm;
  const node::Reading now = reading();
  const Nanos bound = now.latest - now.time;
  const bool exceeded =
      alarm && bound > *alarm && now.status != node::Reading::Status::unsynchronized;
  if (exceeded && !alarmed_)
    parts_.events->emit("bound-exceeded",
                        fmt::format("clock may be off by up to {}; bound-alarm-us is {:.3f}",
                                    span_text(bound), static_cast<double>(alarm->count()) * 1e-3));
  alarmed_ = exceeded;
}

// The worker may not write to the state directory after it has changed its user.
void ClockDriver::save_rate() {
  next_save_ = now() + kRateInterval;
  State& state = parts_.identity->state;
  state.rate = sync().base_rate();
  if (parts_.parent != nullptr) {
    parts_.parent->send(fmt::format("{}\t{}", kSaveRate, rate_text(state.rate)));
    return;
  }
  state.written_s = system_seconds();
  if (const auto saved = write_state(parts_.identity->settings.state_dir, state); !saved)
    log_warning(saved.error());
}

// A killed worker cannot save the rate at its end. Without a parent this process would have to wait
// for the disk.
void ClockDriver::save_rate_if_due() {
  if (parts_.parent == nullptr) return;
  const double change = std::abs(sync().base_rate() - parts_.identity->state.rate);
  if (change > kMinRateChange || (change > 0 && now() >= next_save_)) save_rate();
}

}  // namespace tempo::daemon
