// Keeps the ordering rule of machine.h for a driver whose writes take time: outputs that follow a
// record wait behind its write.
//
//     for (const Output<M>& output : outbox)
//       if (queue.pass(output)) carry_out(output);
//
//     while (const auto done = queue.finish(number)) {  // the write `number` is durable
//       for (const Output<M>& output : done->held) carry_out(output);
//       step(M::persisted(done->record));
//     }
//
// A later record replaces an earlier one, so the driver needs to repeat only the newest write, and
// a durable write makes all earlier ones durable. At most kMaxWrites are in progress: a further
// record takes the place of the newest. The driver bounds the outputs that wait (`held`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "machine/machine.h"

namespace tempo {

template <class M>
class WriteQueue {
 public:
  struct Write {
    std::uint64_t number = 0;
    RecordOf<M> record{};
    std::vector<Output<M>> held{};  // outputs that wait for this write
  };

  // True: carry the output out now. False: it waits, or it is a record, whose write has begun.
  bool pass(const Output<M>& output) {
    if (output.kind == OutputKind::persist) {
      begin(output.record);
      return false;
    }
    if (writes_.empty()) return true;
    writes_.back().held.push_back(output);
    ++held_;
    return false;
  }

  bool empty() const { return writes_.empty(); }
  std::size_t held() const { return held_; }
  const Write& oldest() const { return writes_.front(); }  // of a queue that is not empty
  const Write& newest() const { return writes_.back(); }

  // The oldest write up to this number, in the order of the records; unset: there is none.
  std::optional<Write> finish(std::uint64_t number) {
    if (writes_.empty() || writes_.front().number > number) return std::nullopt;
    std::optional<Write> done = std::move(writes_.front());
    writes_.pop_front();
    held_ -= done->held.size();
    return done;
  }

 private:
  static constexpr std::size_t kMaxWrites = 16;

  void begin(const RecordOf<M>& record) {
    if (writes_.size() < kMaxWrites) writes_.emplace_back();
    writes_.back().number = ++last_;
    writes_.back().record = record;
  }

  std::deque<Write> writes_;  // in progress, oldest first
  std::size_t held_ = 0;      // outputs that wait for any of them
  std::uint64_t last_ = 0;    // number of the newest write; 0: none yet
};

}  // namespace tempo
