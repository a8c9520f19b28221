#include "platform/clocks/boot_clock.h"

#include <fstream>

namespace tempo::sys {

std::string kernel_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

}  // namespace tempo::sys
