"""What people keep outside of a grove: folders of notes, which are read and never written."""
