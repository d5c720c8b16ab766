# SPDX-License-Identifier: Apache-2.0
"""A driver connects to a server of its own, reads what it reads at start, and runs a little.

usage: connect.py DEMO-DB psycopg2|asyncpg|sqlalchemy|django     77: the driver is not installed
"""
import importlib.util
import subprocess
import sys
import tempfile


def psycopg2(folder):
    import psycopg2 as driver
    from psycopg2.extras import HstoreAdapter

    with driver.connect(host=folder, user="u", dbname="demo") as connection:
        cursor = connection.cursor()
        assert HstoreAdapter.get_oids(connection) == ((), ())  # reads pg_type.typarray
        cursor.execute("create table t(a integer primary key, b text)")
        cursor.execute("insert into t values (%s, %s), (%s, %s)", (1, "one", 2, None))
        cursor.execute("select a, b from t order by a")
        assert cursor.fetchall() == [(1, "one"), (2, None)]
    for encoding in "SQL_ASCII", "LATIN1":
        connection = driver.connect(host=folder, user="u", dbname="demo", client_encoding=encoding)
        cursor = connection.cursor()
        cursor.execute("select b from t where a = 1")
        assert cursor.fetchone() == ("one",)
        connection.close()


def asyncpg(folder):
    import asyncio
    import asyncpg as driver

    async def run():
        connection = await driver.connect(host=folder, user="u", database="demo")
        assert await connection.fetchval("select 42") == 42
        assert await connection.fetchval("select $1::text", "\u00fc") == "\u00fc"
        await connection.close()

    asyncio.run(run())


def sqlalchemy(folder):
    import sqlalchemy as driver

    engine = driver.create_engine(f"postgresql+psycopg2://u@/demo?host={folder}")
    table = driver.Table(
        "t",
        driver.MetaData(),
        driver.Column("id", driver.Integer, primary_key=True),
        driver.Column("name", driver.String(20)),
    )
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"name": "one"}, {"name": "two"}])
        assert connection.execute(driver.select(table)).fetchall() == [(1, "one"), (2, "two")]


def django(folder):
    import django as driver
    from django.conf import settings

    database = {"ENGINE": "django.db.backends.postgresql", "NAME": "demo", "USER": "u"}
    settings.configure(DATABASES={"default": database | {"HOST": folder}}, USE_TZ=True)
    driver.setup()
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor
    from django.db.migrations.recorder import MigrationRecorder

    assert MigrationExecutor(connection).migration_plan([]) == []
    recorder = MigrationRecorder(connection)
    recorder.ensure_schema()
    recorder.record_applied("shop", "0001_initial")
    assert ("shop", "0001_initial") in recorder.applied_migrations()
    assert "django_migrations" in connection.introspection.table_names()


def main():
    server, name = sys.argv[1:]
    if not all(map(importlib.util.find_spec, (name, *needs.get(name, ())))):
        print(f"skipped: {name} is not installed (cmake/setup.sh drivers)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        command = [server, "serve", "--data", folder, "--listen", "none", "--port", "5432"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                while line := process.stderr.readline():
                    if "ready on" in line:
                        break
                globals()[name](folder)
            finally:
                process.terminate()
    return 0


needs = {"sqlalchemy": ["psycopg2"], "django": ["psycopg2"]}
sys.exit(main())
