"""The collaborator's loop: a model speaks, its commands run, it sees their results and goes on."""
