// Runs the tests; inside a guest it moves the clock or reports it.
#include <string_view>

#include <gtest/gtest.h>

#include "guest.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--move-clock")
    return tempo::uml::move_clock_as_guest(argv[2]);
  if (argc == 4 && std::string_view(argv[1]) == "--guest")
    return tempo::uml::report_as_guest(argv[2], argv[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
