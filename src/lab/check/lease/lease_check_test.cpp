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

TEST(CheckLease, OneWriter) { expect_sound({.wishes = {kWriter0}, .lease = 8}, 1'409); }
TEST(CheckLease, OneWriterAndOneLoss) {
  expect_sound({.wishes = {kWriter0}, .budget = {.losses = 1}}, 4'848);
}
TEST(CheckLease, OneWriterAndOneCrash) {
  expect_sound({.wishes = {kWriter0}, .crashes = 1}, 34'167);
}

TEST(CheckLease, OneWriterAndMore) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.wishes = {kWriter0}, .stalls = 1}, 61'948);
  expect_sound({.wishes = {kWriter0}, .crashes = 1, .budget = {.losses = 1}}, 197'740);
  expect_sound({.wishes = {kWriter0}, .budget = {.pauses = 1}}, 1'969'530);
}
TEST(CheckLease, TwoClients) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound({.wishes = {kWriter0, kWriter1}}, 142'588);
  expect_sound({.wishes = {kWriter0, kReader1}, .comes_good = false}, 178'719);
  expect_sound({.wishes = {kWriter0, kWriter1}, .budget = {.losses = 1}, .comes_good = false},
               2'285'824);
}

}  // namespace
}  // namespace tempo::check
