// CHECK(condition): asserts an invariant of the program. Active in every build.
//
// A failed CHECK is a defect of tempo. It prints the file, the line and the condition and aborts
// the process; the service manager restarts it. Bad input is never CHECKed: it is reported as a
// Result.
#pragma once

namespace tempo {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace tempo

#define CHECK(condition)                               \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::tempo::check_failed(#condition, __FILE__, __LINE__))
