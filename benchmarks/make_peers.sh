#!/usr/bin/env bash
# Build the environment of the peers in .peers/ (about 7 GB: torchvision brings a CUDA build of PyTorch) and install
# penstock into it as a wheel. FFCV compiles C++ against OpenCV and libturbojpeg, so those come first; when not root,
# install the packages named below yourself.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-.peers}
if [ "$(id -u)" = 0 ]; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends g++ pkg-config libopencv-dev libturbojpeg0-dev libjpeg-turbo-progs
fi
[ -x "$target/bin/python" ] || python3 -m venv "$target"
"$target/bin/pip" install -q --upgrade pip setuptools wheel
# FFCV's setup.py must see the environment's own setuptools; everything else is a wheel.
grep -v '^#\|^ffcv' benchmarks/peers.lock > "$target/others.txt"
"$target/bin/pip" install -q -r "$target/others.txt"
"$target/bin/pip" install -q --no-build-isolation --no-deps "$(grep '^ffcv' benchmarks/peers.lock)"
rm -rf build/peers-wheel
"$target/bin/pip" wheel -q --no-deps -w build/peers-wheel .
"$target/bin/pip" install -q --force-reinstall --no-deps build/peers-wheel/penstock-*.whl
"$target/bin/python" -c "import ffcv, nvidia.dali, torchvision, penstock._native; print('peers are ready:', torchvision.__version__)"
