"""The conversation: queued prompts, turns, calls of tools, permissions, subagents, compaction."""
