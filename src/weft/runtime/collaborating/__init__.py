"""The collaborator's loop: a model speaks, its commands are run, it sees what came of them, and goes on."""
