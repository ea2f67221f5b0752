package self

import (
	"bytes"
)

// bashWords stands for what cobra's script takes from the package bash-completion, which containers
// and small systems don't have. Where it is there, the script still uses it.
const bashWords = `    # bash splits words at the characters of COMP_WORDBREAKS; "=" and ":" belong to words here
    local i word gap left=${COMP_LINE:0:COMP_POINT}
    COMPREPLY=() words=() cword=0
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        gap=${left%%[![:space:]]*}
        left=${left#"$gap"}
        if [[ $left == "$word"* ]]; then
            left=${left#"$word"}
        elif ((i == COMP_CWORD)); then # the cursor is inside of it
            word=$left
        fi
        if ((i > 0)) && [[ -z $gap && ( $word == [=:]* || ${words[cword]} == *[=:] ) ]]; then
            words[cword]+=$word
        else
            cword=${#words[@]}
            words[cword]=$word
        fi
    done
    cur=${words[cword]}
    prev=
    if ((cword > 0)); then
        prev=${words[cword-1]}
    fi
`

// bashFiles completes names of files: all, those with one of the endings "tar.gz|tgz|", or folders
// with -d.
const bashFiles = `
__rdmactl_filedir()
{
    if declare -F _filedir >/dev/null 2>&1; then
        _filedir "$@"
        return
    fi
    local IFS='|' name ending
    COMPREPLY=()
    while IFS='' read -r name; do
        if [[ -d ${name/#\~/$HOME} || $# -eq 0 ]]; then
            COMPREPLY+=("$name")
        elif [[ $1 != -d ]]; then
            for ending in $1; do
                [[ $name == *".$ending" ]] && COMPREPLY+=("$name")
            done
        fi
    done < <(compgen -f -- "$cur")
    if [[ $(type -t compopt) == builtin ]]; then
        compopt -o filenames
    fi
}
`

// withoutPackage makes cobra's script for bash work where bash-completion isn't installed.
func withoutPackage(script []byte) []byte {
	replace := func(old, with string) { script = bytes.ReplaceAll(script, []byte(old), []byte(with)) }
	replace("    COMPREPLY=()\n    _get_comp_words_by_ref \"$@\" cur prev words cword\n", bashWords)
	replace(`# Macs have bash3 for which the bash-completion package doesn't include
# _init_completion. This is a minimal version of that function.
`, "# For systems without the package bash-completion.\n")
	replace(`"_filedir `, `"__rdmactl_filedir `)
	replace(" _filedir -d", " __rdmactl_filedir -d")
	replace(" _filedir\n", " __rdmactl_filedir\n")
	replace("\n__rdmactl_init_completion()\n", bashFiles+"\n__rdmactl_init_completion()\n")
	return script
}
