#include "machine/write_queue.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tempo {
namespace {

struct Writer {
  using Message = int;
  using Notice = std::string;
  using Record = int;
};

class Driver {
 public:
  void carry_out(const Output<Writer>& output) {
    if (output.kind == OutputKind::notice)
      left_.push_back(output.notice);
    else
      left_.push_back(std::to_string(output.message));
  }
  void add(const Outbox<Writer>& outbox) {
    for (const Output<Writer>& output : outbox)
      if (queue_.pass(output)) carry_out(output);
  }
  void finish(std::uint64_t number) {
    while (const auto done = queue_.finish(number)) {
      for (const Output<Writer>& output : done->held) carry_out(output);
      left_.push_back("persisted " + std::to_string(done->record));
    }
  }
  std::vector<std::string> left() { return std::exchange(left_, {}); }
  const WriteQueue<Writer>& queue() const { return queue_; }

 private:
  WriteQueue<Writer> queue_;
  std::vector<std::string> left_;
};

using Texts = std::vector<std::string>;

TEST(WriteQueue, OutputsWaitForTheRecordBeforeThem) {
  Driver driver;
  Outbox<Writer> outbox;
  outbox.broadcast(1);
  outbox.persist(100);
  outbox.broadcast(2);
  outbox.persist(200);
  outbox.notify("three");
  driver.add(outbox);
  EXPECT_EQ(driver.left(), Texts{"1"});
  EXPECT_EQ(driver.queue().held(), 2U);
  outbox.clear();
  outbox.send(NodeId{1}, 4);  // of a later step
  driver.add(outbox);
  EXPECT_EQ(driver.left(), Texts{});
  driver.finish(1);
  EXPECT_EQ(driver.left(), (Texts{"2", "persisted 100"}));
  driver.finish(1);
  EXPECT_EQ(driver.left(), Texts{});
  driver.finish(2);
  EXPECT_EQ(driver.left(), (Texts{"three", "4", "persisted 200"}));
  EXPECT_TRUE(driver.queue().empty());
  EXPECT_EQ(driver.queue().held(), 0U);
  driver.add(outbox);
  EXPECT_EQ(driver.left(), Texts{"4"});
}

TEST(WriteQueue, ADurableWriteMakesEarlierOnesDurable) {
  Driver driver;
  Outbox<Writer> outbox;
  outbox.persist(100);
  outbox.broadcast(1);
  outbox.persist(200);
  driver.add(outbox);
  EXPECT_EQ(driver.queue().newest().number, 2U);
  driver.finish(2);
  EXPECT_EQ(driver.left(), (Texts{"1", "persisted 100", "persisted 200"}));
}

// A disk that hangs keeps a bounded number of records; nothing leaves before the newest is durable.
TEST(WriteQueue, IsBounded) {
  Driver driver;
  for (int i = 1; i <= 100; ++i) {
    Outbox<Writer> outbox;
    outbox.persist(i);
    outbox.broadcast(i);
    driver.add(outbox);
  }
  driver.finish(15);
  EXPECT_EQ(driver.left().size(), 30U);
  driver.finish(99);
  EXPECT_EQ(driver.left(), Texts{});
  EXPECT_EQ(driver.queue().newest().record, 100);
  driver.finish(100);
  EXPECT_EQ(driver.left().size(), 86U) << "85 messages and the newest record";
  EXPECT_TRUE(driver.queue().empty());
}

}  // namespace
}  // namespace tempo
