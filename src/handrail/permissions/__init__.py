"""May this tool run, and why. Pure: rules, paths and commands go in, a decision comes out."""
