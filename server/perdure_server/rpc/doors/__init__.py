"""Who is let in and what they may do: TLS, tokens, JWTs, the one table of permissions. All of it is read anew while the server runs."""
