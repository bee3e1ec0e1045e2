"""Who speaks: adapters on the providers' own SDKs, the embedded model, a scripted one. Imported when used."""
