# Prints the candidates that zsh offers for each command line: LINE, a tab, a candidate.
#
#   zsh -f candidates.zsh HOW SCRIPT_OF_TEMPO SCRIPT_OF_TEMPO_LAB LINE...     HOW: source or autoload
#
# Completion works only in an interactive shell: a second zsh runs on a pseudo-terminal and completes each line
# that this one types there. Its `compadd` writes the candidates to a file.
zmodload zsh/zpty || exit 1
how=$1 tempo=${2:a} lab=${3:a}
shift 3
directory=$(mktemp -d) || exit 1
trap 'rm -rf $directory' EXIT
export found=$directory/found

mkdir $directory/functions
if [[ $how == autoload ]]; then
  cp $tempo $directory/functions/_tempo && cp $lab $directory/functions/_tempo-lab || exit 1
  load=
else
  load="source ${(q)tempo}; source ${(q)lab}"
fi

cat >$directory/setup <<END
PS1= PS2=
unsetopt beep zle_bracketed_paste prompt_sp 2>/dev/null
fpath=($directory/functions \$fpath)
autoload -U compinit && compinit -u -d $directory/dump
$load
compadd() {
  # -O, -A, -D: the caller wants the matches in an array.
  if [[ \${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    local -a hits
    builtin compadd -A hits "\$@"
    (( \$#hits )) && print -rl -- \$hits >>\$found
  fi
  builtin compadd "\$@"
}
complete_and_report() { _main_complete; print -n '<completed>' }
zle -C report list-choices complete_and_report
bindkey '^I' report
bindkey '^U' kill-whole-line
print '<''ready>'
END

zpty shell zsh -f -i || exit 1
zpty -w shell source ${(q)directory}/setup
zpty -r shell output '*<ready>*' || exit 1
for line; do
  : >$found
  zpty -w -n shell $'\C-u'$line$'\t'
  zpty -r shell output '*<completed>*' || exit 1
  while read -r candidate; do print -r -- $line$'\t'$candidate; done <$found
done
zpty -d shell
