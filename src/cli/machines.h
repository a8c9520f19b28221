// The processes of one command, perhaps on many machines, if mpirun has started it; else the one.
//
// OpenMPI is in a module of its own beside the program (cli/mpi), loaded only where it is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace tempo::cli {

class Machines {
 public:
  // Fails if mpirun has started us and the module is not there.
  static Result<std::unique_ptr<Machines>> join();
  virtual ~Machines() = default;  // all leave together

  virtual std::uint32_t rank() const { return 0; }
  virtual std::uint32_t count() const { return 1; }
  // All call these together. The text of the first becomes everybody's.
  virtual void spread(std::string& /*text*/) {}
  // At the first, the texts of all; at the others nothing.
  virtual std::vector<std::string> gathered(const std::string& text) { return {text}; }
  // The largest of all.
  virtual int agreed(int status) { return status; }
};

}  // namespace tempo::cli
