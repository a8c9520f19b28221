// What a worker measures time with, and what it steers: by the settings, or brought by a test.
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

// Fails where the kernel's clock is to be steered and must not be.
Result<Instruments> instruments_of(const config::Settings& settings);

}  // namespace tempo::daemon
