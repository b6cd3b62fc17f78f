#include <map>

#include "cli/tree/completion.h"

namespace evenkeel::cli {
namespace {

// Bash takes = and : for words of their own: they are put together again for the program, and what bash does not see as part
// of the last word is taken off its answers.
constexpr const char* kBash = R"(# bash completion of evenkeel: source <(evenkeel completion bash)
_evenkeel() {
  local words=() lines=() word line own prefix directive i
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]} > 0)) && [[ $word == [=:]* || ${words[-1]} == *[=:] ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  own=${COMP_WORDS[COMP_CWORD]}
  [[ $own == [=:]* ]] && own=
  prefix=${words[-1]%"$own"}
  mapfile -t lines < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" 2>/dev/null)
  COMPREPLY=()
  ((${#lines[@]} > 0)) || return 0
  directive=${lines[-1]}
  unset 'lines[-1]'
  for line in "${lines[@]}"; do
    line=${line%%$'\t'*}
    COMPREPLY+=("${line#"$prefix"}")
  done
  case $directive in
    :0) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$own") ;;
    :16) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$own") ;;
    *)
      # What ends so is only the beginning of a value.
      [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
      return 0
      ;;
  esac
  # Not within a completion (a test that calls the function) there is nothing to set.
  compopt -o filenames 2>/dev/null || true
}
complete -F _evenkeel evenkeel
)";

constexpr const char* kZsh = R"(#compdef evenkeel
# zsh completion of evenkeel: a file named _evenkeel in a directory of $fpath, or source <(evenkeel completion zsh)
_evenkeel() {
  local -a lines candidates
  local line directive help
  lines=("${(@f)$("${(Q)${~words[1]}}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  directive=${lines[-1]}
  lines[-1]=()
  for line in $lines; do
    help=
    [[ $line == *$'\t'* ]] && help=:${line#*$'\t'}
    candidates+=("${${line%%$'\t'*}//:/\\:}$help")
  done
  (( $#candidates )) && _describe -V evenkeel candidates
  [[ $words[CURRENT] == --*=* ]] && compset -P '*='
  case $directive in
    :0) _files ;;
    :16) _files -/ ;;
  esac
}
if [[ ${funcstack[1]} == _evenkeel ]]; then
  _evenkeel "$@"
else
  compdef _evenkeel evenkeel
fi
)";

constexpr const char* kFish = R"(# fish completion of evenkeel: evenkeel completion fish | source
function __evenkeel_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lines ($program __complete $words "$token" 2>/dev/null)
    set -l directive $lines[-1]
    set -e lines[-1]
    test (count $lines) -gt 0; and printf '%s\n' $lines
    set -l flag (string match -r -- '^--[^=]*=' "$token")
    set -l value (string replace -r -- '^--[^=]*=' '' "$token")
    switch "$directive"
        case :0
            __fish_complete_path "$value" | string replace -r -- '^' "$flag"
        case :16
            __fish_complete_directories "$value" | string replace -r -- '^' "$flag"
    end
end
complete -c evenkeel -e
complete -c evenkeel -f -a '(__evenkeel_complete)'
)";

}  // namespace

base::Result<std::string> CompletionScript(const std::string& shell) {
  static const std::map<std::string, const char*> kScripts{{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};
  const auto found = kScripts.find(shell);
  if (found != kScripts.end()) return std::string(found->second);
  return base::Fail(base::Code::kBadRequest, "there is no completion for " + shell + ": there are bash, zsh and fish");
}

}  // namespace evenkeel::cli
