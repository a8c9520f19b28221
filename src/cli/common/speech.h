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
class Hearing {
 public:
  Hearing();
  ~Hearing();
  Hearing(const Hearing&) = delete;
  Hearing& operator=(const Hearing&) = delete;

  std::string said;
  std::string complained;
};

// Whether this thread's words are kept.
bool overheard();

void say_text(std::string_view text);
void complain_text(std::string_view text);

template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  say_text(fmt::format(format, std::forward<Values>(values)...));
}
template <class... Values>
void complain(fmt::format_string<Values...> format, Values&&... values) {
  complain_text(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace tempo::cli
