"""Records that other programs store in a grove, their collapsed groups, and recipes over them."""
