#include "lab/report/space_time_picture.h"

#include <algorithm>
#include <limits>
#include <span>
#include <unordered_map>

#include <fmt/core.h>

#include "base/display_text.h"

namespace tempo::report {
namespace {

using sim::Happening;
using sim::What;

bool is_start(std::string_view fault) {
  return fault.starts_with("start") || fault.starts_with("restart");
}
bool is_arrow(const Happening& it) { return it.what == What::received || it.what == What::lost; }

std::uint32_t count_nodes(const sim::Trace& trace, std::uint32_t at_least) {
  std::uint32_t count = std::max(at_least, 1U);
  for (const Happening& it : trace.happenings())
    for (const NodeId node : {it.node, it.peer})
      if (node != kNobody) count = std::max(count, index(node) + 1);
  return count;
}

// A node that starts within the trace was down before; any other node was up.
std::vector<NodeStatus> initial_statuses(const sim::Trace& trace, std::uint32_t nodes) {
  std::vector<NodeStatus> statuses(nodes);
  std::vector<bool> seen(nodes);
  for (const Happening& it : trace.happenings()) {
    if (it.node == kNobody || index(it.node) >= nodes || seen[index(it.node)]) continue;
    if (it.what != What::disturbed && it.what != What::becomes) continue;
    seen[index(it.node)] = true;
    if (it.what == What::disturbed && is_start(it.label))
      statuses[index(it.node)].mode = Mode::down;
  }
  return statuses;
}

// Returns the happenings from the beginning of the trace (earlier ones determine the states of the
// nodes) to the end of the window, or to the maximum that may be drawn. Sets the window in the
// picture.
std::span<const Happening> cut_to_window(const sim::Trace& trace, const SpaceTimeOptions& options,
                                         Picture& picture) {
  const std::span<const Happening> all = trace.happenings();
  if (!all.empty()) {
    picture.from = all.front().at;
    picture.to = all.back().at;
  }
  picture.from = options.from.value_or(picture.from);
  picture.to = std::max(options.to.value_or(picture.to), picture.from);

  // Bounds traces without arrows; usually states, faults and transmissions are few compared with
  // the arrows they cause.
  const std::size_t max_marks = 4 * options.max_arrows + 1'000;
  std::size_t marks = 0;
  std::size_t shown = 0;
  bool full = false;
  for (std::size_t i = 0; i < all.size() && all[i].at <= picture.to; ++i) {
    if (all[i].at >= picture.from) {
      if (is_arrow(all[i])) {
        ++picture.arrows_all;
        full = full || picture.arrows == options.max_arrows;
        if (!full) ++picture.arrows;
      } else {
        full = full || marks++ == max_marks;
      }
    }
    if (!full) shown = i + 1;
  }
  if (full) {
    picture.to = shown > 0 ? std::max(all[shown - 1].at, picture.from) : picture.from;
    picture.notes.push_back(fmt::format(
        "Only the first {} of {} messages are shown: the diagram ends at {} ms.",
        grouped(picture.arrows), grouped(picture.arrows_all), sim::milliseconds(picture.to)));
  }
  picture.happenings = shown;
  return all.first(shown);
}

struct Transmission {
  Instant sent;
  bool has_outcome = false;
};

class Composer {
 public:
  Composer(std::span<const Happening> happenings, Picture& picture)
      : happenings_(happenings), picture_(picture) {}

  void compose() {
    for (const Happening& it : happenings_) {
      if (it.what == What::sent)
        sent_[it.number].sent = it.at;
      else if (is_arrow(it))
        sent_[it.number].has_outcome = true;
    }
    for (const Happening& it : happenings_) add(it);
    choose_typical();
  }

 private:
  void add(const Happening& it) {
    if (it.at < picture_.from) return;
    const bool hidden = (it.node != kNobody && index(it.node) >= picture_.nodes) ||
                        (it.peer != kNobody && index(it.peer) >= picture_.nodes);
    // A message without a sender or receiver, or a state without a node, has no place either.
    const bool placeless =
        (it.node == kNobody && it.what != What::disturbed) || (it.peer == kNobody && is_arrow(it));
    if (hidden || placeless) {
      if (is_arrow(it)) --picture_.arrows;
      return;
    }
    Item item{.kind = Kind::state,
              .at = it.at,
              .sent = it.at,
              .node = it.node,
              .peer = it.peer,
              .number = it.number,
              .label = it.label};
    switch (it.what) {
      case What::sent:
        if (sent_[it.number].has_outcome) return;
        item.kind = it.peer == kNobody ? Kind::unheard : Kind::pending;
        break;
      case What::received:
        item.kind = Kind::received;
        item.sent = std::min(it.sent, it.at);
        break;
      case What::lost:
        item.kind = Kind::lost;
        item.sent = sent_time(it);
        break;
      case What::becomes:
        break;
      case What::disturbed:
        item.kind = Kind::fault;
        if (merged(item)) return;
        break;
    }
    picture_.items.push_back(item);
  }

  Instant sent_time(const Happening& lost) const {
    const auto found = sent_.find(lost.number);
    return found == sent_.end() ? lost.at : std::clamp(found->second.sent, Instant{}, lost.at);
  }

  // A partition may be recorded as many faults at one instant; show them as one.
  bool merged(const Item& fault) {
    if (picture_.items.empty()) return false;
    Item& last = picture_.items.back();
    if (last.kind != Kind::fault || last.at != fault.at || last.node != fault.node ||
        last.label != fault.label)
      return false;
    ++last.times;
    return true;
  }

  void choose_typical() {
    std::vector<Nanos> spans;
    for (const Item& item : picture_.items)
      if (item.kind == Kind::received) spans.push_back(item.at - item.sent);
    if (spans.empty()) {
      for (std::size_t i = 1; i < picture_.items.size(); ++i)
        if (picture_.items[i].at > picture_.items[i - 1].at)
          spans.push_back(picture_.items[i].at - picture_.items[i - 1].at);
    }
    if (spans.empty()) return;
    const auto middle = spans.begin() + static_cast<std::ptrdiff_t>(spans.size() / 2);
    std::ranges::nth_element(spans, middle);
    picture_.typical = std::max(*middle, Nanos{1});
  }

  std::span<const Happening> happenings_;
  Picture& picture_;
  std::unordered_map<std::uint32_t, Transmission> sent_;  // by number of the transmission
};

void add_segments(std::span<const Happening> happenings, std::vector<NodeStatus> statuses,
                  Picture& picture) {
  std::vector<Instant> since(picture.nodes,
                             picture.from);  // start of the current segment of each node
  bool begun = false;
  const auto begin = [&] {
    begun = true;
    picture.start = statuses;
  };
  const auto end_segment = [&](std::uint32_t node, Instant at) {
    if (at > since[node])
      picture.segments.push_back({NodeId{node}, since[node], at, statuses[node]});
    since[node] = std::max(since[node], at);
  };
  const auto name = [&](std::string_view state) {
    if (!state.empty() &&
        std::ranges::find(picture.state_names, state) == picture.state_names.end())
      picture.state_names.push_back(state);
  };
  for (const Happening& it : happenings) {
    if (it.what != What::disturbed && it.what != What::becomes) continue;
    if (it.node == kNobody || index(it.node) >= picture.nodes) continue;
    if (!begun && it.at >= picture.from) begin();
    const std::uint32_t node = index(it.node);
    end_segment(node, it.at);
    if (it.what == What::disturbed)
      statuses[node] = after_fault(statuses[node], it.label);
    else
      statuses[node].state = it.label;
  }
  if (!begun) begin();
  for (std::uint32_t node = 0; node < picture.nodes; ++node) end_segment(node, picture.to);
  picture.end = std::move(statuses);

  for (const NodeStatus& status : picture.start) name(status.state);
  for (const Item& item : picture.items)
    if (item.kind == Kind::state) name(item.label);
}

}  // namespace

Picture picture_of(const sim::Trace& trace, const SpaceTimeOptions& options,
                   std::uint32_t max_nodes) {
  Picture picture;
  picture.nodes_all = count_nodes(trace, options.nodes);
  picture.nodes = std::min(picture.nodes_all, max_nodes);
  const std::span<const Happening> shown = cut_to_window(trace, options, picture);
  Composer(shown, picture).compose();
  add_segments(shown, initial_statuses(trace, picture.nodes), picture);
  if (picture.nodes < picture.nodes_all)
    picture.notes.push_back(
        fmt::format("Only the first {} of {} nodes are shown, and the messages among them.",
                    picture.nodes, grouped(picture.nodes_all)));
  if (!trace.complete())
    picture.notes.push_back(
        fmt::format("The trace is incomplete: it contains only the first {} happenings.",
                    grouped(sim::Trace::kMaxHappenings)));
  return picture;
}

std::string node_name(const SpaceTimeOptions& options, std::size_t node) {
  return node < options.names.size() ? options.names[node] : fmt::format("{}", node + 1);
}

NodeStatus after_fault(NodeStatus status, std::string_view fault) {
  if (is_crash(fault)) return {.mode = Mode::down, .state = {}};
  if (is_start(fault)) return {.mode = Mode::up, .state = {}};
  if (fault.starts_with("pause") && status.mode == Mode::up) status.mode = Mode::paused;
  if (fault.starts_with("resume") && status.mode == Mode::paused) status.mode = Mode::up;
  return status;
}

bool is_crash(std::string_view fault) { return fault.starts_with("crash"); }

std::string milliseconds_rounded(Instant at, int decimals) {
  return fmt::format("{:.{}f}", static_cast<double>(at.time_since_epoch().count()) / 1e6, decimals);
}

}  // namespace tempo::report
