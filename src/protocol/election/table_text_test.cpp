#include "protocol/election/table_text.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace tempo::election {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Position of the text between the two marks of a generated section; npos: not found.
struct Section {
  std::size_t from = std::string::npos;
  std::size_t to = std::string::npos;
};
Section section_of(const std::string& document, const std::string& name) {
  const std::string begin = "<!-- generated: " + name + " -->\n";
  const std::size_t from = document.find(begin);
  const std::size_t to = document.find("<!-- end: " + name + " -->", from);
  if (from == std::string::npos || to == std::string::npos) return {};
  return {from + begin.size(), to};
}

void expect_section(const std::string& name, const std::string& generated) {
  std::string document = file_text(TEMPO_ELECTION_DOC);
  const Section section = section_of(document, name);
  ASSERT_NE(section.from, std::string::npos) << "doc/internals/election.md has no section " << name;
  if (std::getenv("TEMPO_REWRITE") != nullptr) {
    document.replace(section.from, section.to - section.from, generated);
    std::ofstream(TEMPO_ELECTION_DOC, std::ios::binary) << document;
    return;
  }
  EXPECT_EQ(document.substr(section.from, section.to - section.from), generated)
      << "run tools/rewrite";
}

TEST(TableText, DiagramInTheDocumentMatchesTheTable) {
  expect_section("diagram", "```mermaid\n" + state_diagram() + "```\n");
}

TEST(TableText, TablesInTheDocumentMatchTheTable) { expect_section("tables", table_markdown()); }

TEST(TableText, HasTheEdgesOfThePaper) {
  // Figure 3 of the paper: a candidate becomes master when no more Accepts arrive.
  const std::string diagram = state_diagram();
  EXPECT_NE(diagram.find("candidate --> master: candidate_timeout"), std::string::npos);
  EXPECT_NE(diagram.find("no_master --> master: no_master_timeout"), std::string::npos);
  EXPECT_EQ(diagram.find("accept --> master"), std::string::npos);
}

}  // namespace
}  // namespace tempo::election
