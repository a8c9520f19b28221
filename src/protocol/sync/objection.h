// A follower's objection to its reference, which begins with an impossible exchange.
//
// For a while the follower does not use such exchanges, so that other members have time to object
// as well; after that its own clock was wrong.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace tempo::node {

class Objection {
 public:
  void raise(Instant now) {
    last_ = now;
    ++count_;
    if (since_ == kNever) since_ = now;
  }
  // Ends if the last impossible exchange was long ago.
  void expire(Instant now) {
    if (now - last_ > kLasts) *this = {};
  }

  bool raised() const { return since_ != kNever; }
  bool lasts(Instant now) const { return raised() && now - since_ < kLasts; }
  // Whether probes report it. One impossible exchange may be a wrong timestamp.
  bool votes(Instant now) const { return count_ >= 2 && now - last_ <= kVoteLasts; }

 private:
  static constexpr Nanos kLasts = 8s;
  static constexpr Nanos kVoteLasts = 4s;

  Instant since_ = kNever;   // first impossible exchange; kNever: none
  Instant last_{};           // last impossible exchange
  std::uint32_t count_ = 0;  // impossible exchanges since since_
};

}  // namespace tempo::node
