"""Providers of models: adapters on the vendors' SDKs, the embedded model, a scripted one. Imported when used."""
