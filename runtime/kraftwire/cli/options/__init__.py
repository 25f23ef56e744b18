"""Options that several groups of commands share."""
