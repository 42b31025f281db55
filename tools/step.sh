#!/bin/sh
# Runs a command and prints its output when it has ended, so that steps can run side by side: step.sh NAME COMMAND…
name=$1
shift
output=$(mktemp)
trap 'rm -f "$output"' EXIT
begin=$(date +%s)
"$@" >"$output" 2>&1
status=$?
seconds=$(($(date +%s) - begin))
if [ "$status" -eq 0 ]; then result="$seconds s"; else result="failed after $seconds s"; fi
printf '%s\n%s: %s\n' "$(cat "$output")" "$name" "$result"
exit "$status"
