# The program on what it is linked with, and nothing else: no shell, no package manager, not root.
#   docker build -t evenkeel:0.1.0 .
FROM debian:12 AS build
COPY packages.txt tools/setup /src/
RUN mkdir /src/tools && mv /src/setup /src/tools/ && /src/tools/setup build
COPY . /src
RUN make -C /src build && strip --strip-unneeded /src/build/release/evenkeel

# The packages of the libraries, unpacked as they are; what `ldd` and `dpkg -S` say of the program.
FROM debian:12 AS runtime
RUN mkdir -p /packages /rootfs/etc /rootfs/tmp && chmod 1777 /rootfs/tmp && apt-get update && cd /packages && apt-get download \
    libabsl20220623 \
    libboost-json1.81.0 \
    libboost-url1.81.0 \
    libc-ares2 \
    libc6 \
    libfmt9 \
    libgcc-s1 \
    libgrpc++1.51 \
    libgrpc29 \
    libprometheus-cpp-core1.0 \
    libprotobuf32 \
    libpugixml1v5 \
    libre2-9 \
    libspdlog1.10 \
    libsqlite3-0 \
    libssl3 \
    libstdc++6 \
    libyaml-cpp0.7 \
    libzookeeper-mt2 \
    zlib1g \
    && for package in *.deb; do dpkg-deb -x "$package" /rootfs; done \
    && apt-get install -y --no-install-recommends ca-certificates && cp --parents -r /etc/ssl/certs /usr/share/ca-certificates /rootfs \
    && rm -rf /rootfs/usr/share/doc /rootfs/usr/share/lintian /rootfs/usr/share/man \
    && echo 'evenkeel:x:65532:65532:evenkeel:/tmp:/usr/sbin/nologin' >/rootfs/etc/passwd \
    && echo 'evenkeel:x:65532:' >/rootfs/etc/group
COPY --from=build /src/build/release/evenkeel /rootfs/usr/bin/evenkeel

FROM scratch
COPY --from=runtime /rootfs /
USER 65532:65532
ENV HOME=/tmp PATH=/usr/bin
EXPOSE 8082 8443
ENTRYPOINT ["/usr/bin/evenkeel"]
