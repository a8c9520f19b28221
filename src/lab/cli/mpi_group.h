// The processes of one command that mpirun started, possibly on many machines; without mpirun a
// group of one.
//
// OpenMPI is in a module of its own beside the program (lab/cli/mpi), which is loaded only under
// mpirun.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tempo::cli {

// Progress of one process with its part of the work.
struct WorkProgress {
  std::uint64_t kept = 0;  // pieces done by an earlier run
  std::uint64_t done = 0;  // pieces done by this run
  bool ended = false;      // last report of this process
};

class MpiGroup {
 public:
  // Fails if mpirun started this process and the module is missing.
  static Result<std::unique_ptr<MpiGroup>> join();
  virtual ~MpiGroup() = default;  // all processes leave together

  virtual std::uint32_t rank() const { return 0; }
  virtual std::uint32_t count() const { return 1; }
  // All processes call these together. Sets `text` to that of the first process.
  virtual void spread(std::string& /*text*/) {}
  // At the first process the texts of all; at the others empty.
  virtual std::vector<std::string> gathered(const std::string& text) { return {text}; }
  // The largest of all values.
  virtual int agreed(int status) { return status; }

  // These at any time. Every process except the first reports to the first, which receives the
  // reports of each process in order and must receive until all have ended.
  virtual void notify(const WorkProgress& /*progress*/) {}
  struct ProgressReport {
    std::uint32_t from = 0;
    WorkProgress progress{};
  };
  virtual std::optional<ProgressReport> receive() { return std::nullopt; }
};

}  // namespace tempo::cli
