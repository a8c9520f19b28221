#include "cli/arguments.h"

int main(int argc, char** argv) { return tempo::cli::run_command_line(argc, argv); }
