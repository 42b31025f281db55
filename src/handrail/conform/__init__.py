"""Does an executable speak the protocol? In: a command. Out: what agrees and what drifted, check by check."""
