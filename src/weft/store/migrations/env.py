"""Run migrations on the connection that the store hands over."""

from alembic import context

from weft.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=False)
context.run_migrations()
