#include "protocol/lock/lock_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "base/number_text.h"

namespace tempo::locks {
namespace {

constexpr std::string_view kFormat = "tempo-locks 2";
constexpr std::array<std::string_view, 3> kStages{"claims", "ready", "founded"};

std::optional<HostId> host_in(std::string_view text) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (error != std::errc{} || end != text.data() + text.size() || id == 0) return std::nullopt;
  return HostId{id};
}

std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

bool put_voters(std::string_view text, std::vector<HostId>& voters) {
  while (!text.empty()) {
    const auto host = host_in(next_part(text, ' '));
    if (!host || voters.size() >= lock::kMaxVoterSet) return false;
    if (!voters.empty() && *host <= voters.back()) return false;
    voters.push_back(*host);
  }
  return true;
}

// "3 0000000000000abc:2 -": number of the view, then its slots; '-' is a free slot.
std::string voters_text(const wire::LockVoters& voters) {
  std::string text = fmt::format("{}", voters.number);
  for (const wire::LockVoter& voter : voters.slots)
    text += voter.votes == 0
                ? " -"
                : fmt::format(" {:016x}:{}", std::to_underlying(voter.host), voter.votes);
  return text;
}

template <class Number>
bool put(std::string_view text, Number& number) {
  const auto read = parse_number<Number>(text);
  if (read) number = *read;
  return read.has_value();
}

bool put_view(std::string_view text, wire::LockVoters& voters) {
  if (!put(next_part(text, ' '), voters.number) || voters.number == 0) return false;
  while (!text.empty()) {
    std::string_view slot = next_part(text, ' ');
    if (voters.slots.full()) return false;
    wire::LockVoter voter;
    if (slot != "-") {
      const auto host = host_in(next_part(slot, ':'));
      if (!host || !put(slot, voter.votes) || voter.votes == 0) return false;
      if (std::ranges::find(voters.slots, *host, &wire::LockVoter::host) != voters.slots.end())
        return false;
      voter.host = *host;
    }
    voters.slots.push_back(voter);
  }
  return !voters.slots.empty() && voters.slots[voters.slots.size() - 1].votes > 0;
}

// "0000000000000abc 77 5": host, number of its record, boot.
bool put_claim(std::string_view text, wire::LockClaims& claims) {
  const auto host = host_in(next_part(text, ' '));
  std::uint64_t record = 0;
  wire::LockClaim claim;
  if (!host || claims.full() || !put(next_part(text, ' '), record) || !put(text, claim.boot))
    return false;
  claim.host = *host;
  claim.record = wire::RecordId{record};
  claims.push_back(claim);
  return true;
}

bool put_line(std::string_view key, std::string_view value, LockRecord& record) {
  if (key == "host") {
    record.host = host_in(value).value_or(kNoHost);
    return record.host != kNoHost;
  }
  if (key == "kernel") {
    record.kernel = value;
    return true;
  }
  if (key == "place") {
    record.place = value;
    return true;
  }
  if (key == "number") return put(value, record.number);
  if (key == "above") return put(value, record.above);
  if (key == "stage") {
    const auto* const found = std::ranges::find(kStages, value);
    record.stage = static_cast<LockRecord::Stage>(found - kStages.begin());
    return found != kStages.end();
  }
  if (key == "voters") return put_voters(value, record.voters);
  if (!record.lease) record.lease.emplace();
  if (key == "boot") {
    std::uint32_t boot = 0;
    const bool good = put(value, boot);
    record.lease->boot = lock::lease::Boot{boot};
    return good;
  }
  if (key == "record") {
    std::uint64_t id = 0;
    const bool good = put(value, id);
    record.lease->record = wire::RecordId{id};
    return good;
  }
  if (key == "claim") return put_claim(value, record.lease->claims);
  if (key == "view") return put_view(value, record.lease->view);
  if (key == "next")
    return put(next_part(value, ' '), record.lease->next.count) && record.lease->next.count > 0 &&
           put_view(value, record.lease->next);
  return key == "reserve" && put(value, record.lease->reserve);
}

}  // namespace

std::string LockRecord::text() const {
  std::string text =
      fmt::format("{}\nhost {:016x}\nkernel {}\nplace {}\nstage {}\nnumber {}\nabove {}\nvoters",
                  kFormat, std::to_underlying(host), kernel, place,
                  kStages.at(std::to_underlying(stage)), number, above);
  for (const HostId voter : voters) text += fmt::format(" {:016x}", std::to_underlying(voter));
  text += '\n';
  if (lease) {
    text +=
        fmt::format("record {}\nboot {}\nreserve {}\nview {}\n", std::to_underlying(lease->record),
                    std::to_underlying(lease->boot), lease->reserve, voters_text(lease->view));
    for (const wire::LockClaim& claim : lease->claims)
      text += fmt::format("claim {:016x} {} {}\n", std::to_underlying(claim.host),
                          std::to_underlying(claim.record), claim.boot);
    if (lease->next.count != 0)
      text += fmt::format("next {} {}\n", lease->next.count, voters_text(lease->next));
  }
  return text + "end\n";
}

std::uint64_t highest_count(const LockRecord& record) {
  return std::max(record.above, record.lease ? record.lease->reserve : 0);
}

bool same_place(std::string_view one, std::string_view other) {
  if (one == kNowhere || other == kNowhere) return false;
  while (!one.empty() && !other.empty()) {
    const std::string_view part = next_part(one, ' ');
    const std::string_view its = next_part(other, ' ');
    if (part != its && part != "-" && its != "-") return false;
  }
  return true;
}

std::optional<LockRecord> parse_lock_record(std::string_view text) {
  if (next_part(text, '\n') != kFormat) return std::nullopt;
  LockRecord record;
  while (!text.empty()) {
    std::string_view line = next_part(text, '\n');
    if (line == "end") {
      if (record.host == kNoHost || (record.stage != LockRecord::Stage::proposed &&
                                     (record.voters.empty() || record.number == 0)))
        return std::nullopt;
      if (record.lease && record.lease->view.number == 0) return std::nullopt;
      return record;
    }
    const std::string_view key = next_part(line, ' ');
    if (!put_line(key, line, record)) return std::nullopt;
  }
  return std::nullopt;  // truncated
}

}  // namespace tempo::locks
