#include "lab/report/space_time_messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/display_text.h"
#include "lab/report/space_time_page.h"

namespace tempo::report {
namespace {

constexpr std::array kShares{0.5, 0.36,
                             0.64};  // share of a lane at which a message's name may be centred
constexpr double kLabelHeight = 12;

}  // namespace

void MessageArtist::draw_arrows() {
  std::map<std::uint32_t, bool> origins;
  for (const Item& item : sheet_.picture.items) {
    if (item.kind == Kind::unheard) draw_unheard(item);
    if (item.kind != Kind::received && item.kind != Kind::lost && item.kind != Kind::pending)
      continue;
    const Line line = item.node == item.peer ? loop_line(item) : arrow_line(item);
    put_arrow(item, line);
    sheet_.layout.draw(line);
    arrows_of_[item.number == 0 ? next_unnumbered_-- : std::int64_t{item.number}].push_back(
        {&item, line});
    if (item.sent >= sheet_.picture.from && !origins[item.number]) {
      origins[item.number] = item.number != 0;
      put(sheet_.marks,
          R"(<circle class="origin" cx="{:.1f}" cy="{:.1f}" r="2.4"/>)"
          "\n",
          sheet_.x(item.node), sheet_.y(item.sent));
    }
  }
}

Line MessageArtist::arrow_line(const Item& item) const {
  const double direction = index(item.peer) > index(item.node) ? 1 : -1;
  Line line{sheet_.x(item.node) + 3 * direction, sheet_.y(item.sent),
            sheet_.x(item.peer) - 4 * direction, sheet_.y(item.at)};
  if (item.kind == Kind::pending) {
    line.x2 = line.x1 + direction * sheet_.lane * 0.4;
    line.y2 = line.y1 + TimeScale::kTypicalDrop * 0.4;
  } else if (item.kind == Kind::lost) {
    const double end = sheet_.x(item.peer) - direction * sheet_.lane * 0.32;
    const double share = (end - line.x1) / (line.x2 - line.x1);
    const double drop = item.at > item.sent ? line.y2 - line.y1 : TimeScale::kTypicalDrop;
    line.x2 = end;
    line.y2 = line.y1 + share * drop;
  }
  if (item.sent < sheet_.picture.from && item.at > item.sent) {  // sent before the window
    const double share = static_cast<double>((sheet_.picture.from - item.sent).count()) /
                         static_cast<double>((item.at - item.sent).count());
    line.x1 += share * (line.x2 - line.x1);
  }
  return line;
}

Line MessageArtist::loop_line(const Item& item) const {
  const double end = item.kind == Kind::received ? sheet_.y(item.at) : sheet_.y(item.sent) + 12;
  return {sheet_.x(item.node) + 3, sheet_.y(item.sent), sheet_.x(item.node) + 5,
          std::max(end, sheet_.y(item.sent) + 6)};
}

void MessageArtist::put_arrow(const Item& item, const Line& line) {
  const bool loop = item.node == item.peer;
  const std::string_view kind = item.kind == Kind::received ? "arrow"
                                : item.kind == Kind::lost   ? "lost"
                                                            : "pending";
  put(sheet_.arrows,
      R"(<g class="{}" data-number="{}" data-from="{}" data-to="{}" data-sent-ns="{}" )", kind,
      item.number, index(item.node) + 1, index(item.peer) + 1, nanos(item.sent));
  if (item.kind == Kind::received) put(sheet_.arrows, R"(data-received-ns="{}" )", nanos(item.at));
  if (item.kind == Kind::lost) put(sheet_.arrows, R"(data-lost-ns="{}" )", nanos(item.at));
  put(sheet_.arrows, R"(data-label="{}"><title>{}</title>)", escaped(item.label),
      escaped(tooltip(item)));
  std::string path =
      fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", line.x1, line.y1, line.x2, line.y2);
  if (loop)
    path = fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", line.x1, line.y1,
                       line.x1 + 34, line.y1, line.x1 + 34, line.y2, line.x2, line.y2);
  put(sheet_.arrows, R"(<path class="hit" d="{0}"/><path d="{0}"/>)", path);
  if (item.kind == Kind::received) put_head(line, loop);
  if (item.kind == Kind::lost)
    put(sheet_.arrows, R"(<path class="cross" d="M{:.1f} {:.1f}l8 8m0 -8l-8 8"/>)", line.x2 - 4,
        line.y2 - 4);
  sheet_.arrows += "</g>\n";
}

void MessageArtist::put_head(const Line& line, bool loop) {
  const double angle = loop ? 3.14159265 : std::atan2(line.y2 - line.y1, line.x2 - line.x1);
  put(sheet_.arrows,
      R"(<path class="head" d="M0 0L-9 -3.6L-9 3.6Z" transform="translate({:.1f} {:.1f}) )"
      R"svg(rotate({:.1f})"/>)svg",
      line.x2, line.y2, angle * 180 / 3.14159265);
}

// The text shown when the pointer rests on a message.
std::string MessageArtist::tooltip(const Item& item) const {
  std::string text = fmt::format("{}: {} → {}, sent at {} ms", item.label, sheet_.name(item.node),
                                 sheet_.name(item.peer), sim::milliseconds(item.sent));
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

void MessageArtist::draw_unheard(const Item& item) {
  const std::string text = fmt::format("{} → *", item.label);
  const Box box{sheet_.x(item.node) + 8, sheet_.y(item.at) - 6,
                sheet_.x(item.node) + 8 + text_width(text), sheet_.y(item.at) + 6};
  put(sheet_.marks,
      R"(<circle class="origin" cx="{:.1f}" cy="{:.1f}" r="2.4"/>)"
      "\n",
      sheet_.x(item.node), sheet_.y(item.at));
  if (!sheet_.layout.is_free(box)) return;
  sheet_.layout.take(box);
  put(sheet_.labels,
      R"(<text class="unheard" data-number="{}" data-label="{}" x="{:.1f}" )"
      R"(y="{:.1f}">{}</text>)"
      "\n",
      item.number, escaped(item.label), box.left, sheet_.y(item.at) + 4, escaped(text));
}

void MessageArtist::draw_names() {
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
      const int lanes = std::max(1, static_cast<int>(std::lround(std::abs(run) / sheet_.lane)));
      for (int i = 0; i < lanes * 3; ++i) {
        // Try the middle of each lane first, then its sides.
        const double along = (i % lanes + kShares[static_cast<std::size_t>(i / lanes)]) / lanes;
        const double cx = loop ? arrow.line.x2 + 30 + wide / 2 : arrow.line.x1 + along * run;
        const double cy = arrow.line.y1 + along * (arrow.line.y2 - arrow.line.y1);
        const double tall = wide * std::abs(std::sin(angle)) + kLabelHeight;
        const double flat = wide * std::cos(angle);
        const Box box{cx - flat / 2, cy - 3 - kLabelHeight / 2 - tall / 2, cx + flat / 2,
                      cy - 3 - kLabelHeight / 2 + tall / 2};
        if (!sheet_.layout.is_free(box)) continue;
        const int cost =
            sheet_.layout.covered(box) * 3 + i + (arrow.item->kind == Kind::lost ? 4 : 0);
        if (best && cost >= best_cost) continue;
        best = {box, cx, cy - 4, angle, arrow.item};
        best_cost = cost;
      }
    }
    if (!best) continue;
    sheet_.layout.take(best->box);
    const bool all_lost =
        std::ranges::all_of(arrows, [](const Arrow& it) { return it.item->kind == Kind::lost; });
    put(sheet_.labels,
        R"(<text class="message{}" data-number="{}" data-label="{}" )"
        R"(transform="translate({:.1f} {:.1f}) )"
        R"svg(rotate({:.1f})">{}</text>)svg"
        "\n",
        all_lost ? " bad" : "", best->item->number, escaped(best->item->label), best->x, best->y,
        best->angle * 180 / 3.14159265, escaped(best->item->label));
  }
}

}  // namespace tempo::report
