// The least that a Node.js verifier of packs does: read, canonicalize and hash the bundle, compare
// with run.json. Far fewer checks than `runseal pack verify`; the yardstick of pack_verify.py.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";

const canon = (value) => {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canon).join(",")}]`;
  const members = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canon(value[key])}`);
  return `{${members.join(",")}}`;
};

const folder = process.argv[2];
const documents = new Map(
  readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => [name, JSON.parse(readFileSync(`${folder}/${name}`, "utf8"))]),
);
const hash = createHash("sha256").update(`${canon(documents.get("bundle.json"))}\n`).digest("hex");
process.exit(documents.get("run.json").bundle.sha256 === `sha256:${hash}` ? 0 : 1);
