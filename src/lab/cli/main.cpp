#include "lab/cli/arguments.h"

int main(int argc, char** argv) { return tempo::cli::run_lab_command_line(argc, argv); }
