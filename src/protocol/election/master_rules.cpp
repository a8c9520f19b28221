#include "protocol/election/master_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/span_text.h"

namespace tempo::election {
namespace {

constexpr std::array<std::pair<std::string_view, Timing>, 3> kProfiles{{
    {"classic",
     {.adjtime = 240s,
      .loop = 240s,
      .election_min = 360s,
      .election_max = 900s,
      .startup = 3s,
      .no_master = 3s,
      .candidate = 3s,
      .accept = 30s,
      .consistency = 300ms,
      .conflict = 3s,
      .retransmit = 200ms,
      .sends = 5,
      .delay = 1s,
      .loops_per_election = 0,
      .loops_per_startup = 0}},
    {"lan",
     {.adjtime = 1s,
      .loop = 250ms,
      .election_min = 2500ms,
      .election_max = 5s,
      .startup = 500ms,
      .no_master = 500ms,
      .candidate = 200ms,
      .accept = 1s,
      .consistency = 100ms,
      .conflict = 300ms,
      .retransmit = 50ms,
      .sends = 5,
      .delay = 50ms,
      .loops_per_election = 5,
      .loops_per_startup = 3}},
    {"fast",
     {.adjtime = 1s,
      .loop = 5ms,
      .election_min = 30ms,
      .election_max = 50ms,
      .startup = 60ms,
      .no_master = 60ms,
      .candidate = 5ms,
      .accept = 20ms,
      .consistency = 10ms,
      .conflict = 20ms,
      .retransmit = 4ms,
      .sends = 5,
      .delay = 2ms,
      .loops_per_election = 5,
      .loops_per_startup = 3}},
}};

constexpr std::array<std::pair<std::string_view, bool Variant::*>, 5> kVariants{{
    {"refuse-duplicate", &Variant::refuse_duplicate},
    {"no-loop", &Variant::no_loop},
    {"no-epoch", &Variant::no_epoch},
    {"conflict-kills-both", &Variant::conflict_kills_both},
    {"conflict-for-resolve", &Variant::conflict_for_resolve},
}};

}  // namespace

Result<Timing> profile(std::string_view name) {
  for (const auto& [known, timing] : kProfiles)
    if (known == name) return timing;
  return std::unexpected(
      fmt::format("there is no profile '{}'; choose classic, lan or fast", name));
}

std::vector<std::string_view> profile_names() {
  std::vector<std::string_view> names;
  names.reserve(std::size(kProfiles));
  for (const auto& [name, timing] : kProfiles) names.push_back(name);
  return names;
}

Result<Variant> parse_variant(std::string_view text) {
  if (text == "corrected") return kCorrected;
  if (text == "as-printed") return kAsPrinted;
  Variant variant;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    const auto found =
        std::ranges::find(kVariants, name, [](const auto& entry) { return entry.first; });
    if (found == kVariants.end())
      return std::unexpected(
          fmt::format("there is no variant '{}'; choose corrected, as-printed, or any of "
                      "refuse-duplicate, no-loop, "
                      "no-epoch, conflict-kills-both, conflict-for-resolve, separated by commas",
                      name));
    variant.*found->second = true;
    if (comma == std::string_view::npos) return variant;
    rest.remove_prefix(comma + 1);
  }
}

std::string variant_text(const Variant& variant) {
  if (variant == kCorrected) return "corrected";
  if (variant == kAsPrinted) return "as-printed";
  std::string text;
  for (const auto& [name, member] : kVariants) {
    if (!(variant.*member)) continue;
    if (!text.empty()) text += ',';
    text += name;
  }
  return text;
}

std::vector<std::string> faults_of(const Rules& rules) {
  const Timing& t = rules.timing;
  std::vector<std::string> faults;
  const auto need = [&](bool holds, std::string sentence) {
    if (!holds) faults.push_back(std::move(sentence));
  };
  const Nanos beacon = rules.variant.no_loop ? t.adjtime : std::min(t.adjtime, t.loop);

  const Nanos shortest =
      std::min({t.adjtime, t.loop, t.election_min, t.startup, t.no_master, t.candidate, t.accept,
                t.consistency, t.conflict, t.retransmit, t.delay});
  need(shortest > Nanos{0}, "every timer must be longer than zero");
  need(t.election_max >= t.election_min,
       "the longest election timer must not be shorter than the shortest");
  need(t.sends >= 1 && t.sends <= 16, fmt::format("sends must be 1 to 16, not {}", t.sends));
  need(rules.repeats <= kMaxRepeats,
       fmt::format("repeats must be at most {}, not {}", kMaxRepeats, rules.repeats));
  need(t.candidate > 2 * t.delay,
       fmt::format("the candidate timer ({}) must exceed twice the largest delay ({})",
                   span_text(t.candidate), span_text(t.delay)));
  need(t.accept / 2 >= t.candidate + 2 * t.delay,
       fmt::format("half the accept timer ({}) must cover the candidate timer and two delays ({})",
                   span_text(t.accept / 2), span_text(t.candidate + 2 * t.delay)));
  need(t.election_min > t.accept,
       fmt::format("the shortest election timer ({}) must exceed the accept timer ({})",
                   span_text(t.election_min), span_text(t.accept)));
  need(t.election_min > beacon + t.delay,
       fmt::format(
           "the shortest election timer ({}) must exceed the master's beacon and a delay ({})",
           span_text(t.election_min), span_text(beacon + t.delay)));
  need(t.election_min > t.conflict + t.delay,
       fmt::format(
           "the shortest election timer ({}) must exceed the conflict timer and a delay ({})",
           span_text(t.election_min), span_text(t.conflict + t.delay)));
  if (!rules.variant.no_loop) {
    need(t.election_min >= t.loops_per_election * t.loop,
         fmt::format("the shortest election timer ({}) must outlast {} Loops ({})",
                     span_text(t.election_min), t.loops_per_election,
                     span_text(t.loops_per_election * t.loop)));
    need(t.loops_per_startup == 0 ||
             t.startup + t.no_master >= t.loops_per_startup * t.loop + t.delay,
         fmt::format("start-up and no-master together ({}) must outlast {} Loops and a delay ({})",
                     span_text(t.startup + t.no_master), t.loops_per_startup,
                     span_text(t.loops_per_startup * t.loop + t.delay)));
  }
  return faults;
}

}  // namespace tempo::election
