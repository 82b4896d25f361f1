#!/bin/sh
# Installs the named Debian packages that are missing and checks that BLAS is OpenBLAS.
set -eu
PATH=$PATH:/usr/sbin:/sbin # ldconfig

missing=""
for package in "$@"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "ok installed" ||
    missing="$missing $package"
done
if [ -n "$missing" ]; then
  if ! command -v apt-get >/dev/null; then
    echo "setup: install these by hand, there is no apt-get here:$missing" >&2
    exit 2
  fi
  as_root=""
  [ "$(id -u)" -eq 0 ] || as_root="sudo"
  echo "setup: installing$missing"
  $as_root apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends \
    $missing >/dev/null
fi

# LAPACKE takes the system's LAPACK and BLAS; the reference ones are many times slower.
for library in libblas.so.3 liblapack.so.3; do
  path=$(ldconfig -p | sed -n "s/^.*$library .*=> //p" | head -n 1)
  case $(readlink -f "$path") in
    *openblas*) ;;
    *) echo "setup: $library is $(readlink -f "$path"), not OpenBLAS; run" \
            "'update-alternatives --config ${library}-$(uname -m)-linux-gnu'" >&2
       exit 2 ;;
  esac
done
