#!/bin/sh
# A CLI that starts in a millisecond and answers every control request with success.
while IFS= read -r line; do
  id=${line#*\"request_id\":}
  id=${id#*\"}
  id=${id%%\"*}
  printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"commands":[],"agents":[],"models":[],"account":{}}}}\n' "$id"
done
