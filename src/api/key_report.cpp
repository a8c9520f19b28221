#include "api/key_report.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "base/table.h"

namespace tempo::obs {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(KeyStep::count)> kStepNames{
    "none", "add", "promote", "drop"};
constexpr std::size_t kMaxNamed = 5;  // members in a sentence

bool opens(const MemberView& member, const std::string& key) {
  return std::ranges::find(member.opens, key) != member.opens.end();
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMaxNamed) text += fmt::format(" and {} more", names.size() - kMaxNamed);
  return text;
}

std::string members_count(std::size_t count) {
  return count == 1 ? "the only member" : fmt::format("all {} members", count);
}

std::string key_text(const std::string& name) { return name == kNoKeyName ? name : "key " + name; }

// A member that opens a key which this machine does not have, and that key.
std::string foreign_key(const Snapshot& snapshot) {
  for (const MemberView& member : snapshot.members)
    for (const std::string& key : member.opens)
      if (key != snapshot.sealing_key)
        return fmt::format(
            "{} also opens {}: if it is the new one, add it here with 'tempo keygen --add --key "
            "FILE'; if it is the old one, run 'tempo keygen --drop' there",
            member.name, key_text(key));
  return "";
}

KeyReport settled(const Snapshot& snapshot) {
  KeyReport report;
  if (std::string foreign = foreign_key(snapshot); !foreign.empty()) {
    report.next = KeyStep::add;
    report.text = std::move(foreign);
  } else if (snapshot.keys == 0) {
    report.text = "no key is in use; 'tempo keygen --add' introduces one";
  } else {
    report.text = fmt::format("{} seal{} with key {}; no key change is in progress",
                              members_count(snapshot.members.size()),
                              snapshot.members.size() == 1 ? "s" : "", snapshot.sealing_key);
  }
  return report;
}

}  // namespace

std::string_view name_of(KeyStep step) {
  CHECK(step < KeyStep::count);
  return kStepNames[std::to_underlying(step)];
}

KeyReport key_report(const Snapshot& snapshot, std::optional<double> silent_after_s) {
  if (snapshot.key_change.empty()) return settled(snapshot);
  const bool promote = snapshot.key_change == "added";
  KeyReport report{.next = promote ? KeyStep::promote : KeyStep::drop};
  const std::string& fresh = promote ? snapshot.opening_key : snapshot.sealing_key;
  for (const MemberView& member : snapshot.members) {
    if (promote ? !opens(member, fresh) : member.seals != fresh)
      report.lacking.push_back(member.name);
    else if (silent_after_s && member.heard_ago_s > *silent_after_s)
      report.silent.push_back(member.name);
  }
  report.safe = report.lacking.empty() && report.silent.empty();
  const std::string_view verb = promote ? "open" : "seal with";
  if (report.safe)
    report.text =
        fmt::format("{} {} key {}: it is safe to run 'tempo keygen --{}' on each",
                    members_count(snapshot.members.size()), verb, fresh, name_of(report.next));
  else if (!report.lacking.empty())
    report.text = fmt::format(
        "not yet safe to {}: {} do{} not {} key {}; run 'tempo keygen --{}' "
        "there first",
        name_of(report.next), listed(report.lacking), report.lacking.size() == 1 ? "es" : "", verb,
        fresh, promote ? "add --key FILE" : "promote");
  else
    report.text = fmt::format(
        "not yet safe to {}: {} did not answer and may lack key {}; start tempod there, or go on "
        "without and copy the key file there later",
        name_of(report.next), listed(report.silent), fresh);
  return report;
}

std::string keys_text(const Snapshot& snapshot) {
  report::Table table({"MEMBER", "SEALS WITH", "ALSO OPENS", {"HEARD", report::Align::right}});
  for (const MemberView& member : snapshot.members) {
    std::string others;
    for (const std::string& key : member.opens)
      if (key != member.seals) others += (others.empty() ? "" : ", ") + key;
    table.row({member.name + (member.self ? " (this machine)" : ""), member.seals,
               others.empty() ? "-" : others,
               member.self ? "-" : fmt::format("{:.1f} s ago", member.heard_ago_s)});
  }
  return table.text({.unicode = false, .rules = false});
}

}  // namespace tempo::obs
