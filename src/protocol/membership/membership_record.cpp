#include "protocol/membership/membership_record.h"

#include <charconv>
#include <cstdint>

#include <fmt/core.h>

namespace tempo::membership {
namespace {

constexpr std::string_view kFormat = "tempo-membership 1";

// A line "key NUMBER NUMBER ..." of hexadecimal numbers. Unset: it has another form.
class Line {
 public:
  Line(std::string_view& text, std::string_view key) {
    const std::size_t end = text.find('\n');
    rest_ = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    good_ = end != std::string_view::npos && rest_.starts_with(key);
    if (good_) rest_.remove_prefix(key.size());
  }
  std::uint64_t take() {
    std::uint64_t number = 0;
    if (!rest_.starts_with(' ')) return fail();
    rest_.remove_prefix(1);
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), number, 16);
    if (error != std::errc{}) return fail();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }
  bool more() const { return good_ && !rest_.empty(); }
  bool done() const { return good_ && rest_.empty(); }
  std::uint64_t fail() {
    good_ = false;
    return 0;
  }

 private:
  std::string_view rest_;
  bool good_ = false;
};

// The rest of a line that begins with `key`; unset: it does not.
std::optional<std::string_view> line_after(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos || !line.starts_with(key)) return std::nullopt;
  text.remove_prefix(end + 1);
  line.remove_prefix(key.size());
  return line;
}

std::string ballot_text(std::string_view key, const Ballot& ballot) {
  return fmt::format("{} {:x} {:x}\n", key, ballot.round, std::to_underlying(ballot.master));
}
std::string view_text(std::string_view key, const View& view) {
  std::string text = fmt::format("{} {:x} {:x} {:x} {:x}", key, view.lineage, view.number,
                                 std::to_underlying(view.tie_breaker), view.timescale_generation);
  for (const MemberId member : view.members)
    text += fmt::format(" {:x}", std::to_underlying(member));
  return text + "\n";
}

bool read_ballot(std::string_view& text, std::string_view key, Ballot& ballot) {
  Line line(text, key);
  ballot.round = line.take();
  ballot.master = MemberId{line.take()};
  return line.done();
}
bool read_view(std::string_view& text, std::string_view key, View& view) {
  Line line(text, key);
  view.lineage = line.take();
  view.number = line.take();
  view.tie_breaker = MemberId{line.take()};
  const std::uint64_t generation = line.take();
  if (generation > 0xffffffff) line.fail();
  view.timescale_generation = static_cast<std::uint32_t>(generation);
  while (line.more()) {
    const MemberId member{line.take()};
    const bool ascending =
        view.members.empty() ? member != kNoMember : member > view.members[view.members.size() - 1];
    if (!ascending || view.members.full())
      line.fail();
    else
      view.members.push_back(member);
  }
  return line.done();
}

}  // namespace

std::string text_of(const SavedRecord& saved) {
  const Record& record = saved.record;
  return fmt::format("{}\nhost {:x}\nplace {}\nself {:x}\n", kFormat,
                     std::to_underlying(saved.host), saved.place, std::to_underlying(record.self)) +
         view_text("view", record.view) + ballot_text("promised", record.promised) +
         ballot_text("accepted-in", record.accepted_in) + view_text("accepted", record.accepted);
}

std::optional<SavedRecord> parse_record(std::string_view text) {
  SavedRecord saved;
  Record& record = saved.record;
  if (!Line(text, kFormat).done()) return std::nullopt;
  Line host(text, "host");
  saved.host = HostId{host.take()};
  const std::optional<std::string_view> place = line_after(text, "place ");
  if (place) saved.place = *place;
  Line self(text, "self");
  record.self = MemberId{self.take()};
  const bool good = host.done() && place && self.done() && read_view(text, "view", record.view) &&
                    read_ballot(text, "promised", record.promised) &&
                    read_ballot(text, "accepted-in", record.accepted_in) &&
                    read_view(text, "accepted", record.accepted) && text.empty();
  const bool possible = saved.host != kNoHost && record.self != kNoMember &&
                        record.accepted_in <= record.promised &&
                        (record.view.known() || record.view == View{}) &&
                        (record.accepted_in.round != 0 || record.accepted == View{});
  if (!good || !possible) return std::nullopt;
  return saved;
}

}  // namespace tempo::membership
