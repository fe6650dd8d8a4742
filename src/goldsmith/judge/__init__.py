"""Judge what runs of an implementation have shown, against a reference. Nothing is run here."""
