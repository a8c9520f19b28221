#include "cli/common/exit_codes.h"

namespace tempo::cli {

std::string_view status_name(int status) {
  switch (status) {
    case kDone:
      return "ok";
    case kViolation:
      return "no";
    case kBadUsage:
      return "usage";
    case kNoDaemon:
    case kLockNoDaemon:
      return "no-daemon";
    case kRefused:
    case kLockRefused:
      return "refused";
    case kNotObtained:
      return "timeout";
    case kLockLost:
      return "lost";
    case kRanOn:
      return "ran-on";
    case kNoMajority:
      return "no-majority";
    case kNoVoters:
      return "no-voters";
    case kAbstaining:
      return "abstaining";
    case kNoRecord:
      return "no-record";
    case kWrongKind:
      return "wrong-kind";
    case kInterrupted:
      return "interrupted";
    default:
      return "command";  // the status of the command that was run
  }
}

}  // namespace tempo::cli
