#!/usr/bin/env bash
# clang-format, clang-tidy, ruff and mypy, all or the one that is named:
#   tools/lint.sh [format|tidy|tidy-torch|python]
# clang-tidy reads the compile commands of the build that `make setup` leaves. Sources that include
# torch take minutes each and have a step of their own.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files --cached --others --exclude-standard \
  'src/*.h' 'src/*.cpp' 'tests/*.h' 'tests/*.cpp' 'bench/*.h' 'bench/*.cpp')

lint_format() { clang-format --dry-run -Werror "${sources[@]}"; }

# The torch sources are those of src/reference apart from its torch-free client/ and python/.
tidy() {
  printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/wheel --extra-arg=-Wno-error --extra-arg=-Wno-unknown-warning-option
}

lint_tidy() {
  local files=()
  for file in "${sources[@]}"; do
    case $file in
      src/reference/client/*.cpp | src/reference/python/*.cpp) files+=("$file") ;;
      src/reference/*) ;;
      src/*.cpp) files+=("$file") ;;
    esac
  done
  tidy "${files[@]}"
}

lint_tidy_torch() {
  local files=()
  for file in "${sources[@]}"; do
    case $file in
      src/reference/client/* | src/reference/python/*) ;;
      src/reference/*.cpp) files+=("$file") ;;
    esac
  done
  tidy "${files[@]}"
}

lint_python() {
  .venv/bin/ruff format --check python tests bench examples
  .venv/bin/ruff check python tests bench examples
  .venv/bin/mypy
}

case ${1:-all} in
  format) lint_format ;;
  tidy) lint_tidy ;;
  tidy-torch) lint_tidy_torch ;;
  python) lint_python ;;
  # Apart: bash forgets `set -e` in a function that `&&` follows.
  all) lint_format; lint_python; lint_tidy ;;
  *) echo "usage: tools/lint.sh [format|tidy|tidy-torch|python]" >&2; exit 2 ;;
esac
