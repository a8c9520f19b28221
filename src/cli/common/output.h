// What a command says: on standard output and standard error, or to whoever runs it as a part of
// something larger. Then it says what does not depend on time and machine, draws no progress and
// starts no threads.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace tempo::cli {

// While one lives, what its thread says is kept here. One at a time for each thread.
class OutputCapture {
 public:
  OutputCapture();
  ~OutputCapture();
  OutputCapture(const OutputCapture&) = delete;
  OutputCapture& operator=(const OutputCapture&) = delete;

  std::string out;
  std::string err;
};

// Whether this thread's words are kept.
bool is_captured();

void print_text(std::string_view text);
void print_error_text(std::string_view text);

template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  print_text(fmt::format(format, std::forward<Values>(values)...));
}
template <class... Values>
void print_error(fmt::format_string<Values...> format, Values&&... values) {
  print_error_text(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace tempo::cli
