"""`python -m tests.shape` counts the complaints of each rule for each package; with `--all` it prints them too."""

from __future__ import annotations

import sys
from collections import Counter

from tests.test_shape import RULES, WHOLE

if __name__ == "__main__":
    complaints = [
        (rule.__name__, complaint)
        for rule, files in RULES
        for path, text in files().items()
        for complaint in rule(path, text)
    ] + [(whole.__name__, complaint) for whole, files in WHOLE for complaint in whole(files())]
    packages = Counter(
        (rule, complaint.partition(":")[0].partition(" ")[0].rpartition("/")[0]) for rule, complaint in complaints
    )
    sys.stdout.writelines(f"{count:5} {rule:22} {package}\n" for (rule, package), count in sorted(packages.items()))
    if "--all" in sys.argv:
        sys.stdout.writelines(f"{rule}: {complaint}\n" for rule, complaint in complaints)
