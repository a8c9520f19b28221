#include "daemon/drivers/instruments.h"

#include <utility>

namespace tempo::daemon {
namespace {

Result<std::unique_ptr<sys::Clock>> make_clock(const config::Settings& settings) {
  switch (settings.clock) {
    case config::ClockKind::system:
      return sys::system_clock();
    case config::ClockKind::software:
      return sys::no_clock(settings.software.offset);
    case config::ClockKind::none:
      return sys::no_clock(Nanos{0});
  }
  std::unreachable();
}

std::unique_ptr<sys::Oscillator> make_oscillator(const config::Settings& settings) {
  const config::SoftwareClock& software = settings.software;
  if (settings.clock != config::ClockKind::software) return sys::real_oscillator();
  return sys::drifting_oscillator(
      {.rate = software.drift, .wander = software.wander, .seed = software.seed});
}

}  // namespace

Result<Instruments> instruments_of(const config::Settings& settings) {
  TRY(clock, make_clock(settings));
  return Instruments{.oscillator = make_oscillator(settings), .clock = std::move(clock)};
}

}  // namespace tempo::daemon
