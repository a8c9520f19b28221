#include "lab/cli/sweep/results.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

namespace tempo::sweep {
namespace {

// The share in a header, such as 2/4; by default the whole.
std::optional<Share> share_in(const Json& header) {
  const std::optional<Json> share = header.at("share");
  if (!share) return Share{};
  const auto number = share->count_at("number");
  const auto of = share->count_at("of");
  if (!number || !of || *number < 1 || *number > *of) return std::nullopt;
  return Share{*number, *of};
}

std::string header_of(const Json& description, const Share& share) {
  Json header = description;
  if (share != Share{})
    header.add("share", Json::object().add("number", share.number).add("of", share.of));
  return header.line();
}

// A header without its share.
Json without_share(const Json& header) {
  Json description = Json::object();
  for (const std::string& key : header.keys())
    if (key != "share") description.add(key, *header.at(key));
  return description;
}

// A value as a field of comma-separated values.
std::string field_of(const Json& value) {
  if (value.is_null()) return "";
  std::string text = value.as_text().value_or(value.line());
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

using Row = std::vector<std::pair<std::string, std::string>>;  // column, field

// Recursion is bounded by the nesting of a command's output.
void flatten(const Json& value, const std::string& name, Row& row) {
  if (!value.is_object()) {
    row.emplace_back(name, field_of(value));
    return;
  }
  for (const std::string& key : value.keys())
    flatten(*value.at(key), name.empty() ? key : name + '.' + key, row);
}

}  // namespace

std::string header_line(const Spec& spec, std::string_view version, const Share& share) {
  return header_of(spec.description().add("tempo", version), share);
}

std::string cell_line(const Spec& spec, std::uint64_t cell, int status, const Json& result) {
  Json parameters = Json::object();
  for (const Setting& setting : spec.at(cell)) put(parameters, setting.option, setting.value);
  return Json::object()
      .add("cell", cell)
      .add("parameters", parameters)
      .add("status", static_cast<std::int64_t>(status))
      .add("result", result)
      .line();
}

Result<Part> parse_part(std::string_view text) {
  Part part;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // its writing was interrupted
    const std::string line{text.substr(0, end)};
    text.remove_prefix(end + 1);
    const Result<Json> json = Json::parse(line);
    if (!json || !json->is_object()) return std::unexpected("is not a results file of a sweep");
    if (first) {
      const auto cells = json->count_at("cells");
      const std::optional<Share> share = share_in(*json);
      if (!json->has("sweep") || !cells || !share)
        return std::unexpected("is not a results file of a sweep");
      part.description = without_share(*json).line();
      part.share = *share;
      part.cells = *cells;
      first = false;
      continue;
    }
    const auto cell = json->count_at("cell");
    if (!cell || *cell >= part.cells || !json->has("result"))
      return std::unexpected(
          fmt::format("contains a line that is not a cell of its sweep: {}", line));
    part.lines.insert_or_assign(*cell, line);
  }
  if (first) return std::unexpected("is empty");
  return part;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): moves their lines
Result<Part> merged(std::vector<Part> parts) {
  Part whole;
  for (Part& part : parts) {
    if (whole.description.empty()) {
      whole.description = part.description;
      whole.cells = part.cells;
    }
    if (part.description != whole.description)
      return std::unexpected(
          "these are parts of different sweeps or of different versions of tempo");
    for (auto& [cell, line] : part.lines) {
      const auto [at, is_new] = whole.lines.try_emplace(cell, std::move(line));
      if (!is_new && at->second != line)
        return std::unexpected(
            fmt::format("cell {} has two different results; remove one of the files", cell));
    }
  }
  return whole;
}

std::string json_lines(const std::string& header, const Lines& lines) {
  std::string text = header + '\n';
  for (const auto& [cell, line] : lines) text += line + '\n';
  return text;
}

std::string csv(const Lines& lines) {
  std::vector<std::string> columns;
  std::map<std::string, std::size_t> place;
  std::vector<Row> rows;
  for (const auto& [cell, line] : lines) {
    const Result<Json> json = Json::parse(line);
    Row row;
    row.emplace_back("cell", fmt::format("{}", cell));
    flatten(*json->at("parameters"), "", row);
    row.emplace_back("status", json->at("status")->line());
    const auto own = static_cast<std::ptrdiff_t>(row.size());
    Row result;
    flatten(*json->at("result"), "", result);
    for (auto& [column, field] : result) {
      const bool taken = std::ranges::find(row.begin(), row.begin() + own, column,
                                           &Row::value_type::first) != row.begin() + own;
      row.emplace_back(taken ? "result." + column : column, std::move(field));
    }
    for (const auto& [column, field] : row)
      if (place.try_emplace(column, columns.size()).second) columns.push_back(column);
    rows.push_back(std::move(row));
  }
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ",") + column;
  text += '\n';
  for (const Row& row : rows) {
    std::vector<std::string_view> fields(columns.size());
    for (const auto& [column, field] : row) fields[place[column]] = field;
    for (std::size_t i = 0; i < fields.size(); ++i)
      text += (i == 0 ? "" : ",") + std::string(fields[i]);
    text += '\n';
  }
  return text;
}

}  // namespace tempo::sweep
