"""aesgcm.py - AES-GCM by libcrypto and HKDF (RFC 5869), for packets with a key."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import ctypes.util
import hashlib
import hmac

SET_TAG = 0x11
CRYPTO = ctypes.CDLL(ctypes.util.find_library("crypto"))
for name in ("EVP_CIPHER_CTX_new", "EVP_aes_128_gcm", "EVP_aes_256_gcm"):
    getattr(CRYPTO, name).restype = ctypes.c_void_p


def hkdf(key, salt, info, length):
    """At most one block, 32 bytes."""
    secret = hmac.new(salt, key, hashlib.sha256).digest()
    return hmac.new(secret, info + b"\x01", hashlib.sha256).digest()[:length]


def opened(key, nonce, clear, sealed, tag):
    """The plaintext of `sealed`, or None if the tag is wrong."""
    state = ctypes.c_void_p(CRYPTO.EVP_CIPHER_CTX_new())
    cipher = CRYPTO.EVP_aes_128_gcm if len(key) == 16 else CRYPTO.EVP_aes_256_gcm
    out, count = ctypes.create_string_buffer(len(sealed) + 16), ctypes.c_int()
    CRYPTO.EVP_DecryptInit_ex(state, ctypes.c_void_p(cipher()), None, key, nonce)
    CRYPTO.EVP_DecryptUpdate(state, None, ctypes.byref(count), clear, len(clear))
    if sealed:
        CRYPTO.EVP_DecryptUpdate(state, out, ctypes.byref(count), sealed, len(sealed))
    CRYPTO.EVP_CIPHER_CTX_ctrl(state, SET_TAG, 16, ctypes.create_string_buffer(tag, 16))
    is_good = CRYPTO.EVP_DecryptFinal_ex(state, ctypes.create_string_buffer(16), ctypes.byref(count))
    CRYPTO.EVP_CIPHER_CTX_free(state)
    return out.raw[:len(sealed)] if is_good == 1 else None
