// Findings as JSON: for publication, and as a cache, so that an interrupted run continues where it
// stopped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "lab/papers/experiment.h"

namespace tempo::papers {

Json json_of(const Claim& claim);
Json json_of(const report::Chart& chart);
Json json_of(const Diagram& diagram);

// Hash of everything that determines an experiment's findings: equal keys, equal findings.
// `program` identifies the code.
std::uint64_t key_of(const Experiment& experiment, Effort effort, std::uint64_t seed,
                     std::uint64_t program);

// Text of the cache file, and its reader: an error if the file has another key or is incomplete.
std::string kept_text(const Findings& findings, std::uint64_t key);
Result<Findings> read_kept(std::string_view text, std::uint64_t key);

}  // namespace tempo::papers
