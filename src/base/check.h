// CHECK: for what must not happen whatever the world does. On in every build; stops the program.
//
// Bad input is never CHECKed, it is a Result. A failed CHECK is a defect of ours: the process ends
// at once with the place and the condition, and whoever supervises it starts it again.
#pragma once

namespace tempo {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace tempo

#define CHECK(condition)                               \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::tempo::check_failed(#condition, __FILE__, __LINE__))
