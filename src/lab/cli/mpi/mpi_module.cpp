#include "lab/cli/mpi_module.h"

#include <algorithm>

#include <mpi.h>

namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 28;  // size of a message; MPI counts in int

enum Tag : int { part, progress };

// Calls `transfer` for each piece of at most kMaxBytes.
template <class Byte, class Transfer>
void in_pieces(Byte* data, std::size_t size, Transfer transfer) {
  for (std::size_t done = 0; done < size;) {
    const std::size_t piece = std::min(size - done, kMaxBytes);
    transfer(data + done, static_cast<int>(piece));
    done += piece;
  }
}

void start(int* rank, int* count) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, count);
}

void stop() { MPI_Finalize(); }

void spread(void* data, std::size_t size) {
  in_pieces(static_cast<char*>(data), size,
            [](char* piece, int bytes) { MPI_Bcast(piece, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); });
}

void send(const void* data, std::size_t size) {
  in_pieces(static_cast<const char*>(data), size, [](const char* piece, int bytes) {
    MPI_Send(piece, bytes, MPI_BYTE, 0, Tag::part, MPI_COMM_WORLD);
  });
}

void take(int from, void* data, std::size_t size) {
  in_pieces(static_cast<char*>(data), size, [from](char* piece, int bytes) {
    MPI_Recv(piece, bytes, MPI_BYTE, from, Tag::part, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}

int largest(int value) {
  int maximum = value;
  MPI_Allreduce(&value, &maximum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return maximum;
}

void notify(const void* data, std::size_t size) {
  MPI_Send(data, static_cast<int>(size), MPI_BYTE, 0, Tag::progress, MPI_COMM_WORLD);
}

bool receive(int* from, void* data, std::size_t size) {
  int pending = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, Tag::progress, MPI_COMM_WORLD, &pending, &status);
  if (pending == 0) return false;
  *from = status.MPI_SOURCE;
  MPI_Recv(data, static_cast<int>(size), MPI_BYTE, *from, Tag::progress, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return true;
}

}  // namespace

extern "C" tempo::cli::MpiModule tempo_mpi_module() {
  return {start, stop, spread, send, take, largest, notify, receive};
}
