"""What was found, for people and for programs: one file per format over one core."""
