// Findings as JSON: to be published, and to be kept, so that a run that was interrupted goes on
// where it ended.
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

// Everything an experiment's result depends on, as one number: equal keys, equal findings.
// `program` stands for the code that ran.
std::uint64_t key_of(const Experiment& experiment, Effort effort, std::uint64_t seed,
                     std::uint64_t program);

// What is written to a file, and what is read from it: nothing but an error if it was found under
// another key, or is not whole.
std::string kept_text(const Findings& findings, std::uint64_t key);
Result<Findings> read_kept(std::string_view text, std::uint64_t key);

}  // namespace tempo::papers
