// The page shows what the node would have answered.
#include "daemon/drivers/publisher.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

using Status = node::Reading::Status;

constexpr page::Moment kMoment{.raw = Instant{1000s}, .boot = 2000s, .real = 3000s};

node::Reading reading(WallTime time, Nanos doubt, Status status = Status::synchronized) {
  return {.time = time, .earliest = time - doubt, .latest = time + doubt, .status = status};
}

TEST(Publisher, ExtrapolatesLikeTheNode) {
  // 50 ppm fast; the bound grows by 1 us per second.
  const WallTime wall{500s};
  const page::Content content =
      content_of(kMoment, reading(wall, 10us), reading(wall + 1s + 50us, 11us));
  const page::Reading two_later =
      page::read(content, {.raw = kMoment.raw + 2s, .boot = kMoment.boot + 2s, .real = 3002s});
  EXPECT_EQ(two_later.status, page::Status::synchronized);
  EXPECT_EQ(two_later.time, wall + 2s + 100us);
  // One nanosecond of rounding per second, and one in the reader.
  EXPECT_EQ(two_later.latest, wall + 2s + 100us + 12us + 3ns);
  EXPECT_LE(two_later.earliest, wall + 2s + 100us - 12us - 2ns);
  EXPECT_GE(two_later.earliest, wall + 2s + 100us - 12us - 4ns);
}

TEST(Publisher, IsUnsynchronizedBeforeTheNodeIs) {
  node::Reading unknown{.time = WallTime{500s}};
  unknown.earliest = WallTime::min();
  unknown.latest = WallTime::max();
  node::Reading later = unknown;
  later.time += 1s;
  const page::Reading now = page::read(content_of(kMoment, unknown, later), kMoment);
  EXPECT_EQ(now.status, page::Status::unsynchronized);
  EXPECT_EQ(now.time, WallTime{500s});
}

TEST(Publisher, HasTheStatusOfTheNode) {
  for (const auto& [node, page] : {std::pair{Status::holdover, page::Status::holdover},
                                   std::pair{Status::synchronized, page::Status::synchronized},
                                   std::pair{Status::leads, page::Status::leads},
                                   std::pair{Status::minority, page::Status::minority},
                                   std::pair{Status::alone, page::Status::alone}}) {
    const WallTime wall{500s};
    const page::Content content =
        content_of(kMoment, reading(wall, 1us, node), reading(wall + 1s, 1us, node));
    EXPECT_EQ(page::read(content, kMoment).status, page);
  }
}

// A node that leads on a timescale that gains 50 ppm: the page follows it along the raw clock and
// changes to holdover when the publisher is gone.
TEST(Publisher, PublishesAlongRawTime) {
  char name[] = "/tmp/tempo_publisher_test_XXXXXX";
  const std::filesystem::path directory = ::mkdtemp(name);
  const std::string path = page::path_for(directory / "tempod.sock");
  const auto oscillator = sys::drifting_oscillator({.rate = 50e-6});
  const node::SyncRules rules;
  node::Sync sync({.now = oscillator->now(), .shows = WallTime{500s}}, rules);
  Outbox<node::Sync> outbox;
  Stream chance(1, 0, 0);
  StreamDraw draw(chance);
  Turn<node::Sync> turn{oscillator->now(), draw, outbox};
  sync.command(turn, node::Lead{});
  {
    Publisher publisher(*page::Writer::open(path));
    publisher.publish(*oscillator,
                      {.reading = [&](Instant at, Nanos) { return sync.reading(at); }});
    const auto reader = page::Reader::open(path);
    ASSERT_TRUE(reader) << reader.error();
    const WallTime before = sync.steered_clock().at(oscillator->now());
    const page::Reading now = reader->now();
    const WallTime after = sync.steered_clock().at(oscillator->now());
    EXPECT_EQ(now.status, page::Status::leads);
    EXPECT_LE(before - 10ns, now.time);
    EXPECT_LE(now.time, after + 10ns);
  }
  EXPECT_EQ(page::Reader::open(path)->now().status, page::Status::holdover);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tempo::daemon
