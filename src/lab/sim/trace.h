// The record of a run: as data, as text and as a hash.
//
// A Trace is a list of happenings in the order of time. Scripts compare its text. Its hash is the
// same for the same run in every build and with any number of threads. lab/report draws diagrams
// from it. Printed node numbers start at 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace tempo::sim {

enum class What : std::uint8_t {
  sent,       // node -> peer (kNobody: all), label = the message's name
  received,   // peer received the transmission that node sent at `sent`
  lost,       // the transmission of node does not reach peer
  becomes,    // node enters the state named by the label
  disturbed,  // a fault of node (kNobody: the network); the label names the fault
};

struct Happening {
  Instant at;
  What what;
  NodeId node;
  NodeId peer = kNobody;
  std::uint32_t number = 0;  // number of the transmission; the same for sent, received and lost
  Instant sent{};            // received: time of the transmission
  std::string_view label;    // text with static lifetime
};

class Trace {
 public:
  // With keep = false the Trace only hashes. It keeps at most kMaxHappenings.
  explicit Trace(bool keep) : keep_(keep) {}

  void add(const Happening& happening);

  const std::vector<Happening>& happenings() const { return happenings_; }
  bool complete() const {
    return complete_;
  }  // false: happenings beyond kMaxHappenings were not kept
  std::uint64_t hash() const { return hash_; }

  static constexpr std::size_t kMaxHappenings = 2'000'000;

 private:
  void mix(std::uint64_t value);

  bool keep_;
  bool complete_ = true;
  std::uint64_t hash_ = 0x74656d706f;
  std::vector<Happening> happenings_;
};

// Adds a number to a hash; also combines the hashes of many runs.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value);

// "1500.25": milliseconds since the start, without trailing zeros.
std::string milliseconds(Instant at);

// "2000 1->* masterup", "2000 1 becomes master"; with_receptions adds lines like "2001 1->2
// masterup received".
std::string line(const Happening& happening);
std::string text(const Trace& trace, bool with_receptions);

}  // namespace tempo::sim
