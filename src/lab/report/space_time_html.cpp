#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "base/display_text.h"
#include "lab/report/space_time.h"
#include "lab/report/space_time_messages.h"
#include "lab/report/space_time_page.h"
#include "lab/report/space_time_picture.h"
#include "lab/report/space_time_sheet.h"

namespace tempo::report {
namespace {

constexpr double kPillHeight = 15;  // in CSS pixels, like all lengths

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kColours{"auto", "light", "dark"};
constexpr std::array<std::string_view, 3> kModes{"down", "up", "paused"};

class Page {
 public:
  Page(const Picture& picture, const SpaceTimeOptions& options)
      : sheet_(picture, options), messages_(sheet_) {}

  std::string html() {
    std::string all = "<!doctype html>\n";
    put(all, "<html lang=\"en\" data-colours=\"{}\">\n<head>\n<meta charset=\"utf-8\"/>\n",
        kColours[static_cast<std::size_t>(sheet_.options.colours)]);
    put(all, R"(<meta name="viewport" content="width=device-width, initial-scale=1"/>)"
             "\n");
    put(all, "<title>{}</title>\n<style>\n", escaped(sheet_.options.title));
    all += space_time_style();
    all += "</style>\n</head>\n<body>\n<div class=\"space-time\">\n";
    all += space_time_heading(sheet_.picture, sheet_.options);
    all += drawing();
    all += "</div>\n<script>";
    all += space_time_script();
    all += "</script>\n</body>\n</html>\n";
    return all;
  }

  std::string figure() {
    return "<div class=\"space-time\">\n" + space_time_legend(sheet_.picture) +
           "<div class=\"sheet\">\n" + drawing() + "</div>\n</div>\n";
  }

 private:
  std::string drawing() {
    draw_time();
    draw_lifelines();
    messages_.draw_arrows();
    draw_faults();  // before the states, because their places are fixed
    draw_states();
    messages_.draw_names();
    std::string all = lane_names();
    put(all,
        R"(<svg class="picture" role="img" aria-label="{0}" width="{1:.0f}" height="{2:.0f}" )"
        R"(viewBox="0 0 {1:.0f} {2:.0f}">)"
        "\n",
        escaped(sheet_.options.title), sheet_.width, sheet_.height);
    for (const std::string* layer :
         {&sheet_.grid, &sheet_.lifelines, &sheet_.arrows, &sheet_.marks, &sheet_.labels})
      all += *layer;
    all += "</svg>\n";
    return all;
  }

  std::size_t colour(std::string_view state) const { return state_colour(sheet_.picture, state); }

  std::string lane_names() const {
    std::string all;
    put(all, R"(<div class="names"><svg width="{0:.0f}" height="34" viewBox="0 0 {0:.0f} 34">)",
        sheet_.width);
    put(all, R"(<text class="unit" x="{:.1f}" y="21">time</text>)", Sheet::kGutter - 20);
    const auto letters = static_cast<std::size_t>((sheet_.lane - 6) / 7.5);
    for (std::uint32_t i = 0; i < sheet_.picture.nodes; ++i)
      put(all, R"(<text x="{:.1f}" y="21">{}</text>)", sheet_.x(NodeId{i}),
          escaped(clipped(node_name(sheet_.options, i), letters)));
    all += "</svg></div>\n";
    return all;
  }

  // --- the time axis ---

  void draw_time() {
    const double edge = Sheet::kGutter - 20;
    const double right = sheet_.width - Sheet::kRight;
    double last_label = -1e9;
    Instant burst{};
    const std::vector<Instant>& instants = sheet_.scale.instants();
    for (std::size_t i = 0; i < instants.size(); ++i) {
      const double at = sheet_.y(instants[i]);
      if (sheet_.scale.after_break(i)) {
        burst = instants[i];
        put(sheet_.grid,
            R"(<path class="grid" d="M{:.1f} {:.1f}H{:.1f}"/>)"
            "\n",
            edge + 6, at, right);
        put(sheet_.grid,
            R"(<text class="burst" x="{:.1f}" y="{:.1f}">{} ms</text>)"
            "\n",
            edge, at + 4,
            sim::milliseconds(
                Instant{std::chrono::round<std::chrono::microseconds>(burst.time_since_epoch())}));
        last_label = at;
      } else if (at - last_label >= 14) {
        put(sheet_.grid,
            R"(<text class="tick" x="{:.1f}" y="{:.1f}">+{}</text>)"
            "\n",
            edge, at + 3.5, brief_span(instants[i] - burst));
        last_label = at;
      }
    }
  }

  void draw_breaks() {
    for (const TimeScale::Break& it : sheet_.scale.breaks()) {
      const double top = Sheet::kTop + it.top + 23;
      const double bottom = Sheet::kTop + it.bottom - 14;
      put(sheet_.lifelines,
          R"(<rect class="gap" x="0" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)"
          "\n",
          top, sheet_.width, bottom - top);
      put(sheet_.lifelines,
          R"(<text class="skipped" x="{:.1f}" y="{:.1f}">⋮ {}</text>)"
          "\n",
          Sheet::kGutter - 20, (top + bottom) / 2 + 4, brief_span(it.skipped));
    }
  }

  // --- lifelines ---

  void draw_lifelines() {
    for (const Segment& it : sheet_.picture.segments)
      put_lifeline(it.node, it.status, sheet_.y(it.from), sheet_.y(it.to));
    draw_breaks();
    // Extend all lifelines beyond the end: the nodes continue after the diagram.
    const double end = sheet_.y(sheet_.picture.to);
    for (std::uint32_t i = 0; i < sheet_.picture.nodes; ++i)
      put_lifeline(NodeId{i}, sheet_.picture.end[i], end, end + Sheet::kBottom - 12);
    for (std::uint32_t i = 0; i < sheet_.picture.nodes; ++i) {
      const std::string_view state = sheet_.picture.start[i].state;
      if (state.empty()) continue;
      const Box box = pill_box(sheet_.x(NodeId{i}), Sheet::kTop - 22, state);
      put(sheet_.marks, R"(<g class="held">)");
      put_pill(box, state);
    }
  }

  void put_lifeline(NodeId node, const NodeStatus& status, double top, double bottom) {
    std::string classes(kModes[static_cast<std::size_t>(status.mode)]);
    if (status.mode != Mode::down)
      classes += status.state.empty() ? " bare" : fmt::format(" c c{}", colour(status.state));
    put(sheet_.lifelines,
        R"(<path class="life {}" d="M{:.1f} {:.1f}V{:.1f}"/>)"
        "\n",
        classes, sheet_.x(node), top, bottom);
  }

  // --- states and faults ---

  static Box pill_box(double middle, double top, std::string_view text) {
    const double half = text_width(text) / 2 + 7;
    return {middle - half, top, middle + half, top + kPillHeight};
  }

  // Chooses the best place near a point on a lifeline: free, and covering few arrows. Empty: no
  // place is free.
  std::optional<Box> place_beside(double px, double py, std::string_view text, bool centred) {
    const double wide = text_width(text) + 14;
    const auto beside = [&](double left, double top) {
      return Box{left, top, left + wide, top + kPillHeight};
    };
    std::vector<Box> places;
    if (centred) places.push_back(pill_box(px, py, text));
    if (centred) places.push_back(pill_box(px, py + 5, text));
    places.push_back(beside(px + 6, py - kPillHeight - 1));
    places.push_back(beside(px - 6 - wide, py - kPillHeight - 1));
    places.push_back(beside(px + 6, py + 1));
    places.push_back(beside(px - 6 - wide, py + 1));
    if (centred) places.push_back(pill_box(px, py + kPillHeight + 1, text));
    std::optional<Box> best;
    int best_cost = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!sheet_.layout.is_free(places[i])) continue;
      const int cost = sheet_.layout.covered(places[i]) * 2 + static_cast<int>(i);
      if (best && cost >= best_cost) continue;
      best = places[i];
      best_cost = cost;
    }
    if (best) sheet_.layout.take(*best);
    return best;
  }

  void put_pill(const Box& box, std::string_view state) {
    put(sheet_.marks,
        R"(<rect class="c{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" )"
        R"(rx="7.5"/>)"
        R"(<text x="{:.1f}" y="{:.1f}">{}</text></g>)"
        "\n",
        colour(state), box.left, box.top, box.right - box.left, kPillHeight,
        (box.left + box.right) / 2, box.top + 11.2, escaped(state));
  }

  void draw_states() {
    for (const Item& item : sheet_.picture.items) {
      if (item.kind != Kind::state) continue;
      put(sheet_.marks,
          R"(<g class="state" data-node="{}" data-at-ns="{}" )"
          R"(data-state="{}"><title>{}</title>)",
          index(item.node) + 1, nanos(item.at), escaped(item.label),
          escaped(fmt::format("{} becomes {} at {} ms", sheet_.name(item.node), item.label,
                              sim::milliseconds(item.at))));
      const double px = sheet_.x(item.node);
      const double py = sheet_.y(item.at);
      const auto box = place_beside(px, py + 1, item.label, true);
      put(sheet_.marks, R"(<rect class="c{}" x="{:.1f}" y="{:.1f}" width="14" height="2.5"/>)",
          colour(item.label), px - 7, py - 0.5);
      if (box)
        put_pill(*box, item.label);
      else
        sheet_.marks += "</g>\n";
    }
  }

  void draw_faults() {
    for (const Item& item : sheet_.picture.items) {
      if (item.kind != Kind::fault) continue;
      const std::string text =
          item.times > 1 ? fmt::format("{} ×{}", item.label, item.times) : std::string(item.label);
      const double py = sheet_.y(item.at);
      const bool network = item.node == kNobody;
      put(sheet_.marks,
          R"(<g class="fault{}" data-node="{}" data-at-ns="{}" )"
          R"(data-fault="{}"><title>{}</title>)",
          network                ? " net"
          : is_crash(item.label) ? " crash"
                                 : "",
          network ? "*" : fmt::format("{}", index(item.node) + 1), nanos(item.at),
          escaped(item.label),
          escaped(fmt::format("{} {} at {} ms", network ? "network:" : sheet_.name(item.node), text,
                              sim::milliseconds(item.at))));
      if (network)
        put_network_fault(text, py);
      else
        put_node_fault(item, text, py);
      sheet_.marks += "</g>\n";
    }
  }

  void put_network_fault(std::string_view text, double py) {
    const double right = sheet_.width - Sheet::kRight;
    put(sheet_.marks, R"(<path class="sign" d="M{:.1f} {:.1f}H{:.1f}"/>)", Sheet::kGutter, py,
        right);
    const Box box{right + 6, py - 6, right + 6 + text_width(text), py + 6};
    if (!sheet_.layout.is_free(box)) return;
    sheet_.layout.take(box);
    put(sheet_.marks, R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", box.left, py + 4, escaped(text));
  }

  void put_node_fault(const Item& item, std::string_view text, double py) {
    const double px = sheet_.x(item.node);
    if (is_crash(item.label)) {
      put(sheet_.marks, R"(<path class="sign" d="M{:.1f} {:.1f}l12 12m0 -12l-12 12"/>)", px - 6,
          py - 6);
      sheet_.layout.take({px - 7, py - 7, px + 7, py + 7});
    } else {
      put(sheet_.marks, R"(<circle class="sign" cx="{:.1f}" cy="{:.1f}" r="4"/>)", px, py);
      sheet_.layout.take({px - 5, py - 5, px + 5, py + 5});
    }
    const auto box = place_beside(px + (is_crash(item.label) ? 3 : 0),
                                  py - (is_crash(item.label) ? 0 : 2), text, false);
    if (box)
      put(sheet_.marks, R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", box->left + 4, box->top + 11.2,
          escaped(text));
  }

  Sheet sheet_;
  MessageArtist messages_;
};

}  // namespace

std::string space_time_html(const sim::Trace& trace, const SpaceTimeOptions& options) {
  const Picture picture = picture_of(trace, options, options.max_nodes);
  return Page(picture, options).html();
}

std::string space_time_figure(const sim::Trace& trace, const SpaceTimeOptions& options) {
  const Picture picture = picture_of(trace, options, options.max_nodes);
  return Page(picture, options).figure();
}

}  // namespace tempo::report
