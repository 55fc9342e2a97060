#!/bin/sh
# Installs the reference implementation of VRL for TestReference: install-reference.sh FOLDER
#
# It is a wheel of PyPI with the Rust crate vrl. Its metadata asks for Python 3.14, but it uses the stable interface
# of Python 3.12. FOLDER/python is then a Python that has it.
set -eu
folder=$1
[ -x "$folder/python" ] && exit 0
for python in python3 python3.14 python3.13 python3.12 "$HOME"/.pyenv/versions/3.*/bin/python3; do
  "$python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null || continue
  rm -rf "$folder" && mkdir -p "$folder"
  "$python" -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps \
    --ignore-requires-python --only-binary :all: --target "$folder" vector-vrl==1.0.11
  printf '#!/bin/sh\nPYTHONPATH=%s exec %s "$@"\n' "$folder" "$python" > "$folder/new"
  chmod +x "$folder/new"
  "$folder/new" -c 'import vector_vrl'
  mv "$folder/new" "$folder/python"
  exit 0
done
echo "no Python 3.12 or newer with pip is installed" >&2
exit 1
