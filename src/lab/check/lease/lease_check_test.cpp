// Every interleaving of small worlds of a lease lock.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "lab/check/explore.h"
#include "lab/check/lease/lease_model.h"
#include "lab/check/testing/expect.h"

namespace tempo::check {
namespace {

using lock::Mode;

// Every search has a bound; none comes near it.
constexpr std::size_t kMemory = std::size_t{8} << 30;

void expect_sound(const LeaseWorld& world, std::uint64_t at_least) {
  check::expect_sound(
      in_space(world,
               [](Space<LeaseModel>& space) {
                 return Search<LeaseModel>(space, {.memory = kMemory, .fingerprints = true}).run();
               }),
      at_least);
}

constexpr std::pair<NodeId, Mode> kWriter0{NodeId{0}, Mode::exclusive};
constexpr std::pair<NodeId, Mode> kWriter1{NodeId{1}, Mode::exclusive};
constexpr std::pair<NodeId, Mode> kReader1{NodeId{1}, Mode::shared};
constexpr std::pair<NodeId, Mode> kReader2{NodeId{2}, Mode::shared};

TEST(CheckLease, OneWriter) { expect_sound({.wishes = {kWriter0}, .lease = 8}, 1'027); }
TEST(CheckLease, OneWriterAndOneLoss) {
  expect_sound({.wishes = {kWriter0}, .budget = {.losses = 1}}, 2'512);
}
TEST(CheckLease, OneWriterAndOneCrash) {
  expect_sound({.wishes = {kWriter0}, .crashes = 1}, 16'297);
}
TEST(CheckLease, OneWriterAndOnePause) {
  expect_sound({.wishes = {kWriter0}, .budget = {.pauses = 1}, .orderly = true}, 2'712);
}
TEST(CheckLease, TwoClientsInOrder) {
  expect_sound({.wishes = {kWriter0, kWriter1}, .orderly = true}, 4'092);
  expect_sound({.wishes = {kWriter0, kReader1}, .orderly = true}, 5'390);
}

constexpr std::pair<NodeId, NodeId> kSite0Changes2{NodeId{0}, NodeId{2}};
constexpr std::pair<NodeId, NodeId> kSite1Changes2{NodeId{1}, NodeId{2}};
constexpr std::pair<NodeId, NodeId> kSite1Changes0{NodeId{1}, NodeId{0}};

TEST(CheckLease, AWriterAndAChangeOfTheView) {
  expect_sound({.wishes = {kWriter0}, .changes = {kSite1Changes2}, .orderly = true}, 7'565);
  expect_sound({.voters = 2, .wishes = {kWriter0}, .changes = {kSite1Changes2}, .orderly = true},
               4'765);
}
TEST(CheckLease, TwoChangesOfTheView) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.changes = {kSite0Changes2, kSite1Changes0}, .orderly = true}, 36'308);
  expect_sound({.changes = {kSite0Changes2, kSite1Changes0},
                .budget = {.losses = 1},
                .orderly = true,
                .comes_good = false},
               1'161'576);
  expect_sound({.wishes = {kWriter0}, .changes = {kSite1Changes2}, .crashes = 1, .orderly = true},
               315'597);
}

// With a lease of 8 ticks a crash makes a difference to exclusion: leases of 5 are over before
// anybody who lost its memory could be asked.
TEST(CheckLease, OneWriterAndMore) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.wishes = {kWriter0}, .crashes = 1, .budget = {.losses = 1}}, 118'446);
  expect_sound({.wishes = {kWriter0}, .budget = {.pauses = 1}}, 70'954);
  expect_sound({.wishes = {kWriter0, kWriter0},
                .lease = 8,
                .crashes = 1,
                .budget = {.losses = 1},
                .orderly = true},
               745'779);
}
// A loss, a crash with a restart and a pause of any length, each at any time and at any site. The
// writer of the dead daemon goes on while the one of its next life asks.
TEST(CheckLease, ALossACrashAndAPauseTogether) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.wishes = {kWriter0, kWriter0},
                .lease = 8,
                .crashes = 1,
                .budget = {.losses = 1, .pauses = 1},
                .orderly = true},
               41'137'397);
}
TEST(CheckLease, TwoClients) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.wishes = {kWriter0, kWriter1}}, 108'656);
  expect_sound({.wishes = {kWriter0, kReader1}}, 148'948);
  expect_sound({.wishes = {kWriter0, kWriter1}, .budget = {.losses = 1}}, 1'718'073);
}
TEST(CheckLease, TwoClientsInOrderAndMore) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.wishes = {kWriter0, kWriter1}, .lease = 8, .crashes = 1, .orderly = true},
               818'148);
  expect_sound({.wishes = {kWriter0, kWriter1}, .budget = {.pauses = 1}, .orderly = true},
               2'132'372);
  expect_sound({.wishes = {kWriter0, kReader1, kReader2}, .orderly = true}, 228'310);
}

}  // namespace
}  // namespace tempo::check
