// Where a command's longer answers go: files, and diagrams in a file or on the terminal; and how
// what others have written is read.
#pragma once

#include <optional>
#include <string>

#include "lab/report/space_time.h"
#include "lab/sim/trace.h"

namespace tempo::cli {

// False, and a sentence on standard error, if it cannot be written.
bool write_file(const std::string& path, const std::string& text);
// The same, and there is no moment at which the file is there in part.
bool replace_file(const std::string& path, const std::string& text);
// All of it; nothing if it cannot be opened.
std::optional<std::string> read_file(const std::string& path);

// Draws the trace as a page into the file, or as text on the terminal if `where` is "-".
bool show_diagram(const sim::Trace& trace, const report::SpaceTimeOptions& look,
                  const std::string& where);

}  // namespace tempo::cli
