// Expectations shared by the tests of models.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "lab/check/explore.h"

namespace tempo::check {

inline void expect_sound(const Finding& finding, std::uint64_t at_least) {
  EXPECT_TRUE(finding.complete) << finding.stopped;
  EXPECT_FALSE(finding.violation) << finding.violation->property;
  EXPECT_GE(finding.states, at_least);  // fewer: the search no longer covers everything
}

// The violated property, or the reason why the search stopped.
inline std::string broken_in(const Finding& finding) {
  return finding.violation ? finding.violation->property : finding.stopped;
}

inline bool soak() { return std::getenv("TEMPO_SOAK") != nullptr; }

}  // namespace tempo::check
