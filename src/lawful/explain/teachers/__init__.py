"""Teachers: who knows which sequences of events end in the error, and what that rests on."""
