#include "daemon/drivers/runtime.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "machine/one_timer.h"

namespace tempo::daemon {
namespace {

using ::testing::ElementsAre;

// Writes a record for every command above zero and confirms it; a negative command only sends. Its
// timer rings once.
class Toy {
 public:
  using Message = int;
  using Notice = int;
  using Command = int;
  using Record = int;
  static Command persisted(const Record& record) { return 1000 + record; }
  static bool may_be_lost(const Output<Toy>& output) { return output.kind == OutputKind::send; }

  void start(Turn<Toy>& turn) { due_ = turn.now + 10ms; }
  void receive(Turn<Toy>& turn, NodeId from, const Message& message) {
    turn.out.send(from, message);
  }
  void on_timer(Turn<Toy>& turn, TimerId /*timer*/) {
    if (turn.now < due_) return;
    due_ = kNever;
    turn.out.notify(7);
  }
  void command(Turn<Toy>& turn, const Command& command) {
    if (command >= 1000) return turn.out.notify(command);
    if (command > 0) turn.out.persist(command);
    turn.out.send(NodeId{0}, command);
  }
  OneTimer<Instant> timers() const { return OneTimer{due_}; }
  static const char* check() { return nullptr; }

 private:
  Instant due_ = kNever;
};

struct HandClock {
  Instant* time;
  Instant now() const { return *time; }
};

class RuntimeTest : public ::testing::Test {
 protected:
  void carry_out(const Output<Toy>& output) {
    if (output.kind == OutputKind::notice)
      done_.push_back("notice " + std::to_string(output.notice));
    else
      done_.push_back("send " + std::to_string(output.message));
    if (answer_ && output.kind == OutputKind::notice) runtime_.command(*std::exchange(answer_, {}));
  }

  Instant now_{1s};
  Stream stream_{1, 0, 0};
  StreamDraw draw_{stream_};
  std::vector<std::string> done_;
  std::vector<std::uint64_t> writes_;
  std::optional<int> answer_;  // command to give from inside the next notice
  Runtime<Toy, HandClock> runtime_{
      Toy{},
      HandClock{&now_},
      draw_,
      {.carry_out = [this](const Output<Toy>& output) { carry_out(output); },
       .write = [this](std::uint64_t number, int /*record*/) { writes_.push_back(number); }}};
};

TEST_F(RuntimeTest, HoldsOutputsUntilTheRecordIsDurable) {
  runtime_.command(5);
  runtime_.receive(NodeId{1}, 6);
  EXPECT_THAT(writes_, ElementsAre(1U));
  EXPECT_THAT(done_, ElementsAre());
  runtime_.finish_write(1);
  EXPECT_THAT(done_, ElementsAre("send 5", "send 6", "notice 1005"));
}

TEST_F(RuntimeTest, RepeatsOnlyTheNewestWrite) {
  runtime_.command(1);
  runtime_.command(2);
  runtime_.repeat_write();
  EXPECT_THAT(writes_, ElementsAre(1U, 2U, 2U));
  runtime_.finish_write(2);
  EXPECT_THAT(done_, ElementsAre("send 1", "send 2", "notice 1001", "notice 1002"))
      << "the first confirmation follows the second record";
  runtime_.repeat_write();
  EXPECT_EQ(writes_.size(), 3U) << "nothing is left to write";
}

// A client that answers a notice at once must not step the machine while its outputs are carried
// out.
TEST_F(RuntimeTest, TakesACommandFromInsideAnOutputAfterAllOutputs) {
  runtime_.start();
  answer_ = -3;
  now_ += 10ms;
  runtime_.wake();
  EXPECT_THAT(done_, ElementsAre("notice 7"));
  EXPECT_LE(runtime_.deadline(), now_) << "the command waits for the next round";
  runtime_.wake();
  EXPECT_THAT(done_, ElementsAre("notice 7", "send -3"));
}

TEST_F(RuntimeTest, RunsTimersWhenTheyAreDue) {
  runtime_.start();
  EXPECT_EQ(runtime_.deadline(), now_ + 10ms);
  runtime_.wake();
  EXPECT_THAT(done_, ElementsAre());
  now_ += 10ms;
  runtime_.wake();
  EXPECT_THAT(done_, ElementsAre("notice 7"));
  EXPECT_EQ(runtime_.deadline(), kNever);
}

// A disk that never answers must not fill the memory.
TEST_F(RuntimeTest, DropsMessagesThatMayBeLostBehindAStuckWrite) {
  runtime_.command(1);
  for (int i = 0; i < 5000; ++i) runtime_.receive(NodeId{1}, 2);
  runtime_.finish_write(1);
  EXPECT_EQ(done_.size(), 4096U + 1U);
}

}  // namespace
}  // namespace tempo::daemon
