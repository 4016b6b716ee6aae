# The package with Ray, its kernels compiled ahead: for the nodes of a cluster (docs/guides/cluster.md), or one container.
#
#     docker build -t gymnosoma .
#
# No image was built of this file yet; docs/guides/cluster.md says what of it was tried.
FROM --platform=linux/amd64 python:3.11-slim

# `ray up` copies files into containers by rsync, and starts workers from the head's by ssh.
RUN apt-get update && apt-get install -y --no-install-recommends openssh-client rsync && rm -rf /var/lib/apt/lists/*

# An index that has PyTorch for CPUs saves some GB: --build-arg PIP_EXTRA_INDEX_URL=...
ARG PIP_EXTRA_INDEX_URL
ENV PIP_NO_CACHE_DIR=1
COPY . /opt/gymnosoma
RUN pip install -c /opt/gymnosoma/constraints.txt "/opt/gymnosoma[ray]" "ray[default]" pyarrow

# Code for any x86-64 machine since 2013 (AVX2), not for the one that builds: where the name or the features of the CPU
# differ, kernels are compiled anew.
ENV NUMBA_CACHE_DIR=/opt/kernels NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES="" SDL_VIDEODRIVER=dummy
RUN gymnosoma compile

# Where the shared folder is mounted, in which commands are given.
WORKDIR /shared
CMD ["bash"]
