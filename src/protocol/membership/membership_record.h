// The membership record as text, for the disk of its machine (doc/internals/membership.md).
//
// A damaged text, or one that was written by another host or elsewhere, is a lost record: the
// machine then is another member.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "protocol/membership/view.h"

namespace tempo::membership {

struct SavedRecord {
  HostId host = kNoHost;
  std::string place{};  // machine and directory where it was written, one line; empty: not known
  Record record{};

  bool operator==(const SavedRecord&) const = default;
};

std::string text_of(const SavedRecord& saved);
std::optional<SavedRecord> parse_record(std::string_view text);

}  // namespace tempo::membership
