#include "lab/cli/output.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/core.h>

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"

namespace tempo::cli {

int bad_usage(const std::string& message) {
  print_error("tempo-lab: {}\n", message);
  return kBadUsage;
}

std::optional<std::string> json_conflict(bool json, bool trace, const std::string& diagram) {
  if (!json || (!trace && diagram != "-")) return std::nullopt;
  return "--trace and '--diagram -' print text and --json prints JSON; choose one";
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file.good()) return true;
  bad_usage(fmt::format("cannot write {}: check that its directory exists and is writable", path));
  return false;
}

bool replace_file(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  if (!write_file(draft, text)) return false;
  std::error_code failure;
  std::filesystem::rename(draft, path, failure);
  if (failure) bad_usage(fmt::format("cannot write {}: {}", path, failure.message()));
  return !failure;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

Result<Json> answer_in(std::string_view text) {
  TRY(object, Json::parse(text));
  if (auto data = object.at("data")) return *std::move(data);
  const auto error = object.at("error");
  return std::unexpected(error ? error->text_at("message").value_or("unknown error")
                               : "it contains no data of a command");
}

bool show_diagram(const sim::Trace& trace, const report::SpaceTimeOptions& look,
                  const std::string& where) {
  if (where != "-") return write_file(where, report::space_time_html(trace, look));
  print("{}\n", report::space_time_text(trace, look, stdout_width(), stdout_shows_unicode()));
  return true;
}

}  // namespace tempo::cli
