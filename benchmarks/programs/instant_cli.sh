#!/bin/sh
# A CLI that answers the handshake at once and starts in a millisecond. In: control requests. Out: success to each.
while IFS= read -r line; do
  id=${line#*\"request_id\":}
  id=${id#*\"}
  id=${id%%\"*}
  printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"commands":[],"agents":[],"models":[],"account":{}}}}\n' "$id"
done
