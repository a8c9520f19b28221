#include "lab/cli/mpi_group.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include <dlfcn.h>
#include <fmt/core.h>

#include "base/number_text.h"
#include "lab/cli/mpi_module.h"

namespace tempo::cli {
namespace {

class ByMpi : public MpiGroup {
 public:
  explicit ByMpi(const MpiModule& module) : module_(module) { module_.start(&rank_, &count_); }
  ~ByMpi() override { module_.stop(); }
  ByMpi(const ByMpi&) = delete;
  ByMpi& operator=(const ByMpi&) = delete;

  std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t count() const override { return static_cast<std::uint32_t>(count_); }

  void spread(std::string& text) override {
    std::uint64_t size = text.size();
    module_.spread(&size, sizeof size);
    text.resize(size);
    module_.spread(text.data(), text.size());
  }

  std::vector<std::string> gathered(const std::string& text) override {
    if (rank_ != 0) {
      const std::uint64_t size = text.size();
      module_.send(&size, sizeof size);
      module_.send(text.data(), text.size());
      return {};
    }
    std::vector<std::string> all{text};
    for (int from = 1; from < count_; ++from) {
      std::uint64_t size = 0;
      module_.take(from, &size, sizeof size);
      module_.take(from, all.emplace_back(size, '\0').data(), size);
    }
    return all;
  }

  int agreed(int status) override { return module_.largest(status); }

  void notify(const WorkProgress& progress) override { module_.notify(&progress, sizeof progress); }
  std::optional<ProgressReport> receive() override {
    int from = 0;
    WorkProgress progress;
    if (!module_.receive(&from, &progress, sizeof progress)) return std::nullopt;
    return ProgressReport{static_cast<std::uint32_t>(from), progress};
  }

 private:
  MpiModule module_;
  int rank_ = 0;
  int count_ = 1;
};

// Number of processes that mpirun started; 1: no mpirun.
std::uint64_t process_count() {
  const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size == nullptr ? 1 : parse_number<std::uint64_t>(size).value_or(1);
}

// Loads the module from its place beside the program, in the build tree and installed.
void* load_module() {
  std::error_code failure;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", failure).parent_path();
  if (failure) return nullptr;
  return dlopen((program / "../lib/tempo/tempo-mpi.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace

Result<std::unique_ptr<MpiGroup>> MpiGroup::join() {
  if (process_count() < 2) return std::make_unique<MpiGroup>();
  void* const module = load_module();
  const auto entry = module == nullptr
                         ? nullptr
                         : reinterpret_cast<MpiModule (*)()>(dlsym(module, "tempo_mpi_module"));
  if (entry == nullptr)
    return std::unexpected(
        "this tempo-lab was built without MPI; run parts with --shard i/n without mpirun and "
        "combine them with 'tempo-lab merge'");
  return std::make_unique<ByMpi>(entry());
}

}  // namespace tempo::cli
