"""The command `hedgerow`: one file a command, each with a function that Python users can call too."""
