// Runs the tests, or the command that some tests run under a lock (stamps.h).
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stamps.h"

int main(int count, char** arguments) {
  if (count > 1 && std::string(arguments[1]) == tempo::faults::kStamp)
    return tempo::faults::stamp({arguments + 2, arguments + count});
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
