// The results of a sweep as text: a header line with the specification, then one line per cell in
// the order of their numbers. Nothing in it depends on time, machine, threads or the distribution
// of cells, so the results of one sweep are the same bytes everywhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lab/cli/sweep/share.h"
#include "lab/cli/sweep/spec.h"

namespace tempo::sweep {

using Lines = std::map<std::uint64_t, std::string>;  // by cell, without line ends

// `version` is that of the program: results of different versions are not merged.
std::string header_line(const Spec& spec, std::string_view version, const Share& share);
std::string cell_line(const Spec& spec, std::uint64_t cell, int status, const Json& result);

// A file of results, possibly incomplete because its writing was interrupted.
struct Part {
  std::string description;  // the header without its share
  Share share{};
  std::uint64_t cells = 0;  // of the whole sweep
  Lines lines;
};
Result<Part> parse_part(std::string_view text);
// Merges parts of one sweep; does not report missing cells.
Result<Part> merged(std::vector<Part> parts);

std::string json_lines(const std::string& header, const Lines& lines);
// One row per cell: its number, its options, its status, and every number and text of its result.
// Nested values have joined names, such as wait.mean. Lists are kept as JSON.
std::string csv(const Lines& lines);

}  // namespace tempo::sweep
