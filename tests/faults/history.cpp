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

// Of the holds of one lock that entered so far: who is in the way of the next.
struct Front {
  const Hold* last_to_leave = nullptr;
  const Hold* highest = nullptr;  // by token

  void add(const Hold& hold) {
    if (last_to_leave == nullptr || hold.left > last_to_leave->left) last_to_leave = &hold;
    if (highest == nullptr || hold.token > highest->token) highest = &hold;
  }
};
struct Fronts {
  Front all;        // in the way of a writer
  Front exclusive;  // in the way of a reader
};

Breach::Kind overlap(const Hold& one, const Hold& other) {
  return one.mode == Mode::exclusive && other.mode == Mode::exclusive ? Breach::Kind::two_exclusive
                                                                      : Breach::Kind::reader_beside;
}

std::string text_of(const Hold& hold) {
  return fmt::format("client {} {} lock {} from {} to {} with token {}", hold.client,
                     hold.mode == Mode::exclusive ? "wrote under" : "read under", hold.lock,
                     span_text(hold.entered.time_since_epoch()),
                     span_text(hold.left.time_since_epoch()), std::to_underlying(hold.token));
}

}  // namespace

std::string_view name_of(Breach::Kind kind) {
  switch (kind) {
    case Breach::Kind::backwards:
      return "backwards";
    case Breach::Kind::two_exclusive:
      return "two exclusive holders";
    case Breach::Kind::reader_beside:
      return "a reader beside a writer";
    case Breach::Kind::token_disorder:
      return "tokens out of order";
  }
  std::unreachable();
}

std::string text_of(const Breach& breach) {
  return fmt::format("{}: {}; {}", name_of(breach.kind), text_of(breach.first),
                     text_of(breach.second));
}

std::vector<Breach> judge(std::vector<Hold> history) {
  // Of those who enter at one instant, who leaves first is first: it may have left by then.
  std::ranges::sort(history, {}, [](const Hold& hold) {
    return std::tuple(hold.entered, hold.left, hold.token);
  });
  std::vector<Breach> breaches;
  const auto report = [&](Breach::Kind kind, const Hold& first, const Hold& second) {
    if (breaches.size() < kMaxBreaches) breaches.push_back({kind, first, second});
  };
  std::map<std::uint32_t, Fronts> locks;
  for (const Hold& hold : history) {
    if (hold.left < hold.entered) {
      report(Breach::Kind::backwards, hold, hold);
      continue;
    }
    Fronts& fronts = locks[hold.lock];
    const Front& front = hold.mode == Mode::exclusive ? fronts.all : fronts.exclusive;
    if (front.last_to_leave != nullptr && front.last_to_leave->left > hold.entered)
      report(overlap(*front.last_to_leave, hold), *front.last_to_leave, hold);
    if (front.highest != nullptr && front.highest->token >= hold.token)
      report(Breach::Kind::token_disorder, *front.highest, hold);
    fronts.all.add(hold);
    if (hold.mode == Mode::exclusive) fronts.exclusive.add(hold);
  }
  return breaches;
}

}  // namespace tempo::faults
