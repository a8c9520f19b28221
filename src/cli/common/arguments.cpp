#include <algorithm>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>

#include "base/closest.h"
#include "cli/common/arguments_completion.h"
#include "cli/common/command_line.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "tempo_version.h"

namespace tempo::cli {
namespace {

CLI::App* subcommand(const CLI::App& app, const std::string& name) {
  std::vector<const CLI::App*> all = app.get_subcommands([](const CLI::App*) { return true; });
  const auto found =
      std::ranges::find_if(all, [&](const CLI::App* one) { return one->get_name() == name; });
  return found == all.end() ? nullptr : const_cast<CLI::App*>(*found);
}

// The deepest command that the words name.
CLI::App* command_of(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* deepest = &app;
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.starts_with('-')) continue;
    CLI::App* below = subcommand(*deepest, word);
    if (below == nullptr) break;
    deepest = below;
  }
  return deepest;
}

std::string path_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : path_of(*parent) + " " + app.get_name();
}

// "Usage: ..." and the first example of its help.
std::string usage_of(const CLI::App& app) {
  std::string help = app.help(app.get_parent() == nullptr ? "" : path_of(*app.get_parent()));
  std::string text;
  if (const auto at = help.find("Usage:"); at != std::string::npos)
    text = help.substr(at, help.find('\n', at) - at) + '\n';
  const std::string footer = app.get_footer();
  if (const auto at = footer.find("Examples:\n"); at != std::string::npos) {
    std::string example = footer.substr(at + 10);
    example = example.substr(0, example.find('\n'));
    example.erase(0, example.find_first_not_of(' '));
    text += "Example: " + example + '\n';
  }
  return text + fmt::format("See '{} --help'.\n", path_of(app));
}

// " (did you mean 'status'?)" for the first word that no command or option has; else nothing.
std::string suggestion(CLI::App& command, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(below->get_name());
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string_view head = std::string_view(word).substr(0, word.find('='));
    const std::vector<std::string>& known = word.starts_with("--") ? options : names;
    if (std::ranges::find(known, head) != known.end()) continue;
    if (word.starts_with('-') != word.starts_with("--")) continue;
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    if (const std::size_t meant = closest(head, candidates); meant != candidates.size())
      return fmt::format(" (did you mean '{}'?)", candidates[meant]);
  }
  return "";
}

// Messages of CLI11, in our words.
std::string message_of(const CLI::ParseError& error, const CLI::App& command,
                       const std::vector<std::string>& words) {
  const std::string message = error.what();
  const bool has_commands = !command.get_subcommands([](const CLI::App*) { return true; }).empty();
  if (message.contains("not expected") || (has_commands && message.contains("required"))) {
    for (const std::string& word : words) {
      if (word == "--") break;
      const std::string name = word.substr(0, word.find('='));
      if (word.starts_with("--") && command.get_option_no_throw(name) == nullptr)
        return fmt::format("unknown option '{}'", name);
      if (!word.starts_with('-') && command.get_parent() == nullptr &&
          subcommand(command, word) == nullptr)
        return fmt::format("unknown command '{}'", word);
    }
    if (has_commands) return "a command is missing";
  }
  return message;
}

// `tempo help lock` is `tempo lock --help`, `tempo help` is `tempo --help`.
std::vector<std::string> rewritten(std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

void describe_completion(CLI::App& app, std::function<int()>& run) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "print a completion script for a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")->required();
  command->footer(
      fmt::format("Examples:\n"
                  "  {0} completion bash > /etc/bash_completion.d/{0}\n"
                  "  {0} completion zsh > /usr/local/share/zsh/site-functions/_{0}\n"
                  "  {0} completion fish > ~/.config/fish/completions/{0}.fish",
                  app.get_name()));
  command->callback([&app, &run, shell] {
    run = [&app, shell] {
      const std::string script = completion_script(app, *shell);
      if (script.empty()) {
        print_error("{}: unknown shell '{}'; use bash, zsh or fish\n", app.get_name(), *shell);
        return kBadUsage;
      }
      print_text(script);
      return kDone;
    };
  });
}

// Help that fits into 100 columns: descriptions of options continue below their first word.
class NarrowHelp : public CLI::Formatter {
 public:
  NarrowHelp() {
    label("REQUIRED", "");
    column_width(kLeft);
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text;
    std::size_t column = 0;
    std::istringstream words(option->get_description());
    for (std::string word; words >> word;) {
      if (column > 0 && column + 1 + word.size() > kRight) {
        text += '\n';
        column = 0;
      }
      if (column > 0) text += ' ';
      text += word;
      column += word.size() + (column > 0 ? 1 : 0);
    }
    return text;
  }

 private:
  static constexpr std::size_t kLeft = 30;            // columns of names
  static constexpr std::size_t kRight = 100 - kLeft;  // columns of descriptions
};

}  // namespace

int run_program(const ProgramDescription& program, int argc, char** argv) {
  const std::string name = program.name;
  CLI::App app(program.summary, name);
  app.formatter(std::make_shared<NarrowHelp>());
  app.get_help_ptr()->description("print this help and exit");
  app.set_version_flag("-V,--version", version_line(name));
  app.require_subcommand(1);
  app.footer(fmt::format("'{0} help COMMAND' or '{0} COMMAND --help' explains a command.", name));

  std::function<int()> run;
  for (const DescribeCommands describe : program.commands) describe(app, run);
  describe_completion(app, run);
  for (const Topic& topic : program.topics)
    for (const char* command : topic.commands) app.get_subcommand(command)->group(topic.heading);

  const std::vector<std::string> given = rewritten({argv + 1, argv + argc});
  const auto end = std::ranges::find(given, "--");
  const std::string first = given.empty() ? "" : given.front();
  JsonScope scope(std::find(given.begin(), end, "--json") != end,
                  std::ranges::find(program.wrappers, first) != program.wrappers.end()
                      ? JsonStream::standard_error
                      : JsonStream::standard_output);
  for (const RemovedCommand& removed : program.removed)
    if (removed.name == first) {
      print_error("{}: {}\n", name, removed.message);
      return scope.finish(kBadUsage);
    }
  try {
    app.parse(std::vector<std::string>{given.rbegin(), given.rend()});
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() == 0) {
      std::ostringstream out;
      app.exit(stop, out, out);
      print_text(out.str());
      return kDone;
    }
    CLI::App* command = command_of(app, given);
    print_error("{}: {}{}\n", path_of(*command), message_of(stop, *command, given),
                suggestion(*command, given));
    if (!scope.json()) print_error_text(usage_of(*command));
    return scope.finish(kBadUsage);
  }
  return scope.finish(run());
}

}  // namespace tempo::cli
