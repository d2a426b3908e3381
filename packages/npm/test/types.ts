// Compiled, never run: what is written here must fit the types.
import { inspect, open, RunsealError, verify, verifyText, Verifier, type Report } from 'runseal';

const report: Report = await verify(new Uint8Array(), { name: 'a.zip', level: 'form' });
const first: string | undefined = report.results[0]?.violations?.[0]?.rule_id;
const answer = await verifyText({ 'run/a.json': '{}' }, { format: 'sarif', paths: ['run'] });
const code: 0 | 1 | 2 = answer.code;
const verifier: Verifier = await open();
verifier.verify([['a', new ArrayBuffer(1)]], { trust: { name: 't.toml', content: '' }, at: new Date(0) });
const told: Record<string, unknown> = await inspect(new Map([['a', 'x']]));
// @ts-expect-error there is no such level
await verify('', { level: 'strict' });
// @ts-expect-error numbers are no content
await verify({ a: 5 });
export { code, first, told, RunsealError };
