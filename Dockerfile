# The Perdure server. Linted, and its installation tested in an empty Debian; never built by a Docker engine by us: docs/docker.md.
# The base is pinned by tag: a digest cannot be looked up where this is written. Put one behind both tags before you rely on it.
FROM python:3.11-slim-bookworm AS wheels
WORKDIR /src
COPY pyproject.toml LICENSE ./
COPY requirements ./requirements
COPY deploy ./deploy
COPY clients/python ./clients/python
COPY server ./server
RUN deploy/wheels.sh /src /wheels

FROM python:3.11-slim-bookworm
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    --mount=type=bind,source=deploy/install.sh,target=/install.sh \
    --mount=type=bind,source=requirements/server.lock,target=/server.lock \
    /install.sh /wheels /server.lock
ENV PATH=/opt/perdure/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /
EXPOSE 7463
# One line of exec form: SIGTERM reaches the server, which drains before it ends.
ENTRYPOINT ["python", "-m", "perdure_server"]
CMD ["serve"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["python", "-m", "perdure_server", "health"]
