// Adds numbers up. The input comes on standard input, the output goes to standard output.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { numbers } = JSON.parse(readFileSync(0, "utf8"));

let sum = 0;
const rows = ["number,sum"];
for (const number of numbers) {
  sum += number;
  rows.push(`${number},${sum}`);
}
writeFileSync(join(process.env.RUNSEAL_ARTIFACTS, "running.csv"), rows.join("\n") + "\n");

process.stdout.write(
  JSON.stringify({
    engine: { engine_code: "ENGINE_CODE", engine_version: "1.0.0" },
    semantics: "DETERMINISTIC_TRANSFORM",
    outputs: { count: numbers.length, sum },
  }),
);
