"""Teachers answer which sequences of events end in the error, and say how complete their answers are."""
