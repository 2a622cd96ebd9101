"""Who vouches for bytes: HMAC inside one trust domain, Ed25519 across.

`HmacKeys` needs nothing but Python. Ed25519 has a door of its own, `lapse.signing.ed25519`, because
it needs the extra `sign`.

Both sign with one key and verify with many. To rotate: add the new key everywhere, then sign with
it, then take the old one away when nothing signed with it is left.
"""

from lapse.signing.hmac_files import read_hmac_keys, write_hmac_key
from lapse.signing.hmac_keys import HmacKeys
from lapse.signing.private_files import read_secret

__all__ = ["HmacKeys", "read_hmac_keys", "read_secret", "write_hmac_key"]
