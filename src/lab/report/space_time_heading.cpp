#include <algorithm>

#include <fmt/core.h>

#include "base/display_text.h"
#include "lab/report/space_time_page.h"

namespace tempo::report {
namespace {

constexpr std::size_t kMaxButtons = 24;

bool has_segment(const Picture& picture, Mode mode) {
  return std::ranges::any_of(picture.segments,
                             [&](const Segment& it) { return it.status.mode == mode; });
}

std::string key(std::string_view label, std::string_view path, std::string_view stroke,
                std::string_view dashes, double line_width, bool needed) {
  if (!needed) return {};
  return fmt::format(R"(<span class="swatch"><svg width="16" height="16"><path d="{}" stroke="{}" )"
                     R"(stroke-dasharray="{}" stroke-width="{}" fill="none"/></svg>{}</span>)",
                     path, stroke, dashes, line_width, label);
}

std::string message_buttons(const Picture& picture) {
  std::vector<std::pair<std::string_view, std::size_t>> counts;
  for (const Item& item : picture.items) {
    if (item.kind == Kind::state || item.kind == Kind::fault) continue;
    const auto found =
        std::ranges::find(counts, item.label, [](const auto& it) { return it.first; });
    if (found != counts.end())
      ++found->second;
    else if (counts.size() < kMaxButtons)
      counts.emplace_back(item.label, 1);
  }
  if (counts.empty()) return {};
  std::string all = R"(<div class="legend"><b>Messages</b>)";
  for (const auto& [label, count] : counts)
    put(all,
        R"(<button type="button" data-message="{0}" aria-pressed="false">{0} )"
        "<small>{1}</small></button>",
        escaped(label), grouped(count));
  all += R"(<span class="zoom"><button type="button" data-zoom="0.8" )"
         R"(title="smaller">−</button> )"
         R"(<button type="button" data-zoom="0" title="original size">1:1</button> )"
         R"(<button type="button" data-zoom="1.25" title="larger">+</button></span></div>)"
         "\n";
  return all;
}

}  // namespace

std::size_t state_colour(const Picture& picture, std::string_view state) {
  const auto found = std::ranges::find(picture.state_names, state);
  return static_cast<std::size_t>(found - picture.state_names.begin()) % kStateColours;
}

std::string space_time_legend(const Picture& picture) {
  const bool lost =
      std::ranges::any_of(picture.items, [](const Item& item) { return item.kind == Kind::lost; });
  std::string all = R"(<div class="legend"><b>Lifelines</b>)";
  for (const std::string_view state : picture.state_names)
    put(all, R"(<span class="swatch"><i class="c c{}"></i>{}</span>)", state_colour(picture, state),
        escaped(state));
  all += key("paused", "M8 0V16", "var(--muted)", "4 3", 6, has_segment(picture, Mode::paused));
  all += key("not running", "M8 0V16", "var(--gone)", "1.5 4", 2, has_segment(picture, Mode::down));
  all += key("lost", "M0 8H12M9 5l6 6M9 11l6 -6", "var(--bad)", "none", 1.6, lost);
  all += "</div>\n";
  all += message_buttons(picture);
  return all;
}

std::string space_time_heading(const Picture& picture, const SpaceTimeOptions& options) {
  std::size_t lost = 0;
  for (const Item& item : picture.items) lost += item.kind == Kind::lost ? 1 : 0;
  std::string all;
  put(all, "<header>\n<h1>{}</h1>\n", escaped(options.title));
  if (!options.subtitle.empty()) put(all, "<p>{}</p>\n", escaped(options.subtitle));
  put(all, "<p>{} nodes, {} messages, {} of them lost; from {} ms to {} ms</p>\n", picture.nodes,
      grouped(picture.arrows), grouped(lost), sim::milliseconds(picture.from),
      sim::milliseconds(picture.to));
  for (const std::string& note : picture.notes)
    put(all,
        R"(<p class="note">{}</p>)"
        "\n",
        escaped(note));
  all += space_time_legend(picture);
  all += "</header>\n";
  return all;
}

}  // namespace tempo::report
