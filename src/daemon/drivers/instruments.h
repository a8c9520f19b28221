// The oscillator and the clock of a worker: chosen by the settings, or supplied by a test.
#pragma once

#include <memory>

#include "api/settings.h"
#include "base/result.h"
#include "platform/clocks/clock.h"
#include "platform/clocks/oscillator.h"

namespace tempo::daemon {

struct Instruments {
  std::unique_ptr<sys::Oscillator> oscillator;
  std::unique_ptr<sys::Clock> clock;
};

// Fails if the system clock is to be steered and the process may not do so.
Result<Instruments> instruments_of(const config::Settings& settings);

}  // namespace tempo::daemon
