// What `tempo check` is asked for: the arguments as typed, understood or refused.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/check/model.h"
#include "lab/cli/check/check.h"
#include "lab/studies/election/election_model.h"

namespace tempo::cli {

struct CheckOrder {
  check::Freedom freedom;
  check::ElectionModel model;
  std::size_t memory = 0;
  bool fingerprints = false;
};

Result<CheckOrder> parse_plan(const CheckElectionArguments& arguments);

// "512M", "4G".
Result<std::size_t> memory_of(const std::string& text);

// Every approximation in what was asked for, in words.
std::vector<std::string> assumptions(const CheckOrder& plan);

}  // namespace tempo::cli
