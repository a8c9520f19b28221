// What happened in a run: as data, as text, as one number.
//
// A Trace is a list of happenings in time order. Its text is what scripts compare and people read;
// its hash is the same for the same run in every build and on any number of threads. Diagrams are
// drawn from it (lab/report). Nodes are printed from 1, as people count.
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
  received,   // peer received what node sent at `sent`
  lost,       // what node sent does not reach peer
  becomes,    // node is now in the state named by the label
  disturbed,  // a fault: node (kNobody: the network) and the fault's word
};

struct Happening {
  Instant at;
  What what;
  NodeId node;
  NodeId peer = kNobody;
  std::uint32_t number = 0;  // of the transmission: ties received and lost to sent
  Instant sent{};            // received: when it was sent
  std::string_view label;    // static text
};

class Trace {
 public:
  // A Trace that does not keep what happens still hashes it. At most kMost happenings are kept.
  explicit Trace(bool keep) : keep_(keep) {}

  void add(const Happening& happening);

  const std::vector<Happening>& happenings() const { return happenings_; }
  bool complete() const { return complete_; }  // nothing was left out for want of room
  std::uint64_t hash() const { return hash_; }

  static constexpr std::size_t kMost = 2'000'000;

 private:
  void mix(std::uint64_t value);

  bool keep_;
  bool complete_ = true;
  std::uint64_t hash_ = 0x74656d706f;
  std::vector<Happening> happenings_;
};

// Folds one more number into a hash; how the hashes of many runs become one.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value);

// "1500.25": milliseconds since the start, without needless zeros.
std::string milliseconds(Instant at);

// "2000 1->* masterup", "2000 1 becomes master"; with_receptions adds "2001 1->2 masterup
// received".
std::string line(const Happening& happening);
std::string text(const Trace& trace, bool with_receptions);

}  // namespace tempo::sim
