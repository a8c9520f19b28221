#include "cli/arguments.h"

int main(int count, char** words) { return tempo::cli::run_command_line(count, words); }
