"""A chat in a terminal with a tool on files. APTIX_URL and APTIX_KEY name another service. A chat that was ended in the
middle of a turn goes on with it when it is started again.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

from aptix_edge import (
    ApprovalRequest,
    Aptix,
    AptixConnectionError,
    AptixError,
    FileStore,
    Session,
    ToolContext,
    Turn,
    format_json,
)


def read_file(path: Annotated[str, "below the folder of the chat"]) -> str:
    """Reads a text file."""
    file = Path(path).resolve()
    if not file.is_relative_to(Path.cwd()):
        raise PermissionError("The file is outside the folder of the chat.")
    return file.read_text("utf-8")


def approve(request: ApprovalRequest, _: ToolContext) -> bool:
    print(f"\n{request.get('Message', '')}\n{request['Name']} {format_json(request['ArgumentsJson'])}")
    return input("Run it? (y/n) ") == "y"


def show(turn: Turn) -> None:
    for event in turn:
        if event.type == "text":
            print(event.delta, end="", flush=True)
        elif event.type == "tool_calls":
            print(f"\n[{', '.join(call['Name'] for call in event.calls)}]")
    print()


def live_turn(session: Session) -> str | None:
    try:
        live = session.get().get("LiveTurn")
    except AptixError as error:
        if error.code != "session_not_found":
            raise
        return None
    return live["TurnId"] if live else None


def main() -> None:
    url, key = os.environ.get("APTIX_URL", "http://127.0.0.1:8787"), os.environ.get("APTIX_KEY")
    with Aptix(url, key, store=FileStore(".aptix-chat")) as aptix:
        session = aptix.session(os.environ.get("SESSION", "chat-in-python"))
        running = live_turn(session)
        if running:
            show(session.attach(running, tools=[read_file], on_approval=approve))
        try:
            while line := input("> "):
                show(session.turn(line, tools=[read_file], on_approval=approve))
        except EOFError:
            pass


if __name__ == "__main__":
    try:
        main()
    except AptixConnectionError as error:
        sys.exit(f"{error} Start the service with: make dev")
    except AptixError as error:
        sys.exit(f"{error.code}: {error}")
