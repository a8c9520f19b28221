#include <sstream>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/common/command_line.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "tempo_version.h"

namespace tempo::cli {

int run_program(const ProgramDescription& program, std::initializer_list<DescribeCommands> commands,
                int count, char** words) {
  CLI::App app(program.summary, program.name);
  app.set_version_flag("--version", std::string(program.name) + " " + kTempoVersion);
  app.require_subcommand(1);
  app.footer(std::string(program.name) + " COMMAND --help says more about each.");

  std::function<int()> run;
  for (const DescribeCommands describe : commands) describe(app, run);

  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& stop) {
    // Help and version end well; anything else is a question we cannot answer.
    std::ostringstream out;
    std::ostringstream error;
    const int status = app.exit(stop, out, error) == 0 ? kDone : kBadUsage;
    print_text(out.str());
    print_error_text(error.str());
    return status;
  }
  return run();
}

}  // namespace tempo::cli
