"""aptix-edge: agent turns over a service that keeps them. `wire` has the shapes of the service's interface."""

from . import wire
from ._answers import ApprovalRequest, Decision, OnApproval, Verdict
from ._client import AsyncAptix
from ._credential import Credential
from ._errors import AptixConnectionError, AptixError
from ._events import (
    DiscardEvent,
    ProgressEvent,
    ResultEvent,
    StreamEvent,
    TextEvent,
    ToolCallsEvent,
    ToolResultsEvent,
    TurnEvent,
)
from ._files import artifact, image
from ._folder import LeftOut, SourceDocument
from ._http import LogEntry, WithResponse
from ._json_text import format_json
from ._session import AsyncFork, AsyncSession, Pending
from ._stores import FileStore, MemoryStore, Store
from ._sync import Aptix, Fork, Session, Turn, User, Workspace
from ._tools import Tool, ToolContext, tool
from ._turn import AsyncTurn
from ._user import AsyncUser
from ._webhooks import ReceivedWebhook, WebhookError, verify_webhook
from ._workspace import AsyncWorkspace, Synced
from .wire import Progress

__all__ = [
    "ApprovalRequest",
    "Aptix",
    "AptixConnectionError",
    "AptixError",
    "AsyncAptix",
    "AsyncFork",
    "AsyncSession",
    "AsyncTurn",
    "AsyncUser",
    "AsyncWorkspace",
    "Credential",
    "Decision",
    "DiscardEvent",
    "FileStore",
    "Fork",
    "LeftOut",
    "LogEntry",
    "MemoryStore",
    "OnApproval",
    "Pending",
    "Progress",
    "ProgressEvent",
    "ReceivedWebhook",
    "ResultEvent",
    "Session",
    "SourceDocument",
    "Store",
    "StreamEvent",
    "Synced",
    "TextEvent",
    "Tool",
    "ToolCallsEvent",
    "ToolContext",
    "ToolResultsEvent",
    "Turn",
    "TurnEvent",
    "User",
    "Verdict",
    "WebhookError",
    "WithResponse",
    "Workspace",
    "artifact",
    "format_json",
    "image",
    "tool",
    "verify_webhook",
    "wire",
]
