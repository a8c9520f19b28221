// What the program asks of MPI, as the module tempo-mpi.so gives it. Everything is called by one
// thread, and but for notify and receive by all processes in the same order; a failure ends them
// all.
#pragma once

#include <cstddef>

namespace tempo::cli {

struct MpiModule {
  void (*start)(int* rank, int* count) = nullptr;
  void (*stop)() = nullptr;
  void (*spread)(void* data, std::size_t size) = nullptr;          // from the first to all
  void (*send)(const void* data, std::size_t size) = nullptr;      // to the first
  void (*take)(int from, void* data, std::size_t size) = nullptr;  // at the first
  int (*largest)(int value) = nullptr;
  // A few bytes to the first at any time, and there, whether some were told.
  void (*notify)(const void* data, std::size_t size) = nullptr;
  bool (*receive)(int* from, void* data, std::size_t size) = nullptr;
};

}  // namespace tempo::cli

// NOLINTNEXTLINE(clang-diagnostic-return-type-c-linkage): for its plain name alone
extern "C" tempo::cli::MpiModule tempo_mpi_module();
