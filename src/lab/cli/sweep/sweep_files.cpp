#include "lab/cli/sweep/sweep_files.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "cli/common/output.h"
#include "lab/cli/output.h"

namespace tempo::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".part";

std::string part_path(const std::string& out, std::uint32_t rank) {
  return rank == 0 ? out + kEnding : out + kEnding + fmt::format(".{}", rank);
}

std::vector<fs::path> part_paths(const std::string& out) {
  std::vector<fs::path> found;
  const fs::path first(out + kEnding);
  const fs::path folder = first.has_parent_path() ? first.parent_path() : fs::path(".");
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    const std::string own = first.filename().string();
    if (name == own || name.starts_with(own + '.')) found.push_back(entry->path());
  }
  return found;
}

bool belongs_to_sweep(const std::string& text, const std::string& header) {
  return text.starts_with(header + '\n');
}

}  // namespace

sweep::Lines stored_lines(const std::string& out, const std::string& header) {
  sweep::Lines lines;
  for (const fs::path& path : part_paths(out)) {
    const std::string text = read_file(path).value_or("");
    if (!belongs_to_sweep(text, header)) continue;
    if (Result<sweep::Part> part = sweep::parse_part(text)) lines.merge(part->lines);
  }
  return lines;
}

void remove_stored_lines(const std::string& out, std::uint32_t rank) {
  std::error_code none;
  fs::remove(part_path(out, rank), none);
  if (rank != 0) return;
  for (const fs::path& path : part_paths(out)) fs::remove(path, none);
}

PartFile::PartFile(const std::string& out, std::uint32_t rank, const std::string& header) {
  const std::string path = part_path(out, rank);
  const std::string before = read_file(path).value_or("");
  // An incomplete last line is removed: it does not hold a whole cell.
  const bool append = belongs_to_sweep(before, header) && before.ends_with('\n');
  std::string kept;
  if (!append && belongs_to_sweep(before, header)) kept = before.substr(0, before.rfind('\n') + 1);
  file_.open(path, append ? std::ios::binary | std::ios::app : std::ios::binary | std::ios::trunc);
  if (!append) file_ << (kept.empty() ? header + '\n' : kept);
  file_.flush();
  if (!file_)
    print_error("tempo-lab: cannot write {}: an interrupted sweep will start from the beginning\n",
                path);
}

void PartFile::add(const std::string& line) {
  file_ << line << '\n';
  file_.flush();
}

}  // namespace tempo::cli
