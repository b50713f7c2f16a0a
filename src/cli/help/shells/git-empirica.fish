# Completions of git-empirica for fish.

function __git_empirica_complete
    set -l words (commandline -opc) (commandline -ct)
    # `git … empirica` is the program
    if string match -qr '(^|/)git$' -- $words[1]
        set -l at (contains -i -- empirica $words)
        or return
        set words git-empirica $words[(math $at + 1)..-1]
    end
    git-empirica setup --complete (math (count $words) - 1) -- $words 2>/dev/null
end

complete -c git-empirica -f -a '(__git_empirica_complete)'
complete -c git -n '__fish_git_needs_command' -f -a empirica -d 'Keep what agents learned as git notes'
complete -c git -n '__fish_git_using_command empirica' -f -a '(__git_empirica_complete)'
