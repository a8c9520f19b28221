#include "lab/studies/group/apps/duty.h"

#include "base/check.h"

namespace tempo::apps {

std::string_view name_of(Notice::Kind kind) {
  using Kind = Notice::Kind;
  switch (kind) {
    case Kind::offer:
      return "offers";
    case Kind::hold:
      return "holds";
    case Kind::give_up:
      return "gives up";
    case Kind::accepted:
      return "accepts";
    case Kind::begins:
      return "begins";
    case Kind::done:
      return "done";
    case Kind::refused:
      return "refuses";
    case Kind::wants:
      return "wants";
    case Kind::enters:
      return "inside";
    case Kind::leaves:
      return "outside";
    case Kind::votes:
      return "votes";
    case Kind::writes:
      return "writes";
  }
  CHECK(false);
  return {};
}

}  // namespace tempo::apps
