#!/bin/sh
# Refuses edits to protected paths. Reads the hook's JSON from stdin.
#   exit 2 + one line on stderr: the path is protected
#   exit 0, silent:              everything else
# An input it cannot read at all (no awk) is refused as well: a guard that cannot look must not nod.
# Needs a POSIX sh and awk, nothing more.

LC_ALL=C
export LC_ALL
set -f

# Prints the string values of tool_input.file_path and tool_input.notebook_path, one a line, then of the
# top-level cwd, each behind a tag. A value that holds control characters is printed as the tag "bad".
# Splitting at the quotes leaves structure and strings in turn, so long file contents cost nothing.
parse() {
    awk '
    # A raw newline is only ever white space in JSON, and some awks split at it uninvited.
    { text = text " " $0 }

    function decode(raw,    out, at, next_char, code) {
        out = ""
        while ((at = index(raw, "\\")) > 0) {
            out = out substr(raw, 1, at - 1)
            next_char = substr(raw, at + 1, 1)
            raw = substr(raw, at + 2)
            if (next_char == "u") {
                code = hex(substr(raw, 1, 4))
                raw = substr(raw, 5)
                if (code >= 55296 && code <= 56319 && substr(raw, 1, 2) == "\\u") {
                    code = 65536 + (code - 55296) * 1024 + hex(substr(raw, 3, 4)) - 56320
                    raw = substr(raw, 7)
                }
                out = out utf8(code)
            } else if (next_char == "n") out = out "\n"
            else if (next_char == "t") out = out "\t"
            else if (next_char == "r") out = out "\r"
            else if (next_char == "b") out = out "\b"
            else if (next_char == "f") out = out "\f"
            else out = out next_char
        }
        return out raw
    }

    function hex(digits,    i, value) {
        value = 0
        for (i = 1; i <= length(digits); i++)
            value = value * 16 + index("0123456789abcdef", tolower(substr(digits, i, 1))) - 1
        return value
    }

    # NUL would end the string in some awks, so it becomes another control character.
    function utf8(code) {
        if (code < 1) return "\001"
        if (code < 128) return sprintf("%c", code)
        if (code < 2048) return sprintf("%c%c", 192 + int(code / 64), 128 + code % 64)
        if (code < 65536)
            return sprintf("%c%c%c", 224 + int(code / 4096), 128 + int(code / 64) % 64, 128 + code % 64)
        return sprintf("%c%c%c%c", 240 + int(code / 262144), 128 + int(code / 4096) % 64, \
            128 + int(code / 64) % 64, 128 + code % 64)
    }

    function report(tag, raw,    value) {
        value = decode(raw)
        if (value ~ /[\001-\037\177]/) print "bad"
        else print tag " " value
    }

    function structure(chunk,    i, c) {
        gsub(/[ \t\r\n0-9A-Za-z.+-]/, "", chunk)
        for (i = 1; i <= length(chunk); i++) {
            c = substr(chunk, i, 1)
            if (c == "{" || c == "[") { depth++; shape[depth] = c; at_key[depth] = (c == "{"); key[depth] = "" }
            else if (c == "}" || c == "]") depth--
            else if (c == ",") at_key[depth] = (shape[depth] == "{")
            else if (c == ":") at_key[depth] = 0
        }
    }

    # Is the string that begins here a key we track, or one of the values we are after?
    function is_wanted() {
        if (depth < 1 || depth > 2 || shape[1] != "{" || shape[depth] != "{") return 0
        if (at_key[depth]) return 1
        if (depth == 1) return key[1] == "cwd"
        return key[1] == "tool_input" && (key[2] == "file_path" || key[2] == "notebook_path")
    }

    END {
        count = split(text, part, "\"")
        depth = 0
        inside = 0
        for (n = 1; n <= count; n++) {
            if (!inside) { structure(part[n]); inside = 1; raw = ""; wanted = is_wanted(); continue }
            # A quote behind an odd number of backslashes belongs to the string.
            tail = 0
            for (i = length(part[n]); i > 0 && substr(part[n], i, 1) == "\\"; i--) tail++
            if (tail % 2 == 1) { if (wanted) raw = raw part[n] "\""; continue }
            inside = 0
            if (!wanted) continue
            raw = raw part[n]
            if (at_key[depth]) key[depth] = decode(raw)
            else report(depth == 1 ? "cwd" : "path", raw)
        }
    }'
}

refuse() {
    printf 'path guard: %s\n' "$1" >&2
    exit 2
}

fold() { printf '%s\n' "$1" | tr 'A-Z' 'a-z'; }

# Absolute path without ".", ".." and doubled slashes; nothing on disk is consulted.
normal() {
    printf '%s\n' "$1" | awk '{
        n = split($0, part, "/"); top = 0
        for (i = 1; i <= n; i++) {
            if (part[i] == "" || part[i] == ".") continue
            if (part[i] == "..") { if (top > 0) top--; continue }
            kept[++top] = part[i]
        }
        out = ""
        for (i = 1; i <= top; i++) out = out "/" kept[i]
        print (out == "" ? "/" : out)
    }'
}

# The same path with the symbolic links of its existing part resolved.
physical() {
    target=$1
    hops=0
    while [ -L "$target" ] && [ "$hops" -lt 16 ] && command -v readlink >/dev/null 2>&1; do
        link=$(readlink "$target") || break
        case $link in
            /*) target=$link ;;
            *) target=${target%/*}/$link ;;
        esac
        hops=$((hops + 1))
    done
    rest=
    parent=$target
    while [ ! -d "$parent/" ]; do
        rest=/${parent##*/}$rest
        parent=${parent%/*}
    done
    parent=$(cd -P -- "${parent:-/}" 2>/dev/null && pwd -P) || parent=${target%"$rest"}
    normal "$parent$rest"
}

# Matches one absolute path against the patterns; the project root may be spelled two ways.
check() {
    candidate=$(fold "$1")
    relative=
    for base in "$root" "$root_physical"; do
        folded=$(fold "${base%/}")
        case $candidate in
            "$folded"/*) relative=${candidate#"$folded"/} ;;
        esac
    done
    while IFS= read -r line || [ -n "$line" ]; do
        line=${line%"$cr"}
        case $line in
            '' | '#'*) continue ;;
        esac
        pattern=$(fold "${line#/}")
        case $line in
            */) pattern=$pattern'**' ;;
        esac
        case ${line%/} in
            */*)
                [ -n "$relative" ] || continue
                # shellcheck disable=SC2254 # the pattern is meant to be one
                case $relative in
                    $pattern) protected=$line; return ;;
                esac
                ;;
            *)
                # Inside the project every directory name counts, outside it only the file's own name.
                names=${relative:-${candidate##*/}}
                pattern=${pattern%'/**'}
                while [ -n "$names" ]; do
                    name=${names%%/*}
                    # shellcheck disable=SC2254
                    case $name in
                        $pattern) protected=$line; return ;;
                    esac
                    case $names in
                        */*) names=${names#*/} ;;
                        *) names= ;;
                    esac
                done
                ;;
        esac
    done <<PATTERNS
$patterns
PATTERNS
}

cr=$(printf '\r')
found=$(parse) || refuse 'refused: the hook input could not be read (is awk installed?)'
case $found in
    bad* | *"
bad"*) refuse 'refused: the path contains control characters' ;;
esac

paths=$(printf '%s\n' "$found" | sed -n 's/^path //p')
[ -n "$paths" ] || exit 0

cwd=$(printf '%s\n' "$found" | sed -n 's/^cwd //p' | tail -n 1)
case $cwd in
    /*) ;;
    *) cwd=$(pwd)/$cwd ;;
esac
case ${CLAUDE_PROJECT_DIR:-} in
    /*) root=$(normal "$CLAUDE_PROJECT_DIR") ;;
    *) root=$(normal "$cwd") ;;
esac
root_physical=$(cd -P -- "$root" 2>/dev/null && pwd -P) || root_physical=$root

patterns='.env*
*.pem
secrets/**'
if [ -f "$root/.protected-paths" ]; then
    patterns=$(cat "$root/.protected-paths") || refuse "refused: cannot read $root/.protected-paths"
fi
patterns="$patterns
.protected-paths"

while IFS= read -r path; do
    [ -n "$path" ] || continue
    case $path in
        /*) absolute=$path ;;
        *) absolute=$cwd/$path ;;
    esac
    protected=
    check "$(normal "$absolute")"
    [ -n "$protected" ] || check "$(physical "$absolute")"
    [ -z "$protected" ] || refuse "$path is protected by the pattern \"$protected\" (see .protected-paths); ask the person before changing it"
done <<PATHS
$paths
PATHS
exit 0
