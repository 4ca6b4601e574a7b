"""Laws: what every law offers, the languages they are written in, and how they are found."""
