#!/usr/bin/env bash
# System packages the tests need, on Debian. Each line of PACKAGES is a command, or python:<module>, and the package that
# brings it; what is there already is left alone, so that a prepared machine needs neither network nor root.
set -euo pipefail

PACKAGES="
chromium chromium
espeak-ng espeak-ng
speech-dispatcher speech-dispatcher
lou_translate liblouis-bin
brltty brltty
curl curl
openssl openssl
nginx nginx-light
haproxy haproxy
orca orca
Xvfb xvfb
openbox openbox
xdotool xdotool
dbus-daemon dbus
/usr/libexec/at-spi-bus-launcher at-spi2-core
python:aiohttp python3-aiohttp
python:grpc python3-grpcio
python:google.protobuf python3-protobuf
"

there() {
  case "$1" in
    python:*) /usr/bin/python3 -c "import ${1#python:}" ;;
    *) command -v "$1" ;;
  esac
}

missing=()
while read -r command package; do
  [ -n "$command" ] || continue
  there "$command" >/dev/null 2>&1 || missing+=("$package")
done <<<"$PACKAGES"

if [ "${#missing[@]}" -eq 0 ]; then
  echo "System packages: all there."
  exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
  echo "Missing: ${missing[*]}. Install them with this system's package manager; apt-get is not here." >&2
  exit 1
fi
echo "Installing: ${missing[*]}"
as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends "${missing[@]}"
