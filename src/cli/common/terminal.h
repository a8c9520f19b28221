// What standard output is: a terminal or not, how wide, and whether it shows more than ASCII.
#pragma once

#include <cstddef>

namespace tempo::cli {

bool stdout_is_terminal();
std::size_t stdout_width();   // 100 where it is not a terminal
bool stdout_shows_unicode();  // by the locale; true where it is not a terminal

}  // namespace tempo::cli
