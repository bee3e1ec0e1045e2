"""Transfer: export, import, copies, backups and the doctor."""
