#include "base/table.h"

#include <gtest/gtest.h>

namespace tempo::report {
namespace {

TEST(Table, ColumnsFitTheirWidestCell) {
  Table table({"what", {"value", Align::right}, "note"});
  table.row({"messages", "1,234", "all of them"});
  table.row({"lost", "7"});
  table.rule();
  table.row({"sum", "1,241", "x"});
  EXPECT_EQ(table.text(),
            "what      value  note\n"
            "────────  ─────  ───────────\n"
            "messages  1,234  all of them\n"
            "lost          7\n"
            "────────  ─────  ───────────\n"
            "sum       1,241  x\n");
}

TEST(Table, DrawsRulesWithHyphensOrOmitsThem) {
  Table table({"a", "bb"});
  table.row({"1", "2"});
  EXPECT_EQ(table.text({.unicode = false}), "a  bb\n-  --\n1  2\n");
  EXPECT_EQ(table.text({.rules = false, .indent = 2}), "  a  bb\n  1  2\n");
}

TEST(Table, AlignsWideCharacters) {
  Table table({"name", "n"});
  table.row({"né", "1"});
  table.row({"時計台", "2"});
  EXPECT_EQ(table.text({.rules = false}), "name    n\nné      1\n時計台  2\n");
}

TEST(TableDeath, MoreCellsThanColumns) {
  Table table({"a", "b"});
  EXPECT_DEATH(table.row({"1", "2", "3"}), "cells.size");
}

}  // namespace
}  // namespace tempo::report
