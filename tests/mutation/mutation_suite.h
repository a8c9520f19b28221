// A suite of mutations: every single fault that can be built into a module on purpose
// (machine/mutation.h), with the check that must fail because of it.
//
//     constexpr MutationRow<Mutation> kRows[] = {
//         {Mutation::no_hold, "no_hold", better_for_a_moment},
//     };
//     const MutationSuite<Mutation> kSuite{"Leadership", kRows};
//
// A suite has one test for each row: the check finds nothing without the fault, and something with
// it. Another test asserts that every mutation has a row. A row that a state table lacks is a fault
// too: MutationRow<const void*>.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/mutation.h"

namespace tempo {

// A statement that is true without faults.
class MutationCheck {
 public:
  // Whether the statement holds.
  constexpr explicit(false) MutationCheck(bool (*holds)()) : holds_(holds) {}
  // The violated property, or "nothing".
  constexpr explicit(false) MutationCheck(std::string (*property)()) : broken_(property) {}

  std::string broken() const {
    if (broken_ != nullptr) return broken_();
    return holds_() ? "nothing" : "the check";
  }
  bool operator==(const MutationCheck&) const = default;

 private:
  bool (*holds_)() = nullptr;
  std::string (*broken_)() = nullptr;
};

template <class Fault>
struct MutationRow {
  Fault fault;
  std::string_view name;
  MutationCheck caught_by;
  std::string_view property{};  // that the fault violates; empty: any
};

template <class Mutation>
void inject(Mutation mutation) {
  active_mutation<Mutation> = mutation;
}
inline void inject(const void* row) { missing_row = row; }

template <class Fault>
class MutationSuite {
 public:
  enum class Lists : std::uint8_t { every_mutation, some };

  MutationSuite(const std::string& module, std::span<const MutationRow<Fault>> rows,
                Lists lists = Lists::every_mutation) {
    const std::string suite = module + "Mutations";
    for (const MutationRow<Fault>& row : rows)
      add(suite, std::string(row.name), [row] { expect_caught(row); });
    if constexpr (std::is_enum_v<Fault>)
      if (lists == Lists::every_mutation)
        add(suite, "are_all_listed", [rows] {
          for (int i = 1; i < static_cast<int>(Fault::count); ++i)
            EXPECT_GE(std::ranges::count(rows, static_cast<Fault>(i), &MutationRow<Fault>::fault),
                      1)
                << i;
        });
  }

 private:
  class Test : public testing::Test {
   public:
    explicit Test(std::function<void()> body) : body_(std::move(body)) {}
    void TestBody() override { body_(); }
    void TearDown() override { inject(Fault{}); }

   private:
    std::function<void()> body_;
  };

  static void add(const std::string& suite, const std::string& name, std::function<void()> body) {
    testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [body = std::move(body)]() -> Test* { return new Test(body); });
  }

  // The result without a fault. Several rows may have the same check, which runs once.
  static std::string without_fault(const MutationCheck& check) {
    static std::vector<std::pair<MutationCheck, std::string>> results;
    const auto known = std::ranges::find(results, check, [](const auto& one) { return one.first; });
    if (known != results.end()) return known->second;
    return results.emplace_back(check, check.broken()).second;
  }

  static void expect_caught(const MutationRow<Fault>& row) {
    EXPECT_EQ(without_fault(row.caught_by), "nothing") << "fails without the fault";
    inject(row.fault);
    const std::string broken = row.caught_by.broken();
    if (row.property.empty())
      EXPECT_NE(broken, "nothing");
    else
      EXPECT_EQ(broken, row.property);
    testing::Test::RecordProperty("broken", broken);
  }
};

}  // namespace tempo
