#!/bin/sh
# Tests docs/examples/acme-path-guard/hooks/guard.sh. Exit 0 when all cases hold.
# GUARD_SHELL chooses the shell that runs the guard (default: sh).

here=$(cd -- "$(dirname -- "$0")" && pwd)
guard=$here/../acme-path-guard/hooks/guard.sh
shell=${GUARD_SHELL:-sh}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
project=$work/My\ Project
mkdir -p "$project/src" "$project/secrets" "$project/config" "$work/outside"
ln -s secrets "$project/alias"
ln -s ../.env "$project/src/link"
unset CLAUDE_PROJECT_DIR
failed=0
total=0

# expect STATUS NAME JSON
expect() {
    total=$((total + 1))
    output=$(printf '%s' "$3" | (cd "$work/outside" && $shell "$guard") 2>&1)
    status=$?
    reason=ok
    [ "$status" = "$1" ] || reason="exit $status instead of $1"
    [ "$1" != 0 ] || [ -z "$output" ] || reason="unexpected output"
    [ "$1" != 2 ] || [ -n "$output" ] || reason="no reason on stderr"
    if [ "$reason" != ok ]; then
        failed=$((failed + 1))
        printf 'FAIL %s: %s [%s]\n' "$2" "$reason" "$output"
    fi
}

# call PATH-AS-JSON-TEXT [FIELD]: what a host sends before an edit
call() {
    printf '{"session_id":"s","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"%s":"%s","old_string":"a","new_string":"b"},"tool_use_id":"t"}' \
        "$project" "${2:-file_path}" "$1"
}

expect 0 'plain file' "$(call "$project/src/main.rs")"
expect 2 'env file' "$(call "$project/.env")"
expect 2 'env variant' "$(call "$project/.env.local")"
expect 2 'env deep down' "$(call "$project/src/.env")"
expect 0 'env without the dot' "$(call "$project/env")"
expect 2 'key' "$(call "$project/config/tls.pem")"
expect 0 'key as part of a name' "$(call "$project/config/tls.pem.md")"
expect 2 'below secrets' "$(call "$project/secrets/a/b.txt")"
expect 0 'secrets elsewhere' "$(call "$project/src/secrets/a.txt")"
expect 2 'relative path' "$(call 'secrets/a')"
expect 2 'dot dot' "$(call "$project/src/../secrets/a")"
expect 2 'dot and doubled slashes' "$(call "$project//src/./.././/.env")"
expect 0 'dot dot out of secrets' "$(call "$project/secrets/../src/a")"
expect 2 'through a linked directory' "$(call "$project/alias/a")"
expect 2 'through a linked file' "$(call "$project/src/link")"
expect 2 'upper case' "$(call "$project/Secrets/a")"
expect 2 'outside, by name' "$(call "$work/outside/.env")"
expect 0 'outside, other name' "$(call "$work/outside/secrets/a")"
expect 2 'the list itself' "$(call "$project/.protected-paths")"
expect 2 'notebook' "$(call "$project/secrets/n.ipynb" notebook_path)"
expect 2 'unicode escape' "$(call "$project/\\u002eenv")"
expect 2 'escaped slash' "$(call "${project}\\/.env")"
expect 2 'escaped quote in the path' "$(call "$project/secrets/a\\\"b")"
expect 0 'escaped quote, not protected' "$(call "$project/src/a\\\"b")"
expect 0 'backslash before the closing quote' "$(call "$project/src/a\\\\\\\\")"
expect 2 'newline in the path' "$(call "$project/src/a\\nb")"
expect 0 'umlaut, raw' "$(call "$project/src/größe.txt")"
expect 0 'umlaut, escaped' "$(call "$project/src/gr\\u00f6\\u00dfe.txt")"
expect 0 'emoji, escaped' "$(call "$project/src/\\ud83d\\ude00.txt")"

expect 0 'file_path inside a string' \
    "{\"cwd\":\"$project\",\"tool_input\":{\"file_path\":\"$project/src/a\",\"content\":\"{\\\"file_path\\\":\\\"$project/.env\\\"}\"}}"
expect 2 'strings full of structure before the path' \
    "{\"cwd\":\"$project\",\"tool_input\":{\"content\":\"}]},{\\\"\\\\\\\\\",\"file_path\":\"$project/.env\"}}"
expect 0 'file_path of something else' \
    "{\"cwd\":\"$project\",\"tool_input\":{\"command\":\"ls\"},\"tool_response\":{\"file_path\":\"$project/.env\"}}"
expect 0 'file_path one level deeper' \
    "{\"cwd\":\"$project\",\"tool_input\":{\"file_path\":\"$project/src/a\",\"more\":{\"file_path\":\"$project/.env\"}}}"
expect 2 'edits list before the path' \
    "{\"cwd\":\"$project\",\"tool_input\":{\"edits\":[{\"old_string\":\"x\",\"new_string\":\"y\"},1,null],\"file_path\":\"$project/.env\"}}"
expect 2 'pretty printed' "{
  \"tool_input\": {
    \"file_path\": \"$project/.env\"
  },
  \"cwd\": \"$project\"
}"
expect 2 'same key twice' \
    "{\"cwd\":\"$project\",\"tool_input\":{\"file_path\":\"$project/.env\",\"file_path\":\"$project/src/a\"}}"
expect 2 'key spelled with escapes' "{\"cwd\":\"$project\",\"tool_input\":{\"file\\u005fpath\":\"$project/.env\"}}"
expect 2 'relative cwd' '{"cwd":"x","tool_input":{"file_path":"y/.env"}}'
expect 0 'relative cwd, not protected' '{"cwd":"x","tool_input":{"file_path":"y/z"}}'
expect 0 'no cwd' '{"tool_input":{"file_path":"y/z"}}'
expect 0 'no such directories' '{"cwd":"/nowhere","tool_input":{"file_path":"/nowhere/at/all"}}'
expect 0 'no path' '{"tool_input":{"command":"ls"}}'
expect 0 'empty path' '{"tool_input":{"file_path":""}}'
expect 0 'path is a number' '{"tool_input":{"file_path":7}}'
expect 0 'no input' ''
expect 0 'not JSON' 'hello "world'
expect 0 'a list' '["tool_input",{"file_path":".env"}]'

big=$(awk 'BEGIN { for (i = 0; i < 40000; i++) printf "line \\\"%d\\\" {x:[1]}\\n", i }')
printf '{"cwd":"%s","tool_input":{"content":"%s","file_path":"%s/.env"}}' "$project" "$big" "$project" >"$work/big.json"
total=$((total + 1))
$shell "$guard" <"$work/big.json" >/dev/null 2>&1
[ $? = 2 ] || { failed=$((failed + 1)); echo 'FAIL large content'; }

total=$((total + 1))
mkdir "$work/empty"
call "$project/src/a" | PATH=$work/empty /bin/sh "$guard" >/dev/null 2>&1
[ $? = 2 ] || { failed=$((failed + 1)); echo 'FAIL no awk'; }

printf '# ours\r\nvendor/\r\ndeploy/*.yml\n\n/Makefile\nlocked dir/x*' >"$project/.protected-paths"
expect 2 'own list: directory' "$(call "$project/vendor/lib/a.c")"
expect 2 'own list: glob with slash' "$(call "$project/deploy/prod.yml")"
expect 0 'own list: other ending' "$(call "$project/deploy/prod.md")"
expect 2 'own list: blank in a pattern, no final newline' "$(call "$project/locked dir/x1")"
expect 2 'own list: leading slash' "$(call "$project/Makefile")"
expect 0 'own list replaces the defaults' "$(call "$project/.env")"
expect 2 'own list: still protects itself' "$(call "$project/.protected-paths")"
CLAUDE_PROJECT_DIR=$project
export CLAUDE_PROJECT_DIR
expect 2 'project from the environment' "{\"tool_input\":{\"file_path\":\"$project/vendor/a\"}}"
expect 2 'session moved below the project' \
    "{\"cwd\":\"$project/src\",\"tool_input\":{\"file_path\":\"../vendor/a\"}}"

printf '%s cases, %s failed\n' "$total" "$failed"
[ "$failed" = 0 ]
