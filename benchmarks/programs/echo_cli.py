"""The smallest possible agent: writes the same three lines for each line of input."""

import json
import sys

INIT = {"type": "system", "subtype": "init", "tools": ["Bash", "Read", "Edit", "Write"] * 4, "model": "none"}
TEXT = "It is said. " * 20
ANSWER = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": TEXT}]}}
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": TEXT}

for line in sys.stdin.buffer:
    json.loads(line)
    for answer in (INIT, ANSWER, RESULT):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
