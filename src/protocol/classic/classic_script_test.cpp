// Every script of testdata/ is a test.
#include <gtest/gtest.h>

#include "machine/script_test_files.h"
#include "protocol/classic/classic_test_script.h"

namespace tempo::classic {
namespace {

class ClassicScript : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(ClassicScript, GivesTheAnswersWrittenInIt) {
  expect_answers(GetParam(), sim::answered_by<ScriptedClassic>);
}

INSTANTIATE_TEST_SUITE_P(Testdata, ClassicScript, ::testing::ValuesIn(scripts_in(TEMPO_TESTDATA)),
                         script_name);

}  // namespace
}  // namespace tempo::classic
