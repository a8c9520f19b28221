#include "api/door_status.h"

#include <algorithm>
#include <utility>

namespace tempo::doors {
namespace {

constexpr DoorStatus kNothing{};
constexpr DoorStatus kGrowing{.claims = true,
                              .stratum = kStratum,
                              .leap = Leap::none,
                              .clockbound = ClockBound::free_running};
constexpr DoorStatus kCurrent{.claims = true,
                              .stratum = kStratum,
                              .leap = Leap::none,
                              .clockbound = ClockBound::synchronized};

// A status without a master keeps its claim, with a bound that grows.
DoorStatus row(page::Status status) {
  switch (status) {
    case page::Status::unsynchronized:
    case page::Status::alone:
      return kNothing;
    case page::Status::holdover:
    case page::Status::minority:
      return kGrowing;
    case page::Status::synchronized:
    case page::Status::leads:
      return kCurrent;
  }
  std::unreachable();
}

}  // namespace

std::string_view name_of(page::Status status) {
  switch (status) {
    case page::Status::unsynchronized:
      return "unsynchronized";
    case page::Status::holdover:
      return "holdover";
    case page::Status::synchronized:
      return "synchronized";
    case page::Status::leads:
      return "leads";
    case page::Status::minority:
      return "minority";
    case page::Status::alone:
      return "alone";
  }
  std::unreachable();
}

DoorStatus door_status(page::Status status, Nanos bound, Nanos limit) {
  return bound <= limit ? row(status) : kNothing;
}

Nanos bound_of(const page::Reading& reading) {
  if (reading.status == page::Status::unsynchronized) return Nanos::max();
  return std::max(reading.latest - reading.time, reading.time - reading.earliest);
}

}  // namespace tempo::doors
