# Completions of git-empirica for bash, also for `git empirica` where git's own are loaded.

# Completes the last of the words given: a command line that begins with git-empirica.
_git_empirica_reply() {
    local current=${!#} value about values=() shown=()
    COMPREPLY=()
    while IFS=$'\t' read -r value about; do
        values+=("$value")
        shown+=("$value${about:+  ($about)}")
    done < <(git-empirica setup --complete "$(($# - 1))" -- "$@" 2>/dev/null)
    # bash breaks words at these, and replaces what follows
    local kept=${current%"${current##*[:=]}"}
    case $COMP_TYPE in
        # what will be inserted is no place for explanations
        37 | 42) ;;
        *) [ "${#values[@]}" -le 1 ] || values=("${shown[@]}") ;;
    esac
    for value in "${values[@]}"; do
        COMPREPLY+=("${value#"$kept"}")
    done
    [ "${#values[@]}" -ne 1 ] || [ "${values[0]%[/=:.]}" = "${values[0]}" ] || compopt -o nospace 2>/dev/null
}

# Splits the line up to the cursor at white space, as completed values have none.
_git_empirica_words() {
    local line=${COMP_LINE:0:COMP_POINT} at
    read -ra words_ <<<"$line"
    [ "${line%[[:space:]]}" = "$line" ] || words_+=('')
    for ((at = 0; at < ${#words_[@]}; at++)); do
        case ${words_[at]##*/} in
            git-empirica | empirica) break ;;
        esac
    done
    words_=(git-empirica "${words_[@]:at + 1}")
}

_git-empirica() {
    local words_=()
    _git_empirica_words
    _git_empirica_reply "${words_[@]}"
}

# git's own completion calls _git_<command> for `git <command>`
_git_empirica() {
    _git-empirica
}

complete -F _git-empirica git-empirica
