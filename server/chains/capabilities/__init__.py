"""What can be asked of a chain, by noun.

Each capability is a protocol that a reader extends; servicers ask a chain for a capability, never for a family. All
reads take the request's `ReadView` and settle it. Figures that other operations build on are frozen values; documents
are messages.
"""
