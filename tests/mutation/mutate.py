#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes libcancel in one place at a time, and asks its unit tests whether they notice.

A mutant is drawn by seed from all places where a comparison can be turned, a condition negated, a
constant moved, an operator exchanged or a statement dropped. It is built in a copy of the tree and
tried on the unit tests, those of its own room first; the first one that fails, or does not end, kills
it. survivors.txt lists mutants that no test can kill, each with its reason; they are counted apart.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIME_FACTOR = 4 # of CANCEL_TEST_TIME_FACTOR, so that a busy machine kills no mutant
CPU_SECONDS = 60 # for who goes round for ever; a slow machine needs no more of them than a fast one
STILLBORN = "does not compile"

TURNED = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == "}
EXCHANGED = {" && ": " || ", " || ": " && ", " + ": " - ", " - ": " + ", " += ": " -= ", " -= ": " += "}
STATEMENT = re.compile(r"^\t+(?!return\b|break\b|continue\b|goto\b|case\b|default\b)"
	r"(?:[\w.\->\[\]*()+]+ (?:[-+|&^]|<<|>>)?= .+|[a-z]\w*\(.*\)|[\w.\->\[\]]+(?:\+\+|--));$")
NUMBER = re.compile(r"(?<![\w.\"%])(\d+)(?=(?:u|ull|ul)?\b(?![\w.\"]))")
CONDITION = re.compile(r"^(\t+(?:else )?(?:if|while) \()(.+)(\)(?: \{)?)$")


def code_lines(path):
	"""The lines of function bodies: indented, and no comment, declaration of a table or directive."""
	comment = False
	for number, line in enumerate(path.read_text().split("\n")):
		text = line.strip()
		starts, ends = "/*" in text, "*/" in text
		if comment or text.startswith("/*") or text.startswith("*"):
			comment = (comment or starts) and not ends
			continue
		comment = starts and not ends
		if line.startswith("\t") and text and not text.startswith(("#", "static const", "_Static_assert")):
			yield number, line


def changes_of(line):
	code = line.split("/*")[0].rstrip()
	for kind, pairs in (("comparison turned", TURNED), ("operator exchanged", EXCHANGED)):
		for old, new in pairs.items():
			for at in (m.start() for m in re.finditer(re.escape(old), code)):
				if code[:at].count('"') % 2 == 0:
					yield kind, code[:at] + new + code[at + len(old):]
	for found in NUMBER.finditer(code):
		if code[:found.start()].count('"') % 2 == 0:
			yield "constant moved", code[:found.start()] + str(int(found[1]) + 1) + code[found.end(1):]
	if STATEMENT.match(code):
		yield "statement dropped", re.match(r"\t+", code)[0] + ";"
	condition = CONDITION.match(code)
	if condition:
		yield "condition negated", f"{condition[1]}!({condition[2]}){condition[3]}"


def all_mutants():
	for path in sorted((ROOT / "libcancel").rglob("*.c")):
		for number, line in code_lines(path):
			for kind, changed in changes_of(line):
				yield path.relative_to(ROOT), number, line, kind, changed


def read_survivors():
	listed = {}
	path = pathlib.Path(__file__).with_name("survivors.txt")
	for line in path.read_text().split("\n") if path.exists() else []:
		if line and not line.startswith("#"):
			file, old, new, reason = (part.strip() for part in line.split(" | "))
			listed[file, old, new] = reason
	return listed


class Tree:
	"""A copy of the committed tree, built once, in which one line at a time is another."""

	def __init__(self, folder):
		self.source, self.build = folder / "source", folder / "build"
		self.source.mkdir(parents=True, exist_ok=True)
		archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
		subprocess.run(["tar", "-x", "-m", "-C", self.source], input=archive.stdout, check=True)
		subprocess.run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
			f"-DCANCEL_TEST_TIME_FACTOR={TIME_FACTOR}"],
			check=True, stdout=subprocess.DEVNULL)
		names = subprocess.run(["ninja", "-C", self.build, "-t", "targets", "all"], stdout=subprocess.PIPE, text=True,
			check=True).stdout
		self.targets = sorted(set(re.findall(r"^(tests/test_(?:unit_\w+|race_admission_shared)):", names, re.M)))
		killer = self.killer("track")
		if killer:
			sys.exit(f"{killer} on the tree as it is")

	def make(self, targets):
		return subprocess.run(["ninja", "-C", self.build, *targets], stdout=subprocess.DEVNULL,
			stderr=subprocess.DEVNULL, check=False).returncode == 0

	def run(self, *selection):
		log = subprocess.run(["ctest", "--test-dir", self.build, "--stop-on-failure", "-j2", *selection], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
		failed = re.search(r"Test +#\d+: (\S+) .*\*\*\*(Failed|Exception|Timeout|Not Run)", log)
		return f"{failed[1]} ({failed[2].lower()})" if failed else None

	def killer(self, room):
		own = "race.admission_shared" if room == "shared" else f"unit.{room}_"
		near = [t for t in self.targets if t.startswith("tests/test_" + own.replace(".", "_"))]
		if near and not self.make(near):
			return STILLBORN
		killer = near and self.run("-R", f"^{own}")
		if killer:
			return killer
		return self.run("-L", "unit", "-E", f"^{own}") if self.make(self.targets) else STILLBORN

	def try_mutant(self, mutant):
		path, number, line, _, changed = mutant
		file = self.source / path
		original = file.read_text()
		lines = original.split("\n")
		lines[number] = changed
		file.write_text("\n".join(lines))
		try:
			return self.killer(path.parts[1])
		finally:
			file.write_text(original)


def main():
	parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
	parser.add_argument("folder", type=pathlib.Path, help="where the copies of the tree are built")
	parser.add_argument("--count", type=int, default=200, help="mutants that compile (default 200)")
	parser.add_argument("--skip", type=int, default=0, help="go on behind so many that were tried before")
	parser.add_argument("--seed", type=int, default=1)
	parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="copies at work at once")
	arguments = parser.parse_args()
	drawn = list(all_mutants())
	random.Random(arguments.seed).shuffle(drawn)
	listed, killed, survived, excused = read_survivors(), 0, 0, 0
	print(f"{len(drawn)} mutants are possible; seed {arguments.seed}", flush=True)
	trees = [Tree(arguments.folder.resolve() / str(i)) for i in range(arguments.jobs)]
	free = list(trees)
	drawn = drawn[arguments.skip:]

	def attempt(mutant):
		tree = free.pop()
		try:
			return mutant, tree.try_mutant(mutant)
		finally:
			free.append(tree)

	with concurrent.futures.ThreadPoolExecutor(len(trees)) as pool:
		at = 0
		while killed + survived + excused < arguments.count and at < len(drawn):
			wanted = min(len(trees), arguments.count - killed - survived - excused)
			batch, at = drawn[at:at + wanted], at + wanted
			for (path, number, line, kind, changed), killer in pool.map(attempt, batch):
				if killer == STILLBORN:
					continue
				reason = listed.get((str(path), line.strip(), changed.strip()))
				killed += killer is not None
				excused += killer is None and reason is not None
				survived += killer is None and reason is None
				verdict = f"killed by {killer}" if killer else f"listed: {reason}" if reason else "SURVIVED"
				print(f"{killed + survived + excused:4} {verdict}: {path}:{number + 1}: {kind}: "
					f"{line.strip()} | {changed.strip()}", flush=True)
	total = killed + survived + excused
	print(f"{total} mutants: {killed} killed ({100 * killed / max(total, 1):.1f} %), {excused} listed, {survived} survived")
	return survived > 0


if __name__ == "__main__":
	sys.exit(main())
