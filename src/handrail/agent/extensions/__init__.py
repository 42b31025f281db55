"""Extensions of a session that come as files: commands, skills, agents, output styles, plugins."""
