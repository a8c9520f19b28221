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

TEST(CheckLease, OneWriter) { expect_sound({.wishes = {kWriter0}, .lease = 8}, 1'027); }
TEST(CheckLease, OneWriterAndOneLoss) {
  expect_sound({.wishes = {kWriter0}, .budget = {.losses = 1}}, 2'512);
}
TEST(CheckLease, OneWriterAndOneCrash) {
  expect_sound({.wishes = {kWriter0}, .crashes = 1}, 11'272);
}

TEST(CheckLease, OneWriterAndMore) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.wishes = {kWriter0}, .stalls = 1}, 61'948);
  expect_sound({.wishes = {kWriter0}, .crashes = 1, .budget = {.losses = 1}}, 83'399);
  expect_sound({.wishes = {kWriter0}, .budget = {.pauses = 1}}, 76'650);
}
TEST(CheckLease, TwoClients) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.wishes = {kWriter0, kWriter1}}, 108'656);
  expect_sound({.wishes = {kWriter0, kReader1}, .comes_good = false}, 148'948);
  expect_sound({.wishes = {kWriter0, kWriter1}, .budget = {.losses = 1}, .comes_good = false},
               1'718'073);
}

}  // namespace
}  // namespace tempo::check
