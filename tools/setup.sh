#!/usr/bin/env bash
# Makes a source tree ready: Debian packages, a virtual environment in .venv, torch, the build.
# Called by `make setup`; does only what is missing. Options come as variables:
#   PYTHON             interpreter for the virtual environment (default: python3.11, else the newest
#                      that the pinned torch has a wheel for)
#   PIP_INSTALL_FLAGS  further options of `pip install`, such as an index with torch's CPU wheels
set -euo pipefail
cd "$(dirname "$0")/.."

torch_requirement=$(sed -n 's/^dependencies = \["\(torch==[^"]*\)"\]$/\1/p' pyproject.toml)

fail() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

# Newest last; python3.11 is preferred because it is the one that is tested most.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3.11 python3.14 python3.13 python3.12 python3.10}; do
    if command -v "$candidate" >/dev/null && "$candidate" -c '' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  fail "no Python between 3.10 and 3.14 was found (torch 2.13 has no wheels for others)." \
    "On Debian and Ubuntu: apt-get install python3 python3-venv python3-dev"
}

# Debian packages of this Python's headers and venv, for the system's own Python only.
python_packages() {
  local version
  version=$("$1" -c 'import sys; print(f"python3.{sys.version_info.minor}")')
  "$1" -c 'import ensurepip' 2>/dev/null || echo "$version-venv"
  "$1" -c 'import os, sysconfig
h = os.path.join(sysconfig.get_paths()["include"], "Python.h")
raise SystemExit(not os.path.exists(h))' || echo "$version-dev"
}

install_packages() {
  local missing=() package
  command -v dpkg-query >/dev/null || {
    check_tools_without_dpkg
    return
  }
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local command="apt-get install -y --no-install-recommends ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || fail "Debian packages are missing, and there is no root or sudo here." \
      "Ask for:  sudo $command"
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q >/dev/null || true
  # shellcheck disable=SC2086
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $command >/dev/null ||
    fail "apt-get could not install: ${missing[*]}"
}

check_tools_without_dpkg() {
  local tool
  for tool in cmake ninja g++ pkg-config; do
    command -v "$tool" >/dev/null || fail "$tool was not found, and this is neither Debian nor Ubuntu." \
      "Install what these Debian packages hold: $(tr '\n' ' ' <tools/debian-packages.txt)"
  done
}

python=$(find_python)
mapfile -t packages < <(cat tools/debian-packages.txt; python_packages "$python")
install_packages "${packages[@]}"

if [ ! -x .venv/bin/python ]; then
  echo "setup: making .venv with $("$python" --version)"
  "$python" -m venv .venv
fi
echo "setup: installing $torch_requirement and the build's Python packages"
# shellcheck disable=SC2086
.venv/bin/pip install -q --disable-pip-version-check ${PIP_INSTALL_FLAGS:-} \
  "$torch_requirement" 'scikit-build-core>=0.10' 'nanobind>=2.4' ||
  fail "pip could not install $torch_requirement for $("$python" --version)." \
    "torch 2.13 has wheels for Python 3.10 to 3.14 on x86-64 and aarch64 Linux."

echo "setup: building"
# shellcheck disable=SC2086
FUSEPROOF_TESTS=ON FUSEPROOF_BENCH=ON .venv/bin/pip install -q --disable-pip-version-check \
  ${PIP_INSTALL_FLAGS:-} --no-build-isolation -e '.[test,lint]' ||
  fail "the build failed. For its whole output: .venv/bin/pip install -v --no-build-isolation -e ."
