"""What a loom-aware agent sees beside the conversation: where it is, what it may do, what it keeps in mind."""
