"""Samples of output in the documentation: a block `text` behind a block `sh` is what the commands of that block print. What varies from run to run is
masked by name, in the sample and in the output alike. A line `...` stands for any number of lines; without one the sample is the whole output, and
rows of a table may come in any order, since names vary by which they are ordered."""
import itertools
import re

LEFT_OUT = "..."
# {name: what it looks like}, one after the other.
MASKS = {
    "uid": r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    "revision": r"\b[0-9a-f]{16}\b",
    # Pods come one by one where the machine is busy, and so do nodes for them.
    "sizes": r"\b\d+->\d+\b",
    "instant": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b\d{8}t\d{6}\b",
    "pod": r"(?<=-)[0-9a-f]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b",
    "address": r"\b127(\.\d+){3}:\d+|\b127(\.\d+){3}\b",
    "time": r"\b(\d+(\.\d+)?(ms|s|m|h|d))+\b|\b\d+(\.\d+)? s\b",
    "file": r"/tmp/tmp\.\w+",
    "token": r"(?<=token=)[0-9a-f]+",
    "shard": r"(?<=[sS]hard )\d+|(?<=Shard:)\s+\d+|(?<=shard=)\d+",
    "plan": r"(?<=\bplan )\d+\b",
    "weight": r"(?<=weight is )[\d.]+|(?<=load )[\d.]+|(?<=the mean )[\d.]+|(?<=exceeds )[\d.]+",
    "node": r"(?<=-node-)\d+",
    "member": r"(?<=after cluster )member-\d+",
}
# Lines that are there in some runs only: a cluster was moved before somebody asked.
SOMETIMES = re.compile(r" *- it came from shard \d+: .*")
# Columns of tables of which each cell varies.
COLUMNS = ("AGE", "SINCE", "HEARTBEAT", "LAST SEEN", "SHARD", "EPOCH", "WEIGHT", "SERVER", "MOVES", "OBJECT")


def starts(line):
    """Where the columns of a table's head begin; none where the line is no head."""
    cells = list(re.finditer(r"\S+(?: \S+)*", line))
    return [cell.start() for cell in cells] if len(cells) > 1 and re.fullmatch(r"[A-Z][A-Z0-9() %/.-]*", line.strip()) else []


def cells_of(line, columns):
    """Cells of a row below a head whose columns begin there; None where the line is no row."""
    if not line.strip() or any(begin <= len(line) and begin > 0 and line[begin - 1:begin].strip() for begin in columns):
        return None
    return [line[begin:end].strip() for begin, end in zip(columns, [*columns[1:], None])]


class Line:
    def __init__(self, text, shown, row=False):
        # `shown` is for comparison: with masks, and without how wide columns are. `row`: of a table, and not its head.
        self.text, self.shown, self.row = text, shown, row


def masked(text):
    result, columns, names = [], [], []
    for line in filter(lambda line: not SOMETIMES.fullmatch(line), text.splitlines()):
        if line.strip() == LEFT_OUT:
            result.append(Line(line, LEFT_OUT))
            continue
        if starts(line):
            columns, names = starts(line), cells_of(line, starts(line))
        cells = cells_of(line, columns) if columns else None
        if cells is None:
            columns = []
        row = cells is not None and cells != names
        if row:
            cells = [f"<{name}>" if name in COLUMNS else cell for name, cell in zip(names, cells)]
        shown = "  ".join(cells or [line])
        for name, pattern in MASKS.items():
            shown = re.sub(pattern, f"<{name}>", shown)
        result.append(Line(line, re.sub(r"\s+", " ", shown).strip(), row))
    return result


def trimmed(lines):
    while lines and not lines[0].shown:
        lines = lines[1:]
    while lines and not lines[-1].shown:
        lines = lines[:-1]
    return lines


def in_order(lines):
    """What is compared, with the rows of each table in the order of the alphabet."""
    return [shown for row, group in itertools.groupby(lines, lambda line: line.row)
            for shown in (sorted if row else list)(line.shown for line in group)]


def difference(sample, output):
    """Where the sample is not what was printed, in words; "" where it is."""
    wanted, got = masked(sample), trimmed(masked(output))
    if any(line.shown == LEFT_OUT for line in wanted):
        if matches([line.shown for line in wanted], [line.shown for line in got]):
            return ""
    elif in_order(wanted) == in_order(got):
        return ""
    return "\n".join(["this is not what is printed now:", sample, "----- it is", output, "----- compared as", *(line.shown for line in wanted),
                      "----- with", *(line.shown for line in got)])


def matches(wanted, got):
    """Runs of lines that are not left out follow each other, from the first line to the last."""
    runs = [[]]
    for shown in wanted:
        if shown == LEFT_OUT:
            runs.append([])
        else:
            runs[-1].append(shown)
    if got[:len(runs[0])] != runs[0] or got[len(got) - len(runs[-1]):] != runs[-1]:
        return False
    got, at = got[:len(got) - len(runs[-1])], len(runs[0])
    for run in runs[1:-1]:
        found = next((place for place in range(at, len(got) - len(run) + 1) if got[place:place + len(run)] == run), None)
        if found is None:
            return False
        at = found + len(run)
    return at <= len(got)


def renewed(sample, output):
    """The sample as the output is now; of one with lines left out each other line is the next that begins alike."""
    lines, now = masked(sample), trimmed(masked(output))
    if all(line.shown != LEFT_OUT for line in lines):
        return "\n".join(line.text for line in now)
    result, at = [], 0
    for line in lines:
        found = None
        if line.shown not in ("", LEFT_OUT):
            places = range(at, len(now))
            found = next((i for i in places if now[i].shown == line.shown),
                         next((i for i in places if now[i].shown.split(" ")[0] == line.shown.split(" ")[0]), None))
        result.append(line.text if found is None else now[found].text)
        at = at if found is None else found + 1
    return "\n".join(result)
