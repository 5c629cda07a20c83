# complete.zsh LINE FOLDER - what stands on the line after Tab, in a zsh with the functions of FOLDER.
zmodload zsh/zpty
zpty z zsh -f -i
send() { zpty -w z "$1" }
# Reads until a pattern came.
read_until() {
    local more
    integer i
    for (( i = 0; i < 400; i++ )); do
        [[ $got == *$~1* ]] && return
        if zpty -r -t z more; then got+=$more; else sleep 0.02; fi
    done
}
got=
send "fpath=($2 \$fpath); autoload -U compinit; compinit -u -D; PROMPT='READY '; TERM=dumb"
read_until "READY*READY "
send "typed() { print -r -- \"<\$BUFFER>\"; zle send-break }; zle -N typed; bindkey '^X' typed; print -r -- DE''FINED"
read_until "DEFINED*READY " # what is echoed has the quotes
got=
zpty -w -n z "$1"$'\t'$'\x18'
read_until '<*>'
print -r -- ${${(M)got%%<*>}:-${${got#*<}%%>*}} | sed 's/^.*<//; s/>.*//; s/ *$//'
