// Setting network time by hand: the timescale generation, and the request to the master.
//
// The generation counts how often network time was set. A follower repeats its request until an
// echo has a higher generation, for two seconds at most. A node that receives a request carries it out as master, or asks
// its own master, once per request.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/node_map.h"
#include "protocol/sync/sync_messages.h"
#include "protocol/sync/sync_step.h"

namespace tempo::node {

class TimeSetter {
 public:
  std::uint32_t generation() const { return generation_; }
  // The generation sent to followers; also counts the steps of pass_on_step.
  std::uint32_t announced() const { return generation_ + passed_on_; }
  void pass_on_step() { ++passed_on_; }

  void ask(SyncStep& step, NodeId master, Nanos by);
  void repeat(SyncStep& step, NodeId master);
  // Whether this request is for the announced generation and new.
  bool accepts(NodeId from, const SetTime& request);
  // This node has set network time.
  void on_set() { ++generation_; }
  // The master has announced its generation. True: it is a new one, and the request is done.
  bool adopt(SyncStep& step, std::uint32_t announced);

 private:
  std::uint32_t generation_ = 0;  // number of times that network time was set by hand
  std::uint32_t passed_on_ = 0;   // steps of our clock that our followers must make too
  SetTime request_{};             // the last one; its generation is filled in when it is sent
  std::uint32_t sends_left_ = 0;  // of the request
  NodeMap<std::uint32_t> done_;   // number of the last request carried out, by sender
};

}  // namespace tempo::node
