#!/bin/sh
# Tests docs/examples/acme-standup/standup.cjs with a repository made here. Exit 0 when all checks hold.

here=$(cd -- "$(dirname -- "$0")" && pwd)
module=$here/../acme-standup/standup.cjs
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
HOME=$work
GIT_CONFIG_NOSYSTEM=1
export HOME GIT_CONFIG_NOSYSTEM
failed=0

# standup DIRECTORY RAW ARGS..: calls the router the way the launcher does
standup() {
    node -e '
        const [module, cwd, raw, ...rest] = process.argv.slice(1);
        const error = (text) => { process.stderr.write(`${text}\n`); process.exit(1); };
        require(module).routeStandup({ args: ["standup", ...rest], cwd, raw: raw === "raw", error });
    ' -- "$module" "$@" 2>&1
}

check() {
    case $3 in
        *"$2"*) ;;
        *) failed=$((failed + 1)); printf 'FAIL %s: no "%s" in:\n%s\n' "$1" "$2" "$3" ;;
    esac
}

commit() {
    git -C "$repo" -c user.name="$1" -c user.email=x@example.org commit -q --allow-empty --date="$3" -m "$2"
}

repo=$work/repo
git init -q "$repo"
check 'no commits yet' 'No commits since 1 day ago.' "$(standup "$repo" text)"
GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' commit 'Zoe' 'old work' '2020-01-01T00:00:00Z'
check 'nothing lately' 'No commits since 1 day ago.' "$(standup "$repo" text)"
commit 'Zoe' 'add refunds' now
commit 'Ada' "colour $(printf '\033')[31mred" now
commit 'Zoe' 'test refunds' now
output=$(standup "$repo" text)
check 'grouped' 'Zoe (2)' "$output"
check 'sorted' 'Ada (1)' "$(printf '%s\n' "$output" | head -n 1)"
check 'no escape sequences' 'colour  [31mred' "$output"
check 'since' 'old work' "$(standup "$repo" text --since 2019-01-01)"
check 'since as one word' 'old work' "$(standup "$repo" text --since=2019-01-01 --all)"
check 'json' '{"author":"Ada","commits":[{"hash":' "$(standup "$repo" raw)"
check 'unknown option' 'usage: standup' "$(standup "$repo" text --output=/tmp/x)"
check 'missing value' 'usage: standup' "$(standup "$repo" text --since)"
standup "$repo" text --since "--output=$repo/x" >/dev/null
[ ! -e "$repo/x" ] || { failed=$((failed + 1)); echo 'FAIL an option reached git'; }
check 'not a repository' 'not a git repository' "$(standup "$work" text)"
[ "$failed" = 0 ] && echo 'standup: all checks hold'
