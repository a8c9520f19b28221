// The tests, or the command that some of them run under a lock.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stamps.h"

int main(int count, char** words) {
  if (count > 1 && std::string(words[1]) == tempo::faults::kStamp)
    return tempo::faults::stamp({words + 2, words + count});
  testing::InitGoogleTest(&count, words);
  return RUN_ALL_TESTS();
}
