#include "services/ntp/page_clock.h"

#include <utility>

#include "platform/clocks/oscillator.h"

namespace tempo::ntp {

void PageClock::look(Instant now) {
  if (looked_ != Instant{} && now - looked_ < kRetry) return;
  looked_ = now;
  auto opened = page::Reader::open(path_);
  error_ = opened ? "" : opened.error();
  if (opened) reader_.emplace(*std::move(opened));
}

ServedTime PageClock::now() {
  const Instant before = sys::raw_now();
  if (!reader_) look(before);
  const page::Reading reading = reader_ ? reader_->now() : page::Reading{};
  const Instant after = sys::raw_now();
  status_ = reading.status;
  const Nanos bound = doors::bound_of(reading);
  const doors::DoorStatus status = doors::door_status(reading.status, bound, limit_);
  if (!status.claims) {
    const sys::Bracket kernel = sys::read_bracket();
    return {.raw = kernel.raw(), .time = WallTime{kernel.real}};
  }
  // The page was read between the two; with half of the time between them the bound holds.
  if (status.clockbound == doors::ClockBound::synchronized || updated_ == WallTime{})
    updated_ = std::chrono::floor<std::chrono::seconds>(reading.time);
  return {.raw = before + (after - before) / 2,
          .time = reading.time,
          .bound = bound + (after - before) / 2 + 1ns,
          .status = status,
          .updated = std::min(updated_, reading.time)};
}

}  // namespace tempo::ntp
