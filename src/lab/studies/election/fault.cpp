#include "lab/studies/election/fault.h"

#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/number_text.h"
#include "base/span_text.h"

namespace tempo::sim::election {
namespace {

using tempo::election::Kind;

constexpr std::array<std::pair<std::string_view, Act>, 15> kActs{{{"start", Act::start},
                                                                  {"crash", Act::crash},
                                                                  {"hint", Act::hint},
                                                                  {"pause", Act::pause},
                                                                  {"partition", Act::partition},
                                                                  {"deaf", Act::deaf},
                                                                  {"mute", Act::mute},
                                                                  {"cut", Act::cut},
                                                                  {"stand", Act::stand},
                                                                  {"stop", Act::stop},
                                                                  {"lose", Act::lose},
                                                                  {"twice", Act::twice},
                                                                  {"late", Act::late},
                                                                  {"calm", Act::calm},
                                                                  {"rough", Act::rough}}};

std::string node_text(NodeId node) {
  return node == kNobody ? "*" : fmt::format("{}", index(node) + 1);
}

// Takes words from the front of a line.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) { trim(); }
  bool empty() const { return rest_.empty(); }
  std::string_view next() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    trim();
    return word;
  }

 private:
  void trim() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

Result<NodeId> parse_node(std::string_view text, std::uint32_t nodes, bool any) {
  if (any && text == "*") return kNobody;
  const auto number = parse_number<std::uint32_t>(text);
  if (!number || *number < 1 || *number > nodes)
    return std::unexpected(
        fmt::format("'{}' is not a node; nodes are numbered from 1 to {}", text, nodes));
  return NodeId{*number - 1};
}

Result<std::vector<NodeId>> parse_side(std::string_view text, std::uint32_t nodes) {
  std::vector<NodeId> side;
  for (;;) {
    const std::size_t comma = text.find(',');
    TRY(node, parse_node(text.substr(0, comma), nodes, false));
    side.push_back(node);
    if (comma == std::string_view::npos) return side;
    text.remove_prefix(comma + 1);
  }
}

Result<Kind> parse_kind(std::string_view text) {
  for (std::size_t i = 0; i < tempo::election::kKinds; ++i)
    if (name_of(static_cast<Kind>(i)) == text) return static_cast<Kind>(i);
  return std::unexpected(fmt::format("unknown message kind '{}'", text));
}

}  // namespace

std::string fault_text(const Fault& fault) {
  std::string text;
  for (const auto& [name, act] : kActs)
    if (act == fault.act) text = name;
  switch (fault.act) {
    case Act::calm:
    case Act::rough:
      break;
    case Act::partition:
      for (std::size_t i = 0; i < fault.side.size(); ++i)
        text += (i == 0 ? ' ' : ',') + node_text(fault.side[i]);
      break;
    case Act::cut:
      text += fmt::format(" {}->{}", node_text(fault.node), node_text(fault.peer));
      break;
    case Act::lose:
    case Act::twice:
    case Act::late:
      text += fmt::format(" {}->{} {}", node_text(fault.node), node_text(fault.peer),
                          fault.any_kind ? "any" : name_of(fault.kind));
      if (fault.act == Act::late) text += ' ' + span_text(fault.extra);
      break;
    default:
      text += ' ' + node_text(fault.node);
  }
  if (fault.lasts != kForEver) text += " for " + span_text(fault.lasts);
  return text;
}

Result<Fault> parse_fault(std::string_view text, std::uint32_t nodes) {
  Words words(text);
  const std::string_view name = words.next();
  Fault fault;
  bool known = false;
  for (const auto& [known_name, act] : kActs) {
    if (known_name != name) continue;
    fault.act = act;
    known = true;
  }
  if (!known) return std::unexpected(fmt::format("'{}' is not a script command", name));
  switch (fault.act) {
    case Act::calm:
    case Act::rough:
      break;
    case Act::partition: {
      TRY(side, parse_side(words.next(), nodes));
      fault.side = side;
      break;
    }
    case Act::cut:
    case Act::lose:
    case Act::twice:
    case Act::late: {
      const std::string_view pair = words.next();
      const std::size_t arrow = pair.find("->");
      if (arrow == std::string_view::npos)
        return std::unexpected(
            fmt::format("'{}' must name two nodes, for example 1->2 or *->3", pair));
      const bool any = fault.act != Act::cut;
      TRY(from, parse_node(pair.substr(0, arrow), nodes, any));
      TRY(to, parse_node(pair.substr(arrow + 2), nodes, any));
      fault.node = from;
      fault.peer = to;
      if (fault.act == Act::cut) break;
      const std::string_view kind = words.next();
      if (kind != "any") {
        TRY(parsed, parse_kind(kind));
        fault.kind = parsed;
        fault.any_kind = false;
      }
      if (fault.act == Act::late) {
        TRY(extra, parse_span(words.next()));
        fault.extra = extra;
      }
      break;
    }
    default: {
      TRY(node, parse_node(words.next(), nodes, false));
      fault.node = node;
    }
  }
  if (!words.empty()) {
    if (words.next() != "for") return std::unexpected(fmt::format("too many words in '{}'", text));
    TRY(lasts, parse_span(words.next()));
    fault.lasts = lasts;
  }
  if (!words.empty()) return std::unexpected(fmt::format("too many words in '{}'", text));
  return fault;
}

}  // namespace tempo::sim::election
