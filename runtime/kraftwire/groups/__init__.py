"""Groups of consumers, rebuilt from the records of their coordinators."""
