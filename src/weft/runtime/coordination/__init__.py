"""Work shared by threads and processes: leases, idempotency keys, heartbeats, jobs, background workers."""
