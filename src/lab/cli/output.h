// Shared output and input of the commands of tempo-lab: errors, files, diagrams, and the JSON that
// another command printed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "lab/report/space_time.h"
#include "lab/sim/trace.h"

namespace tempo::cli {

// Prints `message` as an error of tempo-lab; returns kBadUsage.
int bad_usage(const std::string& message);

// An error message if --json was given with an option that prints text; unset: no conflict.
std::optional<std::string> json_conflict(bool json, bool trace, const std::string& diagram);

// Writes `text`; on failure prints an error and returns false.
bool write_file(const std::string& path, const std::string& text);
// The same, but atomically: other processes see the old file or the whole new one.
bool replace_file(const std::string& path, const std::string& text);
// The contents; unset: the file cannot be opened.
std::optional<std::string> read_file(const std::string& path);

// The `data` of the JSON object that a command printed with --json; without data the error's
// message.
Result<Json> answer_in(std::string_view text);

// Draws the trace as an HTML page in the file `where`, or as text on standard output if `where` is
// "-".
bool show_diagram(const sim::Trace& trace, const report::SpaceTimeOptions& look,
                  const std::string& where);

}  // namespace tempo::cli
