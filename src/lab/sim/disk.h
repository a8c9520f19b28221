// The simulated disk of one node: records in the order in which the machine persisted them, and the
// outputs that wait for them (the ordering rule of machine/machine.h).
//
// A write takes time. A crash loses the writes in progress, except a prefix; the last of that
// prefix may be torn. A disk that is full or read-only completes no write until it works again. A
// restart reads the newest record that survived, or learns that the file is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "machine/machine.h"

namespace tempo::sim {

template <class M>
class Disk {
 public:
  using Record = RecordOf<M>;
  enum class File : std::uint8_t { absent, good, damaged };

  File file() const { return file_; }
  const Record& record() const { return record_; }  // valid if the file is good
  // The record before it; unset: there was none.
  const std::optional<Record>& previous() const { return previous_; }
  std::size_t writing() const { return writes_.size(); }
  bool works() const { return works_; }

  void set(const Record& record) {
    if (file_ == File::good) previous_ = record_;
    file_ = File::good;
    record_ = record;
  }
  void damage() { file_ = File::damaged; }
  void lose() { file_ = File::absent; }
  void set_works(bool works) { works_ = works; }

  // --- for the World ---

  // A write in progress, and the outputs that must not leave the host before it is durable.
  void begin(const Record& record) {
    CHECK(writes_.size() < kMaxWrites);
    writes_.push_back({record, {}});
  }
  void hold(const Output<M>& output) { writes_.back().held.push_back(output); }

  struct Write {
    Record record{};
    std::vector<Output<M>> held{};
  };
  // The oldest write is durable.
  Write finish() {
    CHECK(!writes_.empty());
    Write done = std::move(writes_.front());
    writes_.pop_front();
    set(done.record);
    return done;
  }
  // The host loses power or the daemon dies: of the writes in progress the first `kept` reach the
  // disk; if `torn`, the next one destroys the file.
  void crash(std::size_t kept, bool torn) {
    for (std::size_t i = 0; i < kept && i < writes_.size(); ++i) set(writes_[i].record);
    if (torn && kept < writes_.size()) damage();
    writes_.clear();
  }

 private:
  static constexpr std::size_t kMaxWrites = 4096;

  File file_ = File::absent;
  Record record_{};
  std::optional<Record> previous_;
  bool works_ = true;
  std::deque<Write> writes_;
};

}  // namespace tempo::sim
