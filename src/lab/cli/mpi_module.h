// The functions of MPI that tempo-lab uses, provided by the module tempo-mpi.so. One thread calls
// them; all processes call them in the same order, except notify and receive. A failure ends all
// processes.
#pragma once

#include <cstddef>

namespace tempo::cli {

struct MpiModule {
  void (*start)(int* rank, int* count) = nullptr;
  void (*stop)() = nullptr;
  void (*spread)(void* data, std::size_t size) = nullptr;          // from the first process to all
  void (*send)(const void* data, std::size_t size) = nullptr;      // to the first process
  void (*take)(int from, void* data, std::size_t size) = nullptr;  // at the first process
  int (*largest)(int value) = nullptr;
  // A few bytes to the first process at any time; receive() there returns whether some arrived.
  void (*notify)(const void* data, std::size_t size) = nullptr;
  bool (*receive)(int* from, void* data, std::size_t size) = nullptr;
};

}  // namespace tempo::cli

// NOLINTNEXTLINE(clang-diagnostic-return-type-c-linkage): for its plain name alone
extern "C" tempo::cli::MpiModule tempo_mpi_module();
