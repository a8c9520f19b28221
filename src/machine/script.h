// A test as text: a comment with the story, commands, four dashes, the answer.
//
//     # A client gets a free lock.
//     host1 acquire door client 3
//     run 1s
//     ----
//     0 host1->* ASK door
//
// A file is a sequence of such blocks, separated by blank lines. A runner carries the commands out;
// `answered` returns the script with the answers of this run. The runners: lab/sim/world_script.h
// for machines, lab/studies/election/script.cpp, and the control protocol's test.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/number_text.h"
#include "base/result.h"

namespace tempo {

class ScriptRunner {
 public:
  virtual ~ScriptRunner() = default;
  // Carries out one command line; appends its output to `answer`.
  virtual Result<void> command(std::string_view line, std::string& answer) = 0;
  // Appends output that is not part of an answer yet, at the end of a block.
  virtual void finish(std::string& answer) = 0;

 protected:
  ScriptRunner() = default;
  ScriptRunner(const ScriptRunner&) = default;
  ScriptRunner& operator=(const ScriptRunner&) = default;
};

// The parts of a text between single separators; a separator at the end adds no part.
inline std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <class Number>
Result<Number> number_within(std::string_view text, Number low, Number high) {
  const std::optional<Number> number = parse_number<Number>(text);
  if (!number || !(*number >= low && *number <= high))
    return std::unexpected(fmt::format("'{}' is not a number from {} to {}", text, low, high));
  return *number;
}

// The script with the answers of this run; an error names the line.
inline Result<std::string> answered(std::string_view script, ScriptRunner& runner) {
  std::string out;
  std::string answer;
  bool in_answer = false;
  std::size_t number = 0;
  for (const std::string_view line : split_text(script, '\n')) {
    ++number;
    if (line == "----") {
      in_answer = true;
      runner.finish(answer);
      out += "----\n" + answer;
      answer.clear();
    } else if (line.empty()) {
      in_answer = false;
      out += '\n';
    } else if (!in_answer) {  // the lines of an old answer are skipped
      out += line;
      out += '\n';
      if (line.starts_with('#')) continue;
      if (const Result<void> done = runner.command(line, answer); !done)
        return std::unexpected(fmt::format("line {}: {}", number, done.error()));
    }
  }
  return out;
}

}  // namespace tempo
