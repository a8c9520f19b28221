#include "lab/sim/trace_text.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "base/number_text.h"
#include "base/span_text.h"

namespace tempo::sim {
namespace {

constexpr std::size_t kMaxUnderWay = 1000;  // remembered for each sender, receiver and name

std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

std::optional<Instant> time_of(std::string_view word) {
  const Result<Nanos> span = parse_span(std::string(word) + "ms");
  if (!span || word.empty()) return std::nullopt;
  return Instant{*span};
}

// "*" stands for kNobody.
std::optional<NodeId> node_of(std::string_view word) {
  if (word == "*") return kNobody;
  const auto number = parse_number<std::uint32_t>(word);
  if (!number || *number < 1 || *number > kMaxTracedNodes) return std::nullopt;
  return NodeId{*number - 1};
}

class Reader {
 public:
  bool take(std::string_view line) {
    if (line.empty()) return true;
    if (line.front() == '#') {
      comment(line.substr(1));
      return true;
    }
    std::string_view rest = line;
    const std::optional<Instant> at = time_of(next_word(rest));
    if (!at || *at < last_) return false;
    last_ = *at;
    const std::string_view who = next_word(rest);
    if (rest.empty()) return false;
    if (who == "network:") return disturbed(*at, kNobody, rest);
    if (const std::size_t arrow = who.find("->"); arrow != std::string_view::npos)
      return message(*at, node_of(who.substr(0, arrow)), node_of(who.substr(arrow + 2)), rest);
    const std::optional<NodeId> node = node_of(who);
    if (!node || *node == kNobody) return false;
    see(*node);
    if (!rest.starts_with("becomes ")) return disturbed(*at, *node, rest);
    rest.remove_prefix(std::string_view("becomes ").size());
    const std::string_view state = kept(rest);
    read_.states[index(*node)] = state;
    read_.trace.add({.at = *at, .what = What::becomes, .node = *node, .label = state});
    return !state.empty();
  }
  ReadTrace finish() { return std::move(read_); }

 private:
  struct UnderWay {
    std::uint32_t number = 0;
    Instant sent{};
  };

  std::string_view kept(std::string_view label) {
    const auto found = read_.labels.find(label);
    return found != read_.labels.end() ? *found : *read_.labels.emplace(label).first;
  }

  void see(NodeId node) {
    if (node == kNobody || index(node) < read_.nodes) return;
    while (read_.nodes <= index(node)) read_.names.push_back(std::to_string(++read_.nodes));
    read_.states.resize(read_.nodes);
  }

  void comment(std::string_view words) {
    if (words.starts_with(' ')) words.remove_prefix(1);
    const std::optional<NodeId> node = node_of(next_word(words));
    if (!node || *node == kNobody || next_word(words) != "is") return;
    see(*node);
    read_.names[index(*node)] = words;
  }

  bool disturbed(Instant at, NodeId node, std::string_view words) {
    if (node != kNobody && words == "crashes") read_.states[index(node)] = "down";
    read_.trace.add({.at = at, .what = What::disturbed, .node = node, .label = kept(words)});
    return true;
  }

  bool message(Instant at, std::optional<NodeId> from, std::optional<NodeId> to,
               std::string_view words) {
    if (!from || !to || *from == kNobody) return false;
    see(*from);
    see(*to);
    const std::string_view label = kept(next_word(words));
    if (words.empty()) {
      const std::uint32_t number = ++numbers_;
      read_.trace.add({.at = at,
                       .what = What::sent,
                       .node = *from,
                       .peer = *to,
                       .number = number,
                       .label = label});
      auto& queue = under_way_[{*from, *to, label}];
      queue.push_back({.number = number, .sent = at});
      if (queue.size() > kMaxUnderWay) queue.pop_front();
      return true;
    }
    if (*to == kNobody || (words != "received" && words != "lost")) return false;
    const UnderWay transmission = oldest(at, *from, *to, label);
    read_.trace.add({.at = at,
                     .what = words == "received" ? What::received : What::lost,
                     .node = *from,
                     .peer = *to,
                     .number = transmission.number,
                     .sent = transmission.sent,
                     .label = label});
    return true;
  }

  // The oldest transmission to that node, or to all nodes, that it has neither received nor lost
  // yet.
  UnderWay oldest(Instant at, NodeId from, NodeId to, std::string_view label) {
    UnderWay found{};
    if (auto own = under_way_.find({from, to, label}); own != under_way_.end())
      if (!own->second.empty()) {
        found = own->second.front();
        own->second.pop_front();
      }
    std::uint32_t& had = had_[{from, to, label}];
    if (const auto all = under_way_.find({from, kNobody, label});
        found.number == 0 && all != under_way_.end()) {
      const auto next =
          std::ranges::find_if(all->second, [&](const UnderWay& one) { return one.number > had; });
      if (next != all->second.end()) {
        found = *next;
        had = next->number;
      }
    }
    if (found.number != 0) return found;
    read_.one_sided = true;
    return {.number = ++numbers_, .sent = at};
  }

  using Kind = std::tuple<NodeId, NodeId, std::string_view>;

  ReadTrace read_;
  Instant last_{};
  std::uint32_t numbers_ = 0;
  std::map<Kind, std::deque<UnderWay>> under_way_;
  std::map<Kind, std::uint32_t> had_;  // last broadcast that the receiver received or lost
};

template <class Visit>
void each_line(std::string_view text, Visit visit) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!visit(number, line)) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

Result<ReadTrace> read_trace(std::string_view text) {
  Reader reader;
  std::string failure;
  each_line(text, [&](std::size_t number, std::string_view line) {
    if (!reader.take(line))
      failure = fmt::format("line {} is not a line of a trace: '{}'", number, line.substr(0, 80));
    return failure.empty();
  });
  if (!failure.empty()) return std::unexpected(failure);
  return reader.finish();
}

bool looks_like_trace(std::string_view text) {
  bool is = false;
  each_line(text, [&](std::size_t, std::string_view line) {
    if (line.empty() || line.front() == '#') return true;
    is = time_of(next_word(line)).has_value();
    return false;
  });
  return is;
}

}  // namespace tempo::sim
