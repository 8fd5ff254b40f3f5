#!/usr/bin/env python3
"""Tests docs/examples/acme-notes-mcp/server/notes.py by talking to it. Exit 0 when all checks hold."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(HERE, "..", "acme-notes-mcp", "server", "notes.py")


def talk(directory, *lines, project=None):
    """Sends lines, closes stdin, returns the answers."""
    environment = {key: value for key, value in os.environ.items() if key != "CLAUDE_PROJECT_DIR"}
    if project:
        environment["CLAUDE_PROJECT_DIR"] = project
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    done = subprocess.run(
        [sys.executable, SERVER], input=text.encode("utf-8", "surrogatepass"), capture_output=True, cwd=directory,
        env=environment, timeout=20,
    )
    assert done.returncode == 0 and not done.stderr, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number, tool, **arguments):
    return request(number, "tools/call", name=tool, arguments=arguments)


def text(response):
    return response["result"]["content"][0]["text"]


def main():
    with tempfile.TemporaryDirectory() as directory:
        answers = talk(
            directory,
            request(1, "server/discover"),
            request(2, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "0"}),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            request("three", "tools/list"),
            call(4, "list_notes"),
            call(5, "add_note", text="first\nnote \u001b[31m größe \ud83d\ude00"),
            call(6, "add_note", text="second"),
            call(7, "list_notes"),
            call(8, "list_notes", contains="SECOND"),
        )
        by_id = {answer["id"]: answer for answer in answers}
        assert len(answers) == 8, answers
        assert by_id[1]["error"]["code"] == -32601
        assert by_id[2]["result"]["protocolVersion"] == "2025-11-25"
        assert [tool["name"] for tool in by_id["three"]["result"]["tools"]] == ["add_note", "list_notes"]
        assert text(by_id[4]) == "No notes."
        assert len(text(by_id[7]).splitlines()) == 2 and "\u001b" not in text(by_id[7])
        assert "größe \U0001f600" in text(by_id[7])
        assert text(by_id[8]).endswith("second") and len(text(by_id[8]).splitlines()) == 1

        answers = talk(
            directory,
            "not json",
            "[1]",
            "7",
            "",
            "[" * 100000,
            {"jsonrpc": "2.0", "id": 1, "result": {}},
            request(2, "ping"),
            call(3, "add_note"),
            call(4, "add_note", text="x" * 3000),
            call(5, "rm"),
            {"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "add_note", "arguments": [1]}},
            {"jsonrpc": "2.0", "id": 7, "method": "tools/call"},
            {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": [1]},
            request(9, "initialize", protocolVersion="1999-01-01"),
            '{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"add_note","arguments":{"text":"lone \\ud800"}}}',
            {"jsonrpc": "2.0", "id": 11, "method": "tools/call", "params": {"name": ["x"]}},
            request(12, "ping"),
        )
        codes = {answer["id"]: answer.get("error", {}).get("code") for answer in answers if answer["id"] is not None}
        assert [answer for answer in answers if answer["id"] is None and answer["error"]["code"] == -32700], answers
        assert {number for number in codes if codes[number] == -32602} == {3, 4, 5, 6, 7, 8, 11}, codes
        assert codes[2] is None and codes[9] is None and codes[10] is None and codes[12] is None

        with tempfile.TemporaryDirectory() as project:
            talk(directory, call(1, "add_note", text="elsewhere"), project=project)
            assert "elsewhere" in open(os.path.join(project, ".acme-notes.md"), encoding="utf-8").read()
        with open(os.path.join(directory, ".acme-notes.md"), encoding="utf-8") as notes:
            assert "elsewhere" not in notes.read()
        missing = os.path.join(directory, "missing")
        assert talk(directory, call(1, "add_note", text="x"), project=missing)[0]["result"]["isError"] is True
    print("notes server: all checks hold")


main()
