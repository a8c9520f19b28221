// The processes of one command, perhaps on many machines, if mpirun has started it; else the one.
//
// OpenMPI is in a module of its own beside the program (cli/mpi), loaded only where it is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tempo::cli {

// How far one process is with its part of the work.
struct WorkProgress {
  std::uint64_t kept = 0;  // pieces that were there from before
  std::uint64_t done = 0;  // and those done since
  bool ended = false;      // it says no more
};

class MpiGroup {
 public:
  // Fails if mpirun has started us and the module is not there.
  static Result<std::unique_ptr<MpiGroup>> join();
  virtual ~MpiGroup() = default;  // all leave together

  virtual std::uint32_t rank() const { return 0; }
  virtual std::uint32_t count() const { return 1; }
  // All call these together. The text of the first becomes everybody's.
  virtual void spread(std::string& /*text*/) {}
  // At the first, the texts of all; at the others nothing.
  virtual std::vector<std::string> gathered(const std::string& text) { return {text}; }
  // The largest of all.
  virtual int agreed(int status) { return status; }

  // These at any time. Every process but the first tells it; it hears each in the order of telling,
  // and must hear all until each has ended.
  virtual void notify(const WorkProgress& /*headway*/) {}
  struct ProgressReport {
    std::uint32_t from = 0;
    WorkProgress progress{};
  };
  virtual std::optional<ProgressReport> receive() { return std::nullopt; }
};

}  // namespace tempo::cli
