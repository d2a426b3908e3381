// Jobs that do nothing, by graphile-worker: `graphile_peer.mjs URL JOBS WORKERS [batched]`.
//
// Prints the seconds from the first claim to the last commit. With `batched` it claims and
// completes jobs in shares of 128 through its local queue; without, one by one, as it does unless
// it is told otherwise. Every commit is durable: the server's own settings are left as they are.

import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);
const { Logger, makeWorkerUtils, runOnce } = require("graphile-worker");

const [url, jobs, workers, batched] = process.argv.slice(2);
const preset = {
  worker: batched
    ? { concurrentJobs: Number(workers), localQueue: { size: 128 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
    : { concurrentJobs: Number(workers) },
};
const logger = new Logger(() => (level, message) => level === "error" && console.error(message));

const utils = await makeWorkerUtils({ connectionString: url, logger });
await utils.migrate();
await utils.withPgClient((client) =>
  client.query("SELECT graphile_worker.add_job('nothing', json_build_object('n', n)) FROM generate_series(1, $1) n", [
    Number(jobs),
  ]),
);
const begun = performance.now();
await runOnce({ connectionString: url, preset, concurrency: Number(workers), logger, taskList: { nothing() {} } });
// The last share may be completed a moment after the workers have ended.
const left = async () => {
  const { rows } = await utils.withPgClient((client) => client.query("SELECT count(*)::int AS left FROM graphile_worker.jobs"));
  return rows[0].left;
};
while ((await left()) > 0) {
  if (performance.now() - begun > 300_000) throw new Error("jobs are left");
  await new Promise((resolve) => setTimeout(resolve, 5));
}
console.log((performance.now() - begun) / 1000);
await utils.release();
