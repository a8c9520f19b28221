# Prints the candidates that bash offers for each command line: LINE, a tab, a candidate.
#
#   bash --norc --noprofile candidates.bash SCRIPT_OF_TEMPO SCRIPT_OF_TEMPO_LAB LINE...
source "$1" && source "$2" || exit 1
shift 2

for line; do
  read -ra COMP_WORDS <<<"$line"
  [[ $line == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  # "complete -o default -F _tempo tempo"
  registered=$(complete -p "${COMP_WORDS[0]}") || exit 1
  function=${registered##*-F }
  COMPREPLY=()
  "${function%% *}" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  if ((${#COMPREPLY[@]} == 0)) && [[ $registered == *'-o default'* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
  fi
  for candidate in "${COMPREPLY[@]}"; do printf '%s\t%s\n' "$line" "$candidate"; done
done
