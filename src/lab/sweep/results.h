// What came of a sweep, as text: a line that says what was asked for, and one for each cell, in
// their order. Nothing in it depends on time, machine, threads or how the cells were shared out, so
// that the results of one sweep are the same bytes wherever they were made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lab/sweep/share.h"
#include "lab/sweep/spec.h"

namespace tempo::sweep {

using Lines = std::map<std::uint64_t, std::string>;  // by cell, without line ends

// `version` of the program: results of different ones are not put together.
std::string header_line(const Spec& spec, std::string_view version, const Share& share);
std::string cell_line(const Spec& spec, std::uint64_t cell, int status, const Json& result);

// A file of results, or as much of one as there was when its writing was interrupted.
struct Part {
  std::string asked;  // the header without its share
  Share share{};
  std::uint64_t cells = 0;  // of the whole sweep
  Lines lines;
};
Result<Part> parse_part(std::string_view text);
// Parts of one sweep as a whole; what is missing is not said here.
Result<Part> merged(std::vector<Part> parts);

std::string json_lines(const std::string& header, const Lines& lines);
// A row for each cell: its number, its options, its status, and every number and text of its
// result, those inside others named by both, as wait.mean. Lists stay as they are.
std::string csv(const Lines& lines);

}  // namespace tempo::sweep
