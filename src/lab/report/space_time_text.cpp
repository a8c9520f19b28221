#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <span>

#include <fmt/core.h>

#include "base/display_text.h"
#include "lab/report/space_time.h"
#include "lab/report/space_time_picture.h"

namespace tempo::report {
namespace {

constexpr std::size_t kLaneMin = 9;  // narrower lanes cannot hold the name of a message
constexpr std::size_t kLaneMax = 20;
constexpr std::size_t kTimeMin = 9;
// A silence gets its own row if it lasts longer than this many typical messages.
constexpr int kIdleMessages = 20;

struct Glyphs {
  std::string_view up, paused, gap;
  std::string_view dash, right, left, across, from_right, from_left, from_both;
  std::string_view cross, open, ellipsis, net, crash, times, all, self;
};
constexpr Glyphs kUnicode{
    .up = "│",
    .paused = "╎",
    .gap = "⋮",
    .dash = "─",
    .right = "▶",
    .left = "◀",
    .across = "┼",
    .from_right = "├",
    .from_left = "┤",
    .from_both = "┼",
    .cross = "✕",
    .open = "╌",
    .ellipsis = "…",
    .net = "┄",
    .crash = "✕ ",
    .times = " ×",
    .all = "→*",
    .self = "↺",
};
constexpr Glyphs kAscii{
    .up = "|",
    .paused = ":",
    .gap = "~",
    .dash = "-",
    .right = ">",
    .left = "<",
    .across = "+",
    .from_right = "|",
    .from_left = "|",
    .from_both = "|",
    .cross = "x",
    .open = ".",
    .ellipsis = "~",
    .net = "=",
    .crash = "x ",
    .times = " x",
    .all = "->*",
    .self = "@",
};

// One row of the diagram, cell by cell. A wide letter takes two cells; the second one is empty.
class Row {
 public:
  explicit Row(std::size_t width) : cells_(width, " ") {}

  void set(std::size_t at, std::string_view glyph) {
    if (at < cells_.size()) cells_[at] = glyph;
  }
  void write(std::size_t at, std::string_view text) {
    std::size_t end = at + display_width(text);
    if (end > cells_.size()) return;
    cells_[at] = text;
    while (--end > at) cells_[end].clear();
  }
  std::string text() const {
    std::string all;
    for (const std::string& cell : cells_) all += cell;
    all.erase(all.find_last_not_of(' ') + 1);
    return all;
  }

 private:
  std::vector<std::string> cells_;
};

// Items that share a place in a row: a single item, or the arrows of one broadcast that arrive at
// the same instant.
struct Group {
  std::vector<const Item*> items;
  std::size_t first, last;  // lanes that it covers
};

class Drawing {
 public:
  Drawing(const Picture& picture, const SpaceTimeOptions& options, std::size_t lane,
          std::size_t time, int decimals, bool unicode)
      : picture_(picture),
        options_(options),
        lane_(lane),
        time_(time),
        decimals_(decimals),
        glyphs_(unicode ? kUnicode : kAscii),
        statuses_(picture.start) {}

  std::string text() {
    names();
    held_states();
    const Nanos idle = options_.idle.value_or(picture_.typical * kIdleMessages);
    const std::span<const Item> items = picture_.items;
    Instant last = picture_.from;
    for (std::size_t i = 0; i < items.size();) {
      std::size_t end = i;
      while (end < items.size() && items[end].at == items[i].at) ++end;
      if (items[i].at - last > idle) gap(items[i].at - last);
      last = items[i].at;
      instant(items.subspan(i, end - i));
      i = end;
    }
    if (picture_.to - last > idle) gap(picture_.to - last);
    return std::move(out_);
  }

 private:
  std::size_t middle(std::size_t node) const { return node * lane_ + lane_ / 2; }
  std::size_t width() const { return picture_.nodes * lane_; }

  void put(std::string_view time, const Row& row) {
    std::string line(time_ - std::min(time_, display_width(time)), ' ');
    line += time;
    line += "  ";
    line += row.text();
    line.erase(line.find_last_not_of(' ') + 1);
    out_ += line + '\n';
  }

  // Omits a time that equals the one shown last.
  void put_at(const std::string& time, const Row& row) {
    put(time == shown_ ? "" : time, row);
    if (!time.empty()) shown_ = time;
  }

  void write_centred(Row& row, std::size_t node, std::string_view text) const {
    const std::string word = clipped(text, lane_ - 1, glyphs_.ellipsis);
    row.write(middle(node) - display_width(word) / 2, word);
  }

  void names() {
    Row row(width());
    for (std::size_t i = 0; i < picture_.nodes; ++i) write_centred(row, i, node_name(options_, i));
    put("ms", row);
  }

  // The states of the nodes at the start of the window.
  void held_states() {
    if (std::ranges::all_of(statuses_,
                            [](const NodeStatus& status) { return status.state.empty(); }))
      return;
    Row row = lifelines();
    for (std::size_t i = 0; i < picture_.nodes; ++i)
      if (!statuses_[i].state.empty())
        write_centred(row, i, fmt::format("({})", statuses_[i].state));
    put_at(milliseconds_rounded(picture_.from, decimals_), row);
  }

  Row lifelines() const {
    Row row(width());
    for (std::size_t i = 0; i < picture_.nodes; ++i)
      if (statuses_[i].mode != Mode::down)
        row.set(middle(i), statuses_[i].mode == Mode::paused ? glyphs_.paused : glyphs_.up);
    return row;
  }

  void gap(Nanos span) {
    Row row(width());
    for (std::size_t i = 0; i < picture_.nodes; ++i)
      if (statuses_[i].mode != Mode::down) row.set(middle(i), glyphs_.gap);
    put(fmt::format("{} {}", glyphs_.gap, brief_span(span)), row);
  }

  // Draws everything that happens at one instant in as few rows as the order within each node
  // allows: each item goes to the first row below the rows that its lanes already use.
  void instant(std::span<const Item> items) {
    std::vector<std::vector<Group>> rows;
    std::vector<std::size_t> free_row(picture_.nodes, 0);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (joins_earlier(items, i)) continue;
      Group group = group_of(items, i);
      const auto lanes = std::span(free_row).subspan(group.first, group.last - group.first + 1);
      const std::size_t row = std::ranges::max(lanes);
      std::ranges::fill(lanes, row + 1);
      if (row == rows.size()) rows.emplace_back();
      rows[row].push_back(std::move(group));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Row row = lifelines();
      for (const Group& group : rows[i]) draw(row, group);
      put_at(i == 0 ? milliseconds_rounded(items.front().at, decimals_) : "", row);
    }
  }

  static bool same_flight(const Item& a, const Item& b) {
    return a.kind == Kind::received && b.kind == Kind::received && a.number == b.number &&
           a.number != 0 && a.node == b.node && a.peer != a.node && b.peer != b.node;
  }
  static bool joins_earlier(std::span<const Item> items, std::size_t i) {
    return std::ranges::any_of(items.first(i),
                               [&](const Item& it) { return same_flight(it, items[i]); });
  }

  Group group_of(std::span<const Item> items, std::size_t i) const {
    const Item& item = items[i];
    if (item.node == kNobody) return {{&item}, 0, picture_.nodes - 1};
    Group group{{&item}, index(item.node), index(item.node)};
    for (const Item& other : items.subspan(i + 1))
      if (same_flight(item, other)) group.items.push_back(&other);
    for (const Item* it : group.items) {
      if (it->peer == kNobody) continue;
      group.first = std::min(group.first, std::size_t{index(it->peer)});
      group.last = std::max(group.last, std::size_t{index(it->peer)});
    }
    return group;
  }

  void draw(Row& row, const Group& group) {
    const Item& item = *group.items.front();
    switch (item.kind) {
      case Kind::received:
      case Kind::lost:
      case Kind::pending:
        if (item.node == item.peer)
          write_centred(row, index(item.node), std::string(glyphs_.self) + self_text(item));
        else
          draw_arrows(row, group);
        return;
      case Kind::unheard:
        write_centred(row, index(item.node), std::string(item.label) + std::string(glyphs_.all));
        return;
      case Kind::state:
        statuses_[index(item.node)].state = item.label;
        write_centred(row, index(item.node), fmt::format("[{}]", item.label));
        return;
      case Kind::fault:
        draw_fault(row, item);
        return;
    }
  }

  std::string self_text(const Item& item) const {
    return std::string(item.label) + (item.kind == Kind::lost ? std::string(glyphs_.cross) : "");
  }

  void draw_fault(Row& row, const Item& item) {
    std::string word(item.label);
    if (item.times > 1) word += fmt::format("{}{}", glyphs_.times, item.times);
    if (item.node == kNobody) {
      for (std::size_t i = 0; i < width(); ++i) row.set(i, glyphs_.net);
      const std::string text = ' ' + clipped(word, width() - 2, glyphs_.ellipsis) + ' ';
      row.write((width() - display_width(text)) / 2, text);
      return;
    }
    NodeStatus& status = statuses_[index(item.node)];
    status = after_fault(status, item.label);
    write_centred(row, index(item.node),
                  is_crash(item.label) ? std::string(glyphs_.crash) + word : word);
  }

  // --- arrows ---

  void draw_arrows(Row& row, const Group& group) {
    const std::size_t from = index(group.items.front()->node);
    const Item* farthest[2] = {nullptr, nullptr};  // to the left, to the right
    const auto distance = [&](const Item* it) {
      return std::abs(int(index(it->peer)) - int(from));
    };
    for (const Item* it : group.items) {
      const Item*& side = farthest[index(it->peer) > from ? 1 : 0];
      if (side == nullptr || distance(it) > distance(side)) side = it;
    }
    for (const Item* it : farthest)
      if (it != nullptr) draw_line(row, *it);
    for (const Item* it : group.items)
      if (it->kind == Kind::received) {
        const bool rightwards = index(it->peer) > from;
        const std::size_t at = middle(index(it->peer));
        row.set(rightwards ? at - 1 : at + 1, rightwards ? glyphs_.right : glyphs_.left);
      }
    row.set(middle(from), farthest[0] == nullptr   ? glyphs_.from_right
                          : farthest[1] == nullptr ? glyphs_.from_left
                                                   : glyphs_.from_both);
  }

  // From beside the sender's lifeline to the receiver's, or short of it, with the name on the line.
  void draw_line(Row& row, const Item& item) {
    const bool rightwards = index(item.peer) > index(item.node);
    const std::size_t from = middle(index(item.node));
    const std::size_t to = middle(index(item.peer));
    const std::size_t short_of = item.kind == Kind::received ? 1 : 1 + lane_ / 4;
    std::size_t tip = rightwards ? to - short_of : to + short_of;
    if (item.kind == Kind::pending)
      tip = rightwards ? from + lane_ - short_of : from - lane_ + short_of;
    const std::size_t first = rightwards ? from + 1 : tip;
    const std::size_t last = rightwards ? tip : from - 1;
    for (std::size_t i = first; i <= last; ++i) {
      const bool crosses = i % lane_ == lane_ / 2 && statuses_[i / lane_].mode != Mode::down;
      row.set(i, crosses                      ? glyphs_.across
                 : item.kind == Kind::pending ? glyphs_.open
                                              : glyphs_.dash);
    }
    if (item.kind == Kind::lost) row.set(tip, glyphs_.cross);
    write_name(row, item, first, last, rightwards);
  }

  // Writes the name in the lane beside the sender if it fits, otherwise over the whole line. Keeps
  // a dash on both sides and space for the arrowhead.
  void write_name(Row& row, const Item& item, std::size_t first, std::size_t last,
                  bool rightwards) {
    const std::size_t length = last - first + 1;
    const std::size_t beside = std::min(length, lane_ - 1);
    const std::size_t needed = display_width(item.label) + 3;
    const std::size_t available = needed <= beside ? beside : length;
    if (available < 4) return;
    const std::string name = clipped(item.label, available - 3, glyphs_.ellipsis);
    const std::size_t start = rightwards ? first : last + 1 - available;
    const std::size_t slack =
        available - 3 - display_width(name);  // without the two dashes and the arrowhead
    row.write(start + (rightwards ? 1 : 2) + slack / 2, name);
  }

  const Picture& picture_;
  const SpaceTimeOptions& options_;
  std::size_t lane_;
  std::size_t time_;  // width of the time column
  int decimals_;
  const Glyphs& glyphs_;
  std::vector<NodeStatus> statuses_;  // in the row being drawn
  std::string shown_;                 // last time written on the left
  std::string out_;
};

// Decimals needed to show the instants, up to microseconds.
int decimals_needed(const Picture& picture) {
  int decimals = 0;
  for (const Item& item : picture.items) {
    std::int64_t unit = 1'000'000;
    for (int i = 0; i < decimals; ++i) unit /= 10;
    for (; decimals < 3 && item.at.time_since_epoch().count() % unit != 0; ++decimals) unit /= 10;
  }
  return decimals;
}

// The same events as lines, for nodes that do not fit side by side.
std::string listing(const sim::Trace& trace, const Picture& picture,
                    const SpaceTimeOptions& options, bool unicode) {
  const Nanos idle = options.idle.value_or(picture.typical * kIdleMessages);
  std::string all;
  Instant last = picture.from;
  for (const sim::Happening& it : std::span(trace.happenings()).first(picture.happenings)) {
    if (it.at < picture.from) continue;
    if (it.at - last > idle)
      all += fmt::format("{} {}\n", unicode ? "⋮" : "~", brief_span(it.at - last));
    last = it.at;
    all += sim::line(it) + '\n';
  }
  return all;
}

}  // namespace

std::string space_time_text(const sim::Trace& trace, const SpaceTimeOptions& options,
                            std::size_t width, bool unicode) {
  Picture picture = picture_of(trace, options, kMaxNodes);
  std::string all = options.title + '\n';
  if (!options.subtitle.empty()) all += options.subtitle + '\n';
  all += '\n';

  const int decimals = decimals_needed(picture);
  const std::size_t time = std::max(kTimeMin, milliseconds_rounded(picture.to, decimals).size());
  const std::size_t lanes = width > time + 2 ? width - time - 2 : 0;
  const std::size_t lane = std::min(kLaneMax, lanes / picture.nodes);
  if (lane >= kLaneMin) {
    all += Drawing(picture, options, lane, time, decimals, unicode).text();
  } else {
    all += listing(trace, picture, options, unicode);
    picture.notes.push_back(fmt::format(
        "{} nodes do not fit side by side in {} columns; the events are listed instead.",
        grouped(picture.nodes), width));
  }
  for (const std::string& note : picture.notes) all += '\n' + note + '\n';
  return all;
}

}  // namespace tempo::report
