// The options of `tempo-lab check election`, checked before the search, and the assumptions of the
// model.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/check/model.h"
#include "lab/cli/check/commands.h"
#include "lab/studies/election/election_model.h"

namespace tempo::cli {

struct CheckPlan {
  check::Freedom freedom;
  check::ElectionModel model;
  std::size_t memory = 0;  // bytes
  bool fingerprints = false;
};

// The plan, or an error message.
Result<CheckPlan> parse_plan(const CheckElectionArguments& arguments);

// Bytes of an amount such as 512M or 4G.
Result<std::size_t> memory_of(const std::string& text);

// Every assumption and approximation of the model, as sentences.
std::vector<std::string> assumptions(const CheckPlan& plan);

}  // namespace tempo::cli
