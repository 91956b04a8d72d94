"""Writes the session that ships with Clew (`src/clew/demo/session.jsonl.gz`), the same bytes every time.

python examples/demo/make_session.py            write it
python examples/demo/make_session.py --check    compare what is there with what would be written
"""

import gzip
import json
import sys
from pathlib import Path

import pivotal
import sources
import story
from recorder import Recorder

TARGET = Path(__file__).parents[2] / "src" / "clew" / "demo" / "session.jsonl.gz"


def lines() -> bytes:
    """The session as JSON lines."""
    recorder = Recorder({**sources.tree(), **pivotal.FILES}, branch="fix/QUAY-482-duplicate-deliveries")
    story.tell(recorder)
    rows = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in recorder.lines)
    return "".join(f"{row}\n" for row in rows).encode()


def main(arguments: list[str]) -> int:
    """Write the session, or compare it; 1 if it differs."""
    made = lines()
    if arguments == ["--check"]:
        # The text is compared and not the archive: another zlib packs the same text into other bytes.
        same = TARGET.exists() and gzip.decompress(TARGET.read_bytes()) == made
        print("the shipped session is fresh" if same else f"stale: run python {Path(__file__).name}", file=sys.stderr)
        return 0 if same else 1
    TARGET.write_bytes(gzip.compress(made, 9, mtime=0))
    print(f"{TARGET.name}: {len(made.splitlines())} lines, {len(made):,} bytes, {TARGET.stat().st_size:,} packed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
