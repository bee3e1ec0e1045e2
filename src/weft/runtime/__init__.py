"""Where everything meets: operations on a grove, checked and recorded in one place."""
