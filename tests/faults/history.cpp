#include "history.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "base/span_text.h"

namespace tempo::faults {
namespace {

using lock::Mode;

// Of the holds of one lock so far: those that the next hold must follow.
struct Front {
  const Hold* last_to_leave = nullptr;
  const Hold* highest = nullptr;  // by token

  void add(const Hold& hold) {
    if (last_to_leave == nullptr || hold.left > last_to_leave->left) last_to_leave = &hold;
    if (highest == nullptr || hold.token > highest->token) highest = &hold;
  }
};
struct Fronts {
  Front all;        // conflict with a writer
  Front exclusive;  // conflict with a reader
};

Violation::Kind overlap(const Hold& one, const Hold& other) {
  return one.mode == Mode::exclusive && other.mode == Mode::exclusive
             ? Violation::Kind::two_exclusive
             : Violation::Kind::reader_and_writer;
}

std::string text_of(const Hold& hold) {
  return fmt::format("client {} {} lock {} from {} to {} with token {}", hold.client,
                     hold.mode == Mode::exclusive ? "wrote under" : "read under", hold.lock,
                     span_text(hold.entered.time_since_epoch()),
                     span_text(hold.left.time_since_epoch()), std::to_underlying(hold.token));
}

}  // namespace

std::string_view name_of(Violation::Kind kind) {
  switch (kind) {
    case Violation::Kind::backwards:
      return "backwards";
    case Violation::Kind::two_exclusive:
      return "two exclusive holders";
    case Violation::Kind::reader_and_writer:
      return "reader and writer overlap";
    case Violation::Kind::token_disorder:
      return "tokens out of order";
  }
  std::unreachable();
}

std::string text_of(const Violation& violation) {
  return fmt::format("{}: {}; {}", name_of(violation.kind), text_of(violation.first),
                     text_of(violation.second));
}

std::vector<Violation> find_violations(std::vector<Hold> history) {
  // Of holds that begin at the same instant the shorter comes first: it may have ended by then.
  std::ranges::sort(history, {}, [](const Hold& hold) {
    return std::tuple(hold.entered, hold.left, hold.token);
  });
  std::vector<Violation> violations;
  const auto report = [&](Violation::Kind kind, const Hold& first, const Hold& second) {
    if (violations.size() < kMaxViolations) violations.push_back({kind, first, second});
  };
  std::map<std::uint32_t, Fronts> locks;
  for (const Hold& hold : history) {
    if (hold.left < hold.entered) {
      report(Violation::Kind::backwards, hold, hold);
      continue;
    }
    Fronts& fronts = locks[hold.lock];
    const Front& front = hold.mode == Mode::exclusive ? fronts.all : fronts.exclusive;
    if (front.last_to_leave != nullptr && front.last_to_leave->left > hold.entered)
      report(overlap(*front.last_to_leave, hold), *front.last_to_leave, hold);
    if (front.highest != nullptr && front.highest->token >= hold.token)
      report(Violation::Kind::token_disorder, *front.highest, hold);
    fronts.all.add(hold);
    if (hold.mode == Mode::exclusive) fronts.exclusive.add(hold);
  }
  return violations;
}

}  // namespace tempo::faults
