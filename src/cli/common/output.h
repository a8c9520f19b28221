// Output of a command: text on standard output and standard error, or one JSON object.
//
// Every command has one JSON shape, {"version": 1, "data": ..., "error": {...}}: `data` is the
// answer, `error` stands there if the command failed. A stream prints one such object per line. A
// command that leaves standard output to the command it runs prints its objects on standard error.
// A command that runs as part of another one prints into an OutputCapture of that thread; it draws
// no progress and starts no threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/json.h"

namespace tempo::cli {

// While one lives, it collects the output of its thread. At most one per thread.
class OutputCapture {
 public:
  OutputCapture();
  ~OutputCapture();
  OutputCapture(const OutputCapture&) = delete;
  OutputCapture& operator=(const OutputCapture&) = delete;

  std::string out;
  std::string err;
};

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

// The answer of a command that was called with --json. Several calls: the last one counts.
void print_json(const Json& data);
// One object of a stream, printed at once on a line of its own and flushed.
void print_json_line(const Json& data);
// The same on standard error.
void print_json_error_line(const Json& data);

// Where the JSON object of a command goes.
enum class JsonStream : unsigned char { standard_output, standard_error };

// While one lives with `json` set, the thread's errors are collected for the JSON object instead of
// standard error. At most one per thread.
class JsonScope {
 public:
  explicit JsonScope(bool json, JsonStream stream = JsonStream::standard_output);
  ~JsonScope();
  JsonScope(const JsonScope&) = delete;
  JsonScope& operator=(const JsonScope&) = delete;

  // Prints the object, if this command prints JSON; after a stream only an error. Returns `status`.
  int finish(int status);
  bool json() const { return json_; }

 private:
  friend void print_json(const Json& data);
  friend void print_json_line(const Json& data);
  friend void print_error_text(std::string_view text);

  bool json_;
  JsonStream stream_;
  bool streamed_ = false;  // objects were printed line by line
  std::optional<Json> data_;
  std::string error_;
};

}  // namespace tempo::cli
