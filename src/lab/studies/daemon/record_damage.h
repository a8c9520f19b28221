// Accidents of the record files of a simulated host: one of its files changes, as disks, backups
// and operators change files.
//
// The files have the contents that tempod writes, and tempod's own code reads them again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/random.h"
#include "platform/whole_file.h"
#include "protocol/lock/lock_record.h"

namespace tempo::sim::daemon {

enum class Accident : std::uint8_t {
  flipped,    // one bit of the record
  truncated,  // the record
  extended,   // the record, by bytes of another file
  emptied,
  zeroed,            // its length is right, its contents are zeros
  torn,              // it begins as the new generation and ends as the old one
  directory,         // in the place of the record
  removed,           // the record, not its predecessor
  old_copy,          // an older generation in the place of the record
  of_other,          // the record of another host in its place
  previous_flipped,  // one bit of the predecessor: the record is intact
  restored,          // both files are older generations: nothing on this host shows it
  wiped,             // both files are gone: nothing on this host shows it
  count
};
std::string_view name_of(Accident accident);

// The generations of a record, and that of another host.
struct Generations {
  locks::LockRecord current{};
  std::optional<locks::LockRecord> previous{};
  std::span<const locks::LockRecord> older{};  // durable earlier, in their order
  std::optional<locks::LockRecord> of_other{};
};

// Unset: the accident needs a generation that does not exist.
std::optional<sys::RecordFiles> files_after(Accident accident, const Generations& generations,
                                            Stream& stream);

}  // namespace tempo::sim::daemon
