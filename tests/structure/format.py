"""Every source file is as clang-format leaves it (`make format`)."""
import shutil
import subprocess
import sys

if shutil.which("clang-format-19") is None:
    print("skipped: clang-format-19 is not installed (tools/setup test)")
    sys.exit(77)
files = subprocess.run(["git", "ls-files", "*.cc", "*.h"], capture_output=True, text=True, check=True).stdout.split()
result = subprocess.run(["clang-format-19", "--dry-run", "--Werror", *files], capture_output=True, text=True)
print(result.stderr[:5000] or f"format: {len(files)} files")
sys.exit(result.returncode)
