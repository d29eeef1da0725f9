#!/usr/bin/env bash
# Installs what the project builds with: system packages through apt, .venv, and the pinned packages
# of tools/requirements.txt, and the system packages that are its arguments. Done at once when .venv
# is up to date and there are no arguments. PYTHON names the interpreter, TORCH_INDEX an index that
# has torch's CPU build.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'setup: %s\n' "$1" >&2
  shift
  [[ $# == 0 ]] || printf '%s\n' "$@" >&2
  exit 1
}

# Prints the first interpreter that is new enough.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "Python 3.11 or newer is needed; '${PYTHON:-python3}' is not (PYTHON=... names another)"
}

# Prints the system packages that are missing for building with interpreter $1, and of the others.
missing_system_packages() {
  local packages=(g++ clang libclang-rt-dev make git ccache nlohmann-json3-dev libcli11-dev
    libeigen3-dev chromium
    libgtest-dev libgmock-dev libbenchmark-dev libedit2 libpcre2-dev libssl-dev locales mold
    patch tmux zlib1g-dev)
  local version
  version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  "$1" -c 'import ensurepip, venv' 2>/dev/null || printf '%s\n' "python$version-venv"
  "$1" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
    printf '%s\n' "python$version-dev"
  local package
  for package in "${packages[@]}" "${@:2}"; do
    [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == "install ok installed" ]] ||
      printf '%s\n' "$package"
  done
}

# Installs the system packages $@ where that needs no password; otherwise says how and stops.
install_system_packages() {
  local as_root=()
  if [[ $(id -u) != 0 ]]; then
    as_root=(sudo -n)
    sudo -n true 2>/dev/null ||
      fail "system packages are missing; run this line, then try again:" \
        "sudo apt-get update && sudo apt-get install -y $*"
  fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "$@"
}

# Installs torch's CPU build alone; explains where it comes from when pip knows of none.
install_torch() {
  local requirement log
  requirement=$(grep '^torch==' tools/requirements.txt)
  log=$(mktemp)
  # shellcheck disable=SC2064  # the file's name as it is now
  trap "rm -f '$log'" EXIT
  if ! pip_install "$requirement" 2> >(tee "$log" >&2); then
    if grep -q "No matching distribution found for torch" "$log"; then
      fail "pip found no $requirement for this Python. The default index has no CPU build" \
        "(plain torch there is the CUDA build). Set TORCH_INDEX to PyTorch's index of CPU wheels," \
        "as its installation page names it, and try again:  TORCH_INDEX=<address> make setup"
    fi
    fail "pip could not install $requirement"
  fi
}

pip_install() {
  .venv/bin/python -m pip install --no-input --disable-pip-version-check \
    ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} "$@"
}

# Unpacks the sources of a C++ library that PyPI has, and corrects them.
install_xgrammar() {
  local download
  download=$(mktemp -d)
  .venv/bin/python -m pip download --quiet --no-input --disable-pip-version-check \
    --no-build-isolation --no-deps --no-binary :all: --require-hashes \
    --requirement tools/xgrammar.txt --dest "$download"
  rm -rf .venv/xgrammar
  mkdir .venv/xgrammar
  tar --extract --file "$download"/*.tar.gz --directory .venv/xgrammar --strip-components 1
  patch --quiet --directory .venv/xgrammar --strip 1 <tools/xgrammar.patch
  # cmake/polystate_xgrammar.cmake asks for it.
  sha256sum <tools/xgrammar.patch | cut -d " " -f 1 >.venv/xgrammar/polystate_patch.sha256
  rm -rf "$download"
}

stamp=.venv/.setup
key=$(sha256sum tools/requirements.txt tools/xgrammar.txt tools/xgrammar.patch tools/setup.sh)
is_up_to_date=no
[[ -x .venv/bin/python && -f $stamp && $(<"$stamp") == "$key" ]] && is_up_to_date=yes
[[ $# == 0 && $is_up_to_date == yes ]] && exit 0

if [[ -x .venv/bin/python ]]; then
  python=$PWD/.venv/bin/python
else
  python=$(find_python)
fi
if command -v apt-get >/dev/null; then
  mapfile -t missing < <(missing_system_packages "$python" "$@")
  [[ ${#missing[@]} == 0 ]] || install_system_packages "${missing[@]}"
else
  printf 'setup: no apt-get here: see tools/setup.sh for the system packages to have\n' >&2
fi
[[ $is_up_to_date == yes ]] && exit 0
[[ -x .venv/bin/python ]] || "$python" -m venv .venv
install_torch
pip_install -r tools/requirements.txt
install_xgrammar
printf '%s\n' "$key" >"$stamp"
