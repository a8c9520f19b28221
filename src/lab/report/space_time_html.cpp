#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "lab/report/space_time.h"
#include "lab/report/space_time_layout.h"
#include "lab/report/space_time_page.h"
#include "lab/report/space_time_picture.h"
#include "lab/report/words.h"

namespace tempo::report {
namespace {

// All lengths in CSS pixels.
constexpr double kGutter = 112;  // left, for the time
constexpr double kRight = 96;    // right, for the network's faults
constexpr double kTop = 34;      // above the first instant
constexpr double kBottom = 44;   // below the last
constexpr double kLanes = 1040;  // all lanes together, if that leaves each wide enough
constexpr double kLaneMin = 72;
constexpr double kLaneMax = 190;
constexpr std::array kShares{0.5, 0.36, 0.64};  // of a lane: where a message's name may be centred
constexpr double kLetter = 6.1;                 // mean width of a letter at 11px
constexpr double kLabelHeight = 12;
constexpr double kPillHeight = 15;
// A silence is shortened when it would be longer than this many typical messages.
constexpr int kIdleMessages = 4;

// By the enumerators' order.
constexpr std::array<std::string_view, 3> kColours{"auto", "light", "dark"};
constexpr std::array<std::string_view, 3> kModes{"down", "up", "paused"};

double text_width(std::string_view text) {
  return kLetter * static_cast<double>(display_width(text));
}

TimeScale scale_of(const Picture& picture, const SpaceTimeOptions& options) {
  std::vector<Instant> instants{picture.from, picture.to};
  for (const Item& item : picture.items) {
    instants.push_back(item.at);
    if (item.sent >= picture.from) instants.push_back(item.sent);
  }
  return {std::move(instants), picture.typical,
          options.idle.value_or(picture.typical * kIdleMessages)};
}

class Page {
 public:
  Page(const Picture& picture, const SpaceTimeOptions& options)
      : picture_(picture),
        options_(options),
        scale_(scale_of(picture, options)),
        lane_(std::clamp(kLanes / static_cast<double>(picture.nodes), kLaneMin, kLaneMax)),
        width_(kGutter + lane_ * static_cast<double>(picture.nodes) + kRight),
        height_(kTop + scale_.height() + kBottom) {}

  std::string html() {
    std::string all = "<!doctype html>\n";
    put(all, "<html lang=\"en\" data-colours=\"{}\">\n<head>\n<meta charset=\"utf-8\"/>\n",
        kColours[static_cast<std::size_t>(options_.colours)]);
    put(all, R"(<meta name="viewport" content="width=device-width, initial-scale=1"/>)"
             "\n");
    put(all, "<title>{}</title>\n<style>\n", escaped(options_.title));
    all += space_time_style();
    all += "</style>\n</head>\n<body>\n<div class=\"space-time\">\n";
    all += space_time_heading(picture_, options_);
    all += drawing();
    all += "</div>\n<script>";
    all += space_time_script();
    all += "</script>\n</body>\n</html>\n";
    return all;
  }

  std::string figure() {
    return "<div class=\"space-time\">\n" + space_time_legend(picture_) +
           "<div class=\"sheet\">\n" + drawing() + "</div>\n</div>\n";
  }

 private:
  std::string drawing() {
    draw_time();
    draw_lifelines();
    draw_arrows();
    draw_faults();  // before the states: their places are fixed
    draw_states();
    draw_message_names();
    std::string all = lane_names();
    put(all,
        R"(<svg class="picture" role="img" aria-label="{0}" width="{1:.0f}" height="{2:.0f}" )"
        R"(viewBox="0 0 {1:.0f} {2:.0f}">)"
        "\n",
        escaped(options_.title), width_, height_);
    for (const std::string* layer : {&grid_, &lives_, &arrows_, &marks_, &labels_}) all += *layer;
    all += "</svg>\n";
    return all;
  }

  template <class... Values>
  static void put(std::string& to, fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(to), format, std::forward<Values>(values)...);
  }

  double x(NodeId node) const { return kGutter + lane_ * (index(node) + 0.5); }
  double y(Instant at) const { return kTop + scale_.y(at); }
  static std::int64_t nanos(Instant at) { return at.time_since_epoch().count(); }
  std::string name(NodeId node) const {
    return node == kNobody ? "*" : node_name(options_, index(node));
  }

  std::size_t colour(std::string_view state) const { return state_colour(picture_, state); }

  std::string lane_names() const {
    std::string all;
    put(all, R"(<div class="names"><svg width="{0:.0f}" height="34" viewBox="0 0 {0:.0f} 34">)",
        width_);
    put(all, R"(<text class="unit" x="{:.1f}" y="21">time</text>)", kGutter - 20);
    const auto letters = static_cast<std::size_t>((lane_ - 6) / 7.5);
    for (std::uint32_t i = 0; i < picture_.nodes; ++i)
      put(all, R"(<text x="{:.1f}" y="21">{}</text>)", x(NodeId{i}),
          escaped(clipped(node_name(options_, i), letters)));
    all += "</svg></div>\n";
    return all;
  }

  // --- the time axis ---

  void draw_time() {
    const double edge = kGutter - 20;
    const double right = width_ - kRight;
    double last_label = -1e9;
    Instant burst{};
    const std::vector<Instant>& instants = scale_.instants();
    for (std::size_t i = 0; i < instants.size(); ++i) {
      const double at = y(instants[i]);
      if (scale_.after_break(i)) {
        burst = instants[i];
        put(grid_,
            R"(<path class="grid" d="M{:.1f} {:.1f}H{:.1f}"/>)"
            "\n",
            edge + 6, at, right);
        put(grid_,
            R"(<text class="burst" x="{:.1f}" y="{:.1f}">{} ms</text>)"
            "\n",
            edge, at + 4,
            sim::milliseconds(
                Instant{std::chrono::round<std::chrono::microseconds>(burst.time_since_epoch())}));
        last_label = at;
      } else if (at - last_label >= 14) {
        put(grid_,
            R"(<text class="tick" x="{:.1f}" y="{:.1f}">+{}</text>)"
            "\n",
            edge, at + 3.5, brief_span(instants[i] - burst));
        last_label = at;
      }
    }
  }

  void draw_breaks() {
    for (const TimeScale::Break& it : scale_.breaks()) {
      const double top = kTop + it.top + 23;
      const double bottom = kTop + it.bottom - 14;
      put(lives_,
          R"(<rect class="gap" x="0" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)"
          "\n",
          top, width_, bottom - top);
      put(lives_,
          R"(<text class="skipped" x="{:.1f}" y="{:.1f}">⋮ {}</text>)"
          "\n",
          kGutter - 20, (top + bottom) / 2 + 4, brief_span(it.skipped));
    }
  }

  // --- lifelines ---

  void draw_lifelines() {
    for (const Stretch& it : picture_.stretches) put_life(it.node, it.life, y(it.from), y(it.to));
    draw_breaks();
    // All run on a little: the picture ends, the nodes do not.
    const double end = y(picture_.to);
    for (std::uint32_t i = 0; i < picture_.nodes; ++i)
      put_life(NodeId{i}, picture_.end[i], end, end + kBottom - 12);
    for (std::uint32_t i = 0; i < picture_.nodes; ++i) {
      const std::string_view state = picture_.start[i].state;
      if (state.empty()) continue;
      const Box box = pill_box(x(NodeId{i}), kTop - 22, state);
      put(marks_, R"(<g class="held">)");
      put_pill(box, state);
    }
  }

  void put_life(NodeId node, const Life& life, double top, double bottom) {
    std::string classes(kModes[static_cast<std::size_t>(life.mode)]);
    if (life.mode != Mode::down)
      classes += life.state.empty() ? " bare" : fmt::format(" c c{}", colour(life.state));
    put(lives_,
        R"(<path class="life {}" d="M{:.1f} {:.1f}V{:.1f}"/>)"
        "\n",
        classes, x(node), top, bottom);
  }

  // --- messages ---

  struct Arrow {
    const Item* item;
    Line line;
  };

  void draw_arrows() {
    std::map<std::uint32_t, bool> origins;
    for (const Item& item : picture_.items) {
      if (item.kind == Kind::unheard) draw_unheard(item);
      if (item.kind != Kind::received && item.kind != Kind::lost && item.kind != Kind::pending)
        continue;
      const Line line = item.node == item.peer ? loop_line(item) : arrow_line(item);
      put_arrow(item, line);
      room_.draw(line);
      arrows_of_[item.number == 0 ? next_unnumbered_-- : std::int64_t{item.number}].push_back(
          {&item, line});
      if (item.sent >= picture_.from && !origins[item.number]) {
        origins[item.number] = item.number != 0;
        put(marks_,
            R"(<circle class="origin" cx="{:.1f}" cy="{:.1f}" r="2.4"/>)"
            "\n",
            x(item.node), y(item.sent));
      }
    }
  }

  Line arrow_line(const Item& item) const {
    const double direction = index(item.peer) > index(item.node) ? 1 : -1;
    Line line{x(item.node) + 3 * direction, y(item.sent), x(item.peer) - 4 * direction, y(item.at)};
    if (item.kind == Kind::pending) {
      line.x2 = line.x1 + direction * lane_ * 0.4;
      line.y2 = line.y1 + TimeScale::kTypicalDrop * 0.4;
    } else if (item.kind == Kind::lost) {
      const double end = x(item.peer) - direction * lane_ * 0.32;
      const double share = (end - line.x1) / (line.x2 - line.x1);
      const double drop = item.at > item.sent ? line.y2 - line.y1 : TimeScale::kTypicalDrop;
      line.x2 = end;
      line.y2 = line.y1 + share * drop;
    }
    if (item.sent < picture_.from && item.at > item.sent) {  // enters from above
      const double share = static_cast<double>((picture_.from - item.sent).count()) /
                           static_cast<double>((item.at - item.sent).count());
      line.x1 += share * (line.x2 - line.x1);
    }
    return line;
  }

  Line loop_line(const Item& item) const {
    const double end = item.kind == Kind::received ? y(item.at) : y(item.sent) + 12;
    return {x(item.node) + 3, y(item.sent), x(item.node) + 5, std::max(end, y(item.sent) + 6)};
  }

  void put_arrow(const Item& item, const Line& line) {
    const bool loop = item.node == item.peer;
    const std::string_view kind = item.kind == Kind::received ? "arrow"
                                  : item.kind == Kind::lost   ? "lost"
                                                              : "pending";
    put(arrows_, R"(<g class="{}" data-number="{}" data-from="{}" data-to="{}" data-sent-ns="{}" )",
        kind, item.number, index(item.node) + 1, index(item.peer) + 1, nanos(item.sent));
    if (item.kind == Kind::received) put(arrows_, R"(data-received-ns="{}" )", nanos(item.at));
    if (item.kind == Kind::lost) put(arrows_, R"(data-lost-ns="{}" )", nanos(item.at));
    put(arrows_, R"(data-label="{}"><title>{}</title>)", escaped(item.label), escaped(story(item)));
    std::string path =
        fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", line.x1, line.y1, line.x2, line.y2);
    if (loop)
      path = fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", line.x1,
                         line.y1, line.x1 + 34, line.y1, line.x1 + 34, line.y2, line.x2, line.y2);
    put(arrows_, R"(<path class="hit" d="{0}"/><path d="{0}"/>)", path);
    if (item.kind == Kind::received) put_head(line, loop);
    if (item.kind == Kind::lost)
      put(arrows_, R"(<path class="cross" d="M{:.1f} {:.1f}l8 8m0 -8l-8 8"/>)", line.x2 - 4,
          line.y2 - 4);
    arrows_ += "</g>\n";
  }

  void put_head(const Line& line, bool loop) {
    const double angle = loop ? 3.14159265 : std::atan2(line.y2 - line.y1, line.x2 - line.x1);
    put(arrows_,
        R"(<path class="head" d="M0 0L-9 -3.6L-9 3.6Z" transform="translate({:.1f} {:.1f}) )"
        R"svg(rotate({:.1f})"/>)svg",
        line.x2, line.y2, angle * 180 / 3.14159265);
  }

  // What the reader sees when the pointer rests on a message.
  std::string story(const Item& item) const {
    std::string text = fmt::format("{}: {} → {}, sent at {} ms", item.label, name(item.node),
                                   name(item.peer), sim::milliseconds(item.sent));
    switch (item.kind) {
      case Kind::received:
        return text + fmt::format(", received at {} ms, {} under way", sim::milliseconds(item.at),
                                  brief_span(item.at - item.sent));
      case Kind::lost:
        if (item.at > item.sent)
          return text + fmt::format(", lost at {} ms", sim::milliseconds(item.at));
        return text + ", lost";
      default:
        return text + ", still under way";
    }
  }

  void draw_unheard(const Item& item) {
    const std::string text = fmt::format("{} → *", item.label);
    const Box box{x(item.node) + 8, y(item.at) - 6, x(item.node) + 8 + text_width(text),
                  y(item.at) + 6};
    put(marks_,
        R"(<circle class="origin" cx="{:.1f}" cy="{:.1f}" r="2.4"/>)"
        "\n",
        x(item.node), y(item.at));
    if (!room_.is_free(box)) return;
    room_.take(box);
    put(labels_,
        R"(<text class="unheard" data-number="{}" data-label="{}" x="{:.1f}" )"
        R"(y="{:.1f}">{}</text>)"
        "\n",
        item.number, escaped(item.label), box.left, y(item.at) + 4, escaped(text));
  }

  // One name for each transmission, in a lane between two lifelines, as near the sender as there is
  // room.
  void draw_message_names() {
    for (const auto& [number, arrows] : arrows_of_) {
      struct Place {
        Box box;
        double x, y, angle;
        const Item* item;
      };
      std::optional<Place> best;
      int best_cost = 0;
      for (const Arrow& arrow : arrows) {
        const double run = arrow.line.x2 - arrow.line.x1;
        const double slope = (arrow.line.y2 - arrow.line.y1) / run;
        const double wide = text_width(arrow.item->label) + 4;
        const bool loop = arrow.item->node == arrow.item->peer;
        const double angle = loop ? 0 : std::clamp(std::atan(slope), -0.7, 0.7);
        const int lanes = std::max(1, static_cast<int>(std::lround(std::abs(run) / lane_)));
        for (int i = 0; i < lanes * 3; ++i) {
          // The middle of each lane first, then to its sides.
          const double along = (i % lanes + kShares[static_cast<std::size_t>(i / lanes)]) / lanes;
          const double cx = loop ? arrow.line.x2 + 30 + wide / 2 : arrow.line.x1 + along * run;
          const double cy = arrow.line.y1 + along * (arrow.line.y2 - arrow.line.y1);
          const double tall = wide * std::abs(std::sin(angle)) + kLabelHeight;
          const double flat = wide * std::cos(angle);
          const Box box{cx - flat / 2, cy - 3 - kLabelHeight / 2 - tall / 2, cx + flat / 2,
                        cy - 3 - kLabelHeight / 2 + tall / 2};
          if (!room_.is_free(box)) continue;
          const int cost = room_.covered(box) * 3 + i + (arrow.item->kind == Kind::lost ? 4 : 0);
          if (best && cost >= best_cost) continue;
          best = {box, cx, cy - 4, angle, arrow.item};
          best_cost = cost;
        }
      }
      if (!best) continue;
      room_.take(best->box);
      const bool all_lost =
          std::ranges::all_of(arrows, [](const Arrow& it) { return it.item->kind == Kind::lost; });
      put(labels_,
          R"(<text class="message{}" data-number="{}" data-label="{}" )"
          R"(transform="translate({:.1f} {:.1f}) )"
          R"svg(rotate({:.1f})">{}</text>)svg"
          "\n",
          all_lost ? " bad" : "", best->item->number, escaped(best->item->label), best->x, best->y,
          best->angle * 180 / 3.14159265, escaped(best->item->label));
    }
  }

  // --- states and faults ---

  static Box pill_box(double middle, double top, std::string_view text) {
    const double half = text_width(text) / 2 + 7;
    return {middle - half, top, middle + half, top + kPillHeight};
  }

  // The best of the places around a point on a lifeline, or none: where another label is, or where
  // most arrows would be hidden, is no place.
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
      if (!room_.is_free(places[i])) continue;
      const int cost = room_.covered(places[i]) * 2 + static_cast<int>(i);
      if (best && cost >= best_cost) continue;
      best = places[i];
      best_cost = cost;
    }
    if (best) room_.take(*best);
    return best;
  }

  void put_pill(const Box& box, std::string_view state) {
    put(marks_,
        R"(<rect class="c{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" )"
        R"(rx="7.5"/>)"
        R"(<text x="{:.1f}" y="{:.1f}">{}</text></g>)"
        "\n",
        colour(state), box.left, box.top, box.right - box.left, kPillHeight,
        (box.left + box.right) / 2, box.top + 11.2, escaped(state));
  }

  void draw_states() {
    for (const Item& item : picture_.items) {
      if (item.kind != Kind::state) continue;
      put(marks_,
          R"(<g class="state" data-node="{}" data-at-ns="{}" )"
          R"(data-state="{}"><title>{}</title>)",
          index(item.node) + 1, nanos(item.at), escaped(item.label),
          escaped(fmt::format("{} becomes {} at {} ms", name(item.node), item.label,
                              sim::milliseconds(item.at))));
      const double px = x(item.node);
      const double py = y(item.at);
      const auto box = place_beside(px, py + 1, item.label, true);
      put(marks_, R"(<rect class="c{}" x="{:.1f}" y="{:.1f}" width="14" height="2.5"/>)",
          colour(item.label), px - 7, py - 0.5);
      if (box)
        put_pill(*box, item.label);
      else
        marks_ += "</g>\n";
    }
  }

  void draw_faults() {
    for (const Item& item : picture_.items) {
      if (item.kind != Kind::fault) continue;
      const std::string word =
          item.times > 1 ? fmt::format("{} ×{}", item.label, item.times) : std::string(item.label);
      const double py = y(item.at);
      const bool network = item.node == kNobody;
      put(marks_,
          R"(<g class="fault{}" data-node="{}" data-at-ns="{}" )"
          R"(data-fault="{}"><title>{}</title>)",
          network                ? " net"
          : is_crash(item.label) ? " crash"
                                 : "",
          network ? "*" : fmt::format("{}", index(item.node) + 1), nanos(item.at),
          escaped(item.label),
          escaped(fmt::format("{} {} at {} ms", network ? "network:" : name(item.node), word,
                              sim::milliseconds(item.at))));
      if (network)
        put_network_fault(word, py);
      else
        put_node_fault(item, word, py);
      marks_ += "</g>\n";
    }
  }

  void put_network_fault(std::string_view word, double py) {
    const double right = width_ - kRight;
    put(marks_, R"(<path class="sign" d="M{:.1f} {:.1f}H{:.1f}"/>)", kGutter, py, right);
    const Box box{right + 6, py - 6, right + 6 + text_width(word), py + 6};
    if (!room_.is_free(box)) return;
    room_.take(box);
    put(marks_, R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", box.left, py + 4, escaped(word));
  }

  void put_node_fault(const Item& item, std::string_view word, double py) {
    const double px = x(item.node);
    if (is_crash(item.label)) {
      put(marks_, R"(<path class="sign" d="M{:.1f} {:.1f}l12 12m0 -12l-12 12"/>)", px - 6, py - 6);
      room_.take({px - 7, py - 7, px + 7, py + 7});
    } else {
      put(marks_, R"(<circle class="sign" cx="{:.1f}" cy="{:.1f}" r="4"/>)", px, py);
      room_.take({px - 5, py - 5, px + 5, py + 5});
    }
    const auto box = place_beside(px + (is_crash(item.label) ? 3 : 0),
                                  py - (is_crash(item.label) ? 0 : 2), word, false);
    if (box)
      put(marks_, R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", box->left + 4, box->top + 11.2,
          escaped(word));
  }

  const Picture& picture_;
  const SpaceTimeOptions& options_;
  TimeScale scale_;
  double lane_;
  double width_;
  double height_;
  LabelRoom room_;
  std::map<std::int64_t, std::vector<Arrow>> arrows_of_;  // by number of the transmission, in order
  std::int64_t next_unnumbered_ = -1;                     // keys of arrows that carry no number
  std::string grid_, lives_, arrows_, marks_, labels_;    // layers, from the back to the front
};

}  // namespace

std::string space_time_html(const sim::Trace& trace, const SpaceTimeOptions& options) {
  const Picture picture = picture_of(trace, options, options.most_nodes);
  return Page(picture, options).html();
}

std::string space_time_figure(const sim::Trace& trace, const SpaceTimeOptions& options) {
  const Picture picture = picture_of(trace, options, options.most_nodes);
  return Page(picture, options).figure();
}

}  // namespace tempo::report
