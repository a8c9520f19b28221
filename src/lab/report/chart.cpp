#include "lab/report/chart.h"

#include <array>
#include <cmath>

#include <fmt/core.h>

#include "base/display_text.h"

namespace tempo::report {
namespace {

constexpr std::array<std::string_view, 3> kMarks{"line", "dots", "bars"};

}  // namespace

std::string_view name_of(Mark mark) { return kMarks[static_cast<std::size_t>(mark)]; }

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : std::string();
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + '"';
}

std::string chart_figure(const Chart& chart) {
  std::string all;
  put(all, R"(<figure class="chart" id="chart-{}" data-x="{}" data-y="{}"{}{}>)", escaped(chart.id),
      escaped(chart.x_name), escaped(chart.y_name), chart.x_log ? " data-x-log" : "",
      chart.y_log ? " data-y-log" : "");
  put(all, "<h4>{}</h4><div class=\"plot\"></div>\n<figcaption>{}</figcaption>\n",
      escaped(chart.title), escaped(chart.caption));
  put(all,
      "<details><summary>numbers</summary><table><thead><tr><th>series</th><th>{}</th><th>{}</th>"
      "<th>from</th><th>to</th></tr></thead>\n",
      escaped(chart.x_name), escaped(chart.y_name));
  std::uint32_t number = 0;
  for (const Series& series : chart.series) {
    const std::uint32_t colour = series.colour == Series::kOwnColour ? number : series.colour;
    ++number;
    put(all, R"(<tbody data-series="{}" data-mark="{}" data-colour="{}">)", escaped(series.name),
        name_of(series.mark), colour);
    for (const ChartPoint& point : series.points) {
      put(all, "<tr><td>{}</td><td>{}</td><td>{}</td>", escaped(series.name), csv_number(point.x),
          csv_number(point.y));
      if (std::isfinite(point.low))
        put(all, "<td>{}</td><td>{}</td>", csv_number(point.low), csv_number(point.high));
      all += "</tr>\n";
    }
    all += "</tbody>\n";
  }
  return all + "</table></details></figure>\n";
}

std::string charts_csv(const std::vector<Chart>& charts) {
  std::string all = "chart,series,x,y,low,high\n";
  for (const Chart& chart : charts)
    for (const Series& series : chart.series)
      for (const ChartPoint& point : series.points)
        put(all, "{},{},{},{},{},{}\n", csv_field(chart.id), csv_field(series.name),
            csv_number(point.x), csv_number(point.y), csv_number(point.low),
            csv_number(point.high));
  return all;
}

}  // namespace tempo::report
