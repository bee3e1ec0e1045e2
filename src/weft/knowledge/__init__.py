"""Knowledge outside of a grove: folders of notes, read and never written; tools that search them."""
