#include "lab/cli/arguments.h"

int main(int count, char** words) { return tempo::cli::run_lab_command_line(count, words); }
