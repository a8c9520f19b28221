# Prints the candidates that fish offers for each command line: LINE, a tab, a candidate.
#
#   fish --no-config candidates.fish SCRIPT_OF_TEMPO SCRIPT_OF_TEMPO_LAB LINE...
source $argv[1]; and source $argv[2]; or exit 1

for line in $argv[3..-1]
  for candidate in (complete -C $line)
    printf '%s\t%s\n' $line (string split -f 1 -- \t $candidate)
  end
end
