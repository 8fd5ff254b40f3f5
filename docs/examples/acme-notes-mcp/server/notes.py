#!/usr/bin/env python3
"""Project notes over MCP: JSON-RPC 2.0 on stdin and stdout, one message a line.

Tools: add_note, list_notes. State: one Markdown file in the project directory.
Only the standard library is used, so the server runs wherever python3 does.
"""

import datetime
import json
import os
import sys

PROTOCOL_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MAX_NOTE_CHARACTERS = 2000
MAX_LISTED_NOTES = 200

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602

TOOLS = [
    {
        "name": "add_note",
        "description": "Append a dated note to the project's notes file.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The note, one line"}},
            "required": ["text"],
            "additionalProperties": False,
        },
    },
    {
        "name": "list_notes",
        "description": "List the notes of this project, newest last.",
        "inputSchema": {
            "type": "object",
            "properties": {"contains": {"type": "string", "description": "Only notes with this text"}},
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True},
    },
]


class RpcError(Exception):
    """A request that is answered with an error object."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def notes_file():
    """The file the notes live in; the host's project directory wins over the working directory."""
    return os.path.join(os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd(), ".acme-notes.md")


def add_note(arguments):
    text = arguments.get("text")
    if not isinstance(text, str) or not text.strip():
        raise RpcError(INVALID_PARAMS, "`text` must be a non-empty string")
    # One note is one line, so that the file stays a list whatever the model sends.
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(line) > MAX_NOTE_CHARACTERS:
        raise RpcError(INVALID_PARAMS, f"`text` is longer than {MAX_NOTE_CHARACTERS} characters")
    stamp = datetime.datetime.now().strftime("%Y-%m-%d %H:%M")
    with open(notes_file(), "a", encoding="utf-8") as notes:
        if notes.tell() == 0:
            notes.write("# Notes\n\n")
        notes.write(f"- {stamp} {line}\n")
    return f"Noted: {line}"


def list_notes(arguments):
    contains = arguments.get("contains", "")
    if not isinstance(contains, str):
        raise RpcError(INVALID_PARAMS, "`contains` must be a string")
    try:
        with open(notes_file(), encoding="utf-8", errors="replace") as notes:
            lines = [line.rstrip("\n") for line in notes if line.startswith("- ")]
    except FileNotFoundError:
        lines = []
    lines = [line for line in lines if contains.casefold() in line.casefold()]
    return "\n".join(lines[-MAX_LISTED_NOTES:]) or "No notes."


def call_tool(params):
    arguments = params.get("arguments") or {}
    name = params.get("name")
    handler = {"add_note": add_note, "list_notes": list_notes}.get(name) if isinstance(name, str) else None
    if handler is None:
        raise RpcError(INVALID_PARAMS, "unknown tool")
    if not isinstance(arguments, dict):
        raise RpcError(INVALID_PARAMS, "`arguments` must be an object")
    try:
        return {"content": [{"type": "text", "text": handler(arguments)}], "isError": False}
    except OSError as error:
        message = f"Cannot use {notes_file()}: {error.strerror}"
        return {"content": [{"type": "text", "text": message}], "isError": True}


def initialize(params):
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "acme-notes", "version": "1.0.0"},
    }


METHODS = {
    "initialize": initialize,
    "ping": lambda params: {},
    "tools/list": lambda params: {"tools": TOOLS},
    "tools/call": call_tool,
}


def answer(message):
    """The response to one message, or None for a notification.

    Hosts probe with methods of newer protocols before `initialize`; those get an ordinary
    "method not found" and the session goes on.
    """
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        if isinstance(message, dict) and ("result" in message or "error" in message):
            return None  # a response to a request we never made
        return failure(None, INVALID_REQUEST, "not a request")
    if "id" not in message:
        return None
    params = message.get("params") or {}
    try:
        method = METHODS.get(message["method"])
        if method is None:
            raise RpcError(METHOD_NOT_FOUND, "method not found")
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "`params` must be an object")
        return {"jsonrpc": "2.0", "id": message["id"], "result": method(params)}
    except RpcError as error:
        return failure(message["id"], error.code, str(error))


def failure(request_id, code, text):
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


def main():
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            message = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            response = failure(None, PARSE_ERROR, "not JSON")
        else:
            response = answer(message)
        if response is not None:
            # ASCII only: a lone surrogate in an id must not kill the stream.
            sys.stdout.write(json.dumps(response) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)
