#!/usr/bin/env python3
"""Runs every command of a guide, in the order of the page, and compares the outputs.

  guide_test.py PAGE...

A block ```console has commands after a prompt, `node1$ ` or `node1# ` (a user, or root; here both are root), and the output
that the reader sees. `...` stands for any lines; numbers and their units match any others, and node names any node. A command
that only shows something runs again until its output is as written, for at most a minute. Exit statuses must be 0 unless the
block says `console exit=N` for its last command, or `console exit=any` if its status depends on the machine of the test. A command
that ends in ` &` runs beside the others, as in a second terminal.
Other blocks (`toml`, `cpp`, ...) are not commands. A block without a language is a mistake, so that no command escapes.

Exit status 77: there are no namespaces here.
"""

import os
import pathlib
import re
import sys
import tempfile
import time

import machines

PROMPT = re.compile(r"^(node\d)[$#] (.*)$")
SHOWS = re.compile(r"^(sudo )?tempo (status|master|members|locks|now|leader|groups|doctor|keys|wait-sync|vip status)\b|^journalctl|^systemctl is-active")
LONGEST = float(os.environ.get("TEMPO_GUIDE_SECONDS", "60"))  # until an output is as written
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def normal(line):
    line = re.sub(r"\bnode\d\b", "NODE", line.rstrip())
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?", "TIME", line)
    line = re.sub(r"\b[0-9a-f]{8,}\b", "ID", line)
    line = NUMBER.sub("N", line)
    line = re.sub(r"\bN (ns|us|ms|s|min|h|d)\b", "N U", line)
    return re.sub(r" +", " ", line)


def matches(expected, actual):
    """Whether the lines are as expected; `...` stands for any lines, also none."""
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    if not actual or len(actual) > 2000:
        return False
    want = re.escape(normal(expected[0])).replace(re.escape("..."), ".*")
    return re.fullmatch(want, normal(actual[0])) is not None and matches(expected[1:], actual[1:])


def blocks_of(page):
    """Yields line number, information and lines of each block."""
    lines = page.read_text(encoding="utf-8").split("\n")
    at = 0
    while at < len(lines):
        if lines[at].startswith("```"):
            end = lines.index("```", at + 1)
            yield at + 1, lines[at][3:].strip(), lines[at + 1:end]
            at = end
        at += 1


def steps_of(page):
    """Yields line number, machine, command, expected lines and exit status (none: any)."""
    blocks = list(blocks_of(page))
    walked = any(information.startswith("console") for _, information, _ in blocks)
    for number, information, lines in blocks:
        words = information.split() or [""]
        if walked and not words[0]:
            raise SystemExit(f"{page}:{number}: a block without a language; commands are in ```console")
        if words[0] != "console":
            continue
        steps = []
        for offset, line in enumerate(lines, 1):
            prompt = PROMPT.match(line)
            if prompt:
                steps.append([number + offset, prompt[1], prompt[2], [], 0])
            elif steps and steps[-1][2].endswith("\\"):
                steps[-1][2] = steps[-1][2][:-1] + line.strip()
            elif steps:
                steps[-1][3].append(line)
            else:
                raise SystemExit(f"{page}:{number + offset}: output before the first command")
        for word in words[1:]:
            wanted = word.removeprefix("exit=")
            steps[-1][4] = None if wanted == "any" else int(wanted)
        yield from steps


def walk(page):
    steps = list(steps_of(page))
    names = sorted({step[1] for step in steps})
    if not names:
        return
    with tempfile.TemporaryDirectory(prefix="tempo-guide-") as directory:
        network = machines.Machines(names, directory)
        try:
            for line, name, command, expected, status in steps:
                began = time.monotonic()
                if command.endswith(" &"):
                    network.start(name, command[:-2])
                    time.sleep(0.5)
                    continue
                while True:
                    got, output = network.run(name, command)
                    actual = output.rstrip("\n").split("\n") if output.strip() else []
                    good = status in (None, got) and (not expected or matches(expected, actual))
                    if good or not SHOWS.match(command) or time.monotonic() - began > LONGEST:
                        break
                    time.sleep(0.3)
                if not good:
                    wanted = "any" if status is None else status
                    print(f"{page}:{line}: {name}: {command}\n  exit status {got}, expected {wanted}\n--- output\n{output}--- expected")
                    print("\n".join(expected))
                    for other in names:
                        print(f"--- log of {other}")
                        print(network.run(other, "tail -n 15 /run/tempod.log")[1])
                    raise SystemExit(1)
                print(f"{page.name}:{line}: {name}: {command}: {time.monotonic() - began:.1f} s", flush=True)
        finally:
            network.close()


def main():
    obstacle = machines.impossible()
    if obstacle:
        print(f"skipped: {obstacle}")
        sys.exit(77)
    for page in sys.argv[1:]:
        walk(pathlib.Path(page))


if __name__ == "__main__":
    main()
