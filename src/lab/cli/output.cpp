#include "lab/cli/output.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/core.h>

#include "cli/common/output.h"
#include "cli/common/terminal.h"

namespace tempo::cli {

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file.good()) return true;
  print_error("tempo: cannot write {}: check that the directory exists and may be written to\n",
              path);
  return false;
}

bool replace_file(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  if (!write_file(draft, text)) return false;
  std::error_code failure;
  std::filesystem::rename(draft, path, failure);
  if (failure) print_error("tempo: cannot write {}: {}\n", path, failure.message());
  return !failure;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

bool show_diagram(const sim::Trace& trace, const report::SpaceTimeOptions& look,
                  const std::string& where) {
  if (where != "-") return write_file(where, report::space_time_html(trace, look));
  print("{}\n", report::space_time_text(trace, look, stdout_width(), stdout_shows_unicode()));
  return true;
}

}  // namespace tempo::cli
