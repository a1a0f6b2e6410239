"""The gateway's version; the distribution's is read from here."""

VERSION = "0.1.0"
