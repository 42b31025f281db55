"""The model behind the sessions of this machine: which CLI runs, which key it gets, and how a key is checked."""
