"""Jobs that do nothing, by procrastinate: `procrastinate_peer.py URL JOBS WORKERS`.

Workers are tasks of one process, each with a job of its own, as procrastinate's documentation has
it. Prints the seconds from the first claim to the last commit; every commit is durable, since the
server's own settings are left as they are.
"""

import asyncio
import sys
import time

import procrastinate


async def main(url: str, jobs: int, workers: int) -> None:
    connector = procrastinate.PsycopgConnector(conninfo=url, min_size=workers, max_size=workers + 2)
    app = procrastinate.App(connector=connector)

    @app.task(name="nothing", pass_context=False)
    async def nothing(number: int) -> None:
        return None

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for begin in range(0, jobs, 1000):
            many = [{"number": number} for number in range(begin, min(begin + 1000, jobs))]
            await nothing.batch_defer_async(*many)
        begun = time.perf_counter()
        await app.run_worker_async(concurrency=workers, wait=False, install_signal_handlers=False)
        print(time.perf_counter() - begun)
        done = await connector.execute_query_one_async(
            "SELECT count(*) AS count FROM procrastinate_jobs WHERE status = 'succeeded'"
        )
        assert done["count"] == jobs, done


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
