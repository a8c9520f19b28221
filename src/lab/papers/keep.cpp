#include "lab/papers/keep.h"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "lab/sim/trace.h"

namespace tempo::papers {
namespace {

using report::Chart;
using report::ChartPoint;
using report::kNoValue;
using report::Mark;
using report::Series;

constexpr std::size_t kMarks = 3;
constexpr std::size_t kVerdicts = 3;

// Leaves out values that are not finite.
void add_number(Json& json, std::string_view key, double value) {
  if (std::isfinite(value)) json.add(key, value);
}
double number_of(const Json& json, std::string_view key) {
  return json.number_at(key).value_or(kNoValue);
}

// Reads members one after another and records whether one was missing.
class Members {
 public:
  explicit Members(const Json& json) : json_(&json) {}

  std::string text(std::string_view key) { return or_missing(json_->text_at(key)); }
  bool flag(std::string_view key) { return or_missing(json_->flag_at(key)); }
  std::uint64_t count(std::string_view key) { return or_missing(json_->count_at(key)); }
  double number(std::string_view key) const { return number_of(*json_, key); }
  // Reads one of `kNames` by its name.
  template <class Choice>
  Choice choice(std::string_view key, std::size_t choices) {
    const std::string name = text(key);
    for (std::size_t i = 0; i < choices; ++i)
      if (name_of(static_cast<Choice>(i)) == name) return static_cast<Choice>(i);
    whole_ = false;
    return Choice{};
  }
  std::vector<Json> list(std::string_view key) {
    const std::optional<Json> all = json_->at(key);
    if (!all || !all->is_array()) whole_ = false;
    return all ? all->elements() : std::vector<Json>{};
  }
  bool whole() const { return whole_; }

 private:
  template <class Value>
  Value or_missing(const std::optional<Value>& value) {
    if (!value) whole_ = false;
    return value.value_or(Value{});
  }

  const Json* json_;
  bool whole_ = true;
};

std::optional<Claim> claim_of(const Json& json) {
  Members in(json);
  Claim claim{.paper = in.choice<Paper>("paper", kPapers),
              .section = in.text("section"),
              .says = in.text("claim"),
              .prediction = in.text("prediction"),
              .measurement = in.text("measurement"),
              .interval = in.text("interval"),
              .predicted = in.number("predicted"),
              .measured = {.value = in.number("measured"),
                           .low = in.number("low"),
                           .high = in.number("high"),
                           .runs = in.count("runs")},
              .verdict = in.choice<Verdict>("verdict", kVerdicts),
              .repair = in.text("repair"),
              .diagram = in.text("diagram")};
  if (!in.whole()) return std::nullopt;
  return claim;
}

std::optional<Chart> chart_of(const Json& json) {
  Members in(json);
  Chart chart{.id = in.text("id"),
              .title = in.text("title"),
              .caption = in.text("caption"),
              .x_name = in.text("x"),
              .y_name = in.text("y"),
              .x_log = in.flag("x_log"),
              .y_log = in.flag("y_log")};
  for (const Json& each : in.list("series")) {
    Members of(each);
    Series series{.name = of.text("name"),
                  .mark = of.choice<Mark>("mark", kMarks),
                  .colour = static_cast<std::uint32_t>(of.count("colour"))};
    for (const Json& point : of.list("points"))
      series.points.push_back({.x = number_of(point, "x"),
                               .y = number_of(point, "y"),
                               .low = number_of(point, "low"),
                               .high = number_of(point, "high")});
    if (!of.whole()) return std::nullopt;
    chart.series.push_back(std::move(series));
  }
  if (!in.whole()) return std::nullopt;
  return chart;
}

std::optional<Diagram> diagram_of(const Json& json) {
  Members in(json);
  Diagram diagram{.id = in.text("id"),
                  .title = in.text("title"),
                  .caption = in.text("caption"),
                  .html = in.text("html")};
  if (!in.whole()) return std::nullopt;
  return diagram;
}

// Reads all items of a list, or none.
template <class Item>
bool read_list(const Json& json, std::string_view key, std::optional<Item> (*read)(const Json&),
               std::vector<Item>& into) {
  const std::optional<Json> list = json.at(key);
  if (!list || !list->is_array()) return false;
  for (const Json& each : list->elements()) {
    std::optional<Item> item = read(each);
    if (!item) return false;
    into.push_back(std::move(*item));
  }
  return true;
}

template <class Item>
Json list_of(const std::vector<Item>& items) {
  Json list = Json::array();
  for (const Item& item : items) list.push(json_of(item));
  return list;
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char letter : text) hash = sim::mixed(hash, static_cast<unsigned char>(letter));
  return hash;
}

}  // namespace

Json json_of(const Claim& claim) {
  Json json = Json::object();
  json.add("paper", name_of(claim.paper))
      .add("section", claim.section)
      .add("claim", claim.says)
      .add("prediction", claim.prediction)
      .add("measurement", claim.measurement)
      .add("interval", claim.interval);
  add_number(json, "predicted", claim.predicted);
  add_number(json, "measured", claim.measured.value);
  add_number(json, "low", claim.measured.low);
  add_number(json, "high", claim.measured.high);
  return json.add("runs", claim.measured.runs)
      .add("verdict", name_of(claim.verdict))
      .add("repair", claim.repair)
      .add("diagram", claim.diagram);
}

Json json_of(const Chart& chart) {
  Json all = Json::array();
  for (const Series& series : chart.series) {
    Json points = Json::array();
    for (const ChartPoint& point : series.points) {
      Json json = Json::object();
      add_number(json, "x", point.x);
      add_number(json, "y", point.y);
      add_number(json, "low", point.low);
      add_number(json, "high", point.high);
      points.push(json);
    }
    all.push(Json::object()
                 .add("name", series.name)
                 .add("mark", name_of(series.mark))
                 .add("colour", std::uint64_t{series.colour})
                 .add("points", points));
  }
  return Json::object()
      .add("id", chart.id)
      .add("title", chart.title)
      .add("caption", chart.caption)
      .add("x", chart.x_name)
      .add("y", chart.y_name)
      .add("x_log", chart.x_log)
      .add("y_log", chart.y_log)
      .add("series", all);
}

Json json_of(const Diagram& diagram) {
  return Json::object()
      .add("id", diagram.id)
      .add("title", diagram.title)
      .add("caption", diagram.caption)
      .add("html", diagram.html);
}

std::uint64_t key_of(const Experiment& experiment, Effort effort, std::uint64_t seed,
                     std::uint64_t program) {
  std::uint64_t key = hash_of(experiment.name);
  key = sim::mixed(key, static_cast<std::uint64_t>(effort));
  key = sim::mixed(key, seed);
  return sim::mixed(key, program);
}

std::string kept_text(const Findings& findings, std::uint64_t key) {
  return Json::object()
             .add("key", fmt::format("{:016x}", key))
             .add("claims", list_of(findings.claims))
             .add("charts", list_of(findings.charts))
             .add("diagrams", list_of(findings.diagrams))
             .add("whole", true)
             .line() +
         '\n';
}

Result<Findings> read_kept(std::string_view text, std::uint64_t key) {
  TRY(json, Json::parse(text));
  if (json.text_at("key") != fmt::format("{:016x}", key))
    return std::unexpected("it was made with other settings or by another version");
  Findings findings;
  if (!json.flag_at("whole") || !read_list(json, "claims", claim_of, findings.claims) ||
      !read_list(json, "charts", chart_of, findings.charts) ||
      !read_list(json, "diagrams", diagram_of, findings.diagrams))
    return std::unexpected("it is incomplete");
  return findings;
}

}  // namespace tempo::papers
