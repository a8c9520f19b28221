// What the program asks of MPI, as the module tempo-mpi.so gives it. Everything is called by one
// thread, by all processes in the same order; a failure ends them all.
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
};

}  // namespace tempo::cli

extern "C" tempo::cli::MpiModule tempo_mpi_module();
