"""What a receiver of webhooks needs (interface §15): whether a message is the service's, by Standard Webhooks 1.0."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .wire import WebhookMessage

PREFIX = "whsec_"
LONGEST_TIME = 20
"""Of the digits of a time in seconds."""


class WebhookError(Exception):
    """Why a message is not taken: it is not signed by the secret, too old, or nothing that the service sends. Answer it
    with 401.
    """


@dataclass(frozen=True)
class ReceivedWebhook:
    """A message that holds. It may come twice, with the same `id`: a receiver remembers the ids of two days."""

    id: str
    event: WebhookMessage


def verify_webhook(
    body: bytes | str, headers: Mapping[str, str], secrets: str | Sequence[str], *, tolerance_s: float = 300
) -> ReceivedWebhook:
    """The message, if one of the secrets (`whsec_…`) has signed it. `body` are the bytes as they came, before any
    parser. While a secret is being changed, both are given. Raises `WebhookError`, whatever the headers and the body
    are; `ValueError` for a secret without the bytes of a key: with an empty key, anybody could sign.
    """
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("There is no signing secret.")
    lower = {name.lower(): value for name, value in headers.items()}
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    message_id, sent_at, signatures = (lower.get(name, "") for name in names)
    if not (message_id and sent_at and signatures):
        raise WebhookError("The message has no webhook-id, webhook-timestamp or webhook-signature.")
    is_time = len(sent_at) <= LONGEST_TIME and sent_at.isdecimal()
    if not (is_time and abs(time.time() - int(sent_at)) <= tolerance_s):
        raise WebhookError("The message is not of now: its timestamp is too old, or in the future.")
    # Halves of characters, which no server sends, are bytes that nobody has signed.
    data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    signed = f"{message_id}.{sent_at}.".encode("utf-8", "surrogatepass") + data
    given = [each[3:].encode("utf-8", "surrogatepass") for each in signatures.split(" ") if each.startswith("v1,")]
    ours = [base64.b64encode(hmac.digest(key, signed, hashlib.sha256)) for key in keys]
    # Each comparison takes a time that does not tell where it differs.
    if not any(hmac.compare_digest(one, other) for one in ours for other in given):
        raise WebhookError("No signature of the message is that of a secret.")
    try:
        return ReceivedWebhook(message_id, json.loads(data))
    except (ValueError, RecursionError) as error:
        raise WebhookError("The message is signed, but it is no JSON.") from error


def _key(secret: str) -> bytes:
    """The bytes of a secret."""
    secret = secret.strip()  # A file's last line break is no part of it.
    digits = secret[len(PREFIX) :] if secret.startswith(PREFIX) else ""
    try:
        # The service takes a secret without its padding, too.
        key = base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except ValueError:
        key = b""
    if not key:
        raise ValueError(f"A signing secret is {PREFIX} and base64.")
    return key
