"""Where a claim token leads; it is asked when the claim is granted, when its result comes, and when it is applied."""

from functools import lru_cache

from perdure_server.kernel.tokens import decode_claim_token

_REMEMBERED = 8_192

address_of = lru_cache(_REMEMBERED)(decode_claim_token)
"""The address in a claim token; Rejection CLAIM_LOST (UNKNOWN) if it is none of ours."""
