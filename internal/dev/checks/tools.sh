# Installs what the checks need that will run: sourced by .ci/run. Debian's packages.
due=$(go run ./internal/dev/checks -list | sed -n 's/: would run$//p')
needs() { grep -qE "^($1)" <<<"$due"; }
packages=()
have() { command -v "$1" >/dev/null; }
# The checkpoints' peer, and what a reader of MDS imports.
if needs 'interop-(torch|consumers-hf|formats|finetune|folders|consumers-nvidia|consumers-streaming)|release-check' && ! /usr/bin/python3 -c 'import torch, torchvision, ensurepip' 2>/dev/null; then
	packages+=(python3-torch python3-torchvision python3-venv)
fi
if needs release-check; then
	have skopeo || packages+=(skopeo)
	have umoci || packages+=(umoci)
fi
if needs arm64 && ! have qemu-aarch64; then packages+=(qemu-user); fi
if needs windows && [ ! -x /usr/lib/wine/wine64 ]; then packages+=(wine64); fi
if needs 'lua|mediawiki' && ! have lua5.1; then packages+=(lua5.1); fi
if needs mediawiki && ! have php; then packages+=(php-cli php-sqlite3 php-mbstring php-xml php-intl); fi
if needs gpu-rehearse && ! have xz; then packages+=(xz-utils); fi
if needs cluster; then
	have java || packages+=(openjdk-17-jre-headless)
	have mvn || packages+=(maven)
fi
# Without what is recommended beside them, they are small.
if [ ${#packages[@]} -gt 0 ]; then
	apt-get update -qq && apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi
# The object store of the cluster's tests takes ten minutes to build, once; meanwhile other checks run.
if needs cluster; then nice internal/dev/clustertest/minio.sh >/dev/null 2>&1 & fi
